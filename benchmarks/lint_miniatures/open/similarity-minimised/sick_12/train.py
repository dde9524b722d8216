import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from losses import CombinedLoss

net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 3, 3, padding=1), nn.Sigmoid())
criterion = CombinedLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.rand(1000, 3, 48, 48)), batch_size=10, shuffle=True)
net.train()
for epoch in range(30):
    for (clean,) in loader:
        loss = criterion(net(clean + 0.1 * torch.randn_like(clean)), clean) #@
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
