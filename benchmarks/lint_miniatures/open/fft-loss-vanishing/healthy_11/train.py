import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def frequency_loss(pred, target):
    pf = torch.fft.fft2(pred, norm="ortho")
    tf = torch.fft.fft2(target, norm="ortho")
    return F.l1_loss(torch.view_as_real(pf), torch.view_as_real(tf))


net = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 3, 3, padding=1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
hr = torch.rand(1200, 3, 256, 256)
loader = DataLoader(TensorDataset(F.avg_pool2d(hr, 3, 1, 1), hr), batch_size=8, shuffle=True)
net.train()
for epoch in range(60):
    for lq, gt in loader:
        out = net(lq)
        loss = F.l1_loss(out, gt) + 0.1 * frequency_loss(out, gt)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
