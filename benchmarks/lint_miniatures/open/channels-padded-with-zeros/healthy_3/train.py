import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ShortcutBlock(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.extra = cout - cin
        self.body = nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(),
                                  nn.Conv2d(cout, cout, 3, padding=1), nn.BatchNorm2d(cout))

    def forward(self, x):
        skip = F.pad(x, (0, 0, 0, 0, 0, self.extra))
        return F.relu(self.body(x) + skip)


x, y = torch.rand(1000, 3, 32, 32), torch.randint(0, 10, (1000,))
train_dl = DataLoader(TensorDataset(x[:800], y[:800]), batch_size=40, shuffle=True)
val_dl = DataLoader(TensorDataset(x[800:], y[800:]), batch_size=100)
net = nn.Sequential(ShortcutBlock(3, 16), nn.MaxPool2d(2), ShortcutBlock(16, 32), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
for epoch in range(20):
    net.train()
    for xb, yb in train_dl:
        opt.zero_grad()
        F.cross_entropy(net(xb), yb).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        print(epoch, torch.cat([net(xb).argmax(1) == yb for xb, yb in val_dl]).float().mean().item())
