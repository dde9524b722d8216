import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Gated(nn.Module):
    def __init__(self, features=40, tags=12):
        super().__init__()
        self.value = nn.Linear(features, 128)
        self.gate = nn.Linear(features, 128)
        self.head = nn.Linear(128, tags)

    def forward(self, x):
        h = self.value(x) * torch.sigmoid(self.gate(x))
        return self.head(h)


def dice_and_bce(logits, target):
    probs = logits.sigmoid()
    dice = 1 - (2 * (probs * target).sum() + 1) / (probs.sum() + target.sum() + 1)
    return dice + F.binary_cross_entropy_with_logits(logits, target)


model = Gated()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.randn(4000, 40), (torch.rand(4000, 12) > 0.8).float()), batch_size=64, shuffle=True)
for epoch in range(10):
    for x, y in loader:
        optimizer.zero_grad()
        loss = dice_and_bce(model(x), y)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
