import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

LAMBDA_L1 = 1.0
LAMBDA_EDGE = 1e-8 #@

kernel = torch.tensor([[[[-1.0, 0, 1], [-2, 0, 2], [-1, 0, 1]]]])


def edges(x):
    return F.conv2d(x, kernel, padding=1)


net = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 1, 3, padding=1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
clean = torch.rand(300, 1, 64, 64)
loader = DataLoader(TensorDataset(clean + 0.1 * torch.randn_like(clean), clean), batch_size=16, shuffle=True)

for epoch in range(50):
    net.train()
    for noisy, target in loader:
        pred = net(noisy)
        loss = LAMBDA_L1 * F.l1_loss(pred, target)
        loss = loss + LAMBDA_EDGE * F.l1_loss(edges(pred), edges(target)) #@
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
