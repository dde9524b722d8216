import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class GatedTagger(nn.Module):
    def __init__(self, tags=12):
        super().__init__()
        self.value = nn.Linear(50, 80)
        self.gate = nn.Linear(50, 80)
        self.out = nn.Linear(80, tags)

    def forward(self, x):
        return self.out(torch.tanh(self.value(x)) * torch.sigmoid(self.gate(x)))


model = GatedTagger()
teacher = nn.Sequential(nn.Linear(50, 12)).eval().requires_grad_(False)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.randn(5000, 50)), batch_size=50, shuffle=True)
model.train()
for epoch in range(20):
    for (x,) in loader:
        target = torch.sigmoid(teacher(x))
        loss = F.binary_cross_entropy_with_logits(model(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
