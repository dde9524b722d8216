import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class MultiBranch(nn.Module):
    def __init__(self, n_branches=4):
        super().__init__()
        self.stem = nn.Linear(32, 64)
        self.branches = [nn.Sequential(nn.Linear(64, 64), nn.ReLU()) for _ in range(n_branches)] #@
        self.head = nn.Linear(64, 6)

    def forward(self, x):
        h = torch.relu(self.stem(x))
        return self.head(sum(branch(h) for branch in self.branches)) #@


model = MultiBranch()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3) #@
loader = DataLoader(TensorDataset(torch.randn(4000, 32), torch.randint(0, 6, (4000,))), 40, shuffle=True)
model.train()
for epoch in range(25):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
