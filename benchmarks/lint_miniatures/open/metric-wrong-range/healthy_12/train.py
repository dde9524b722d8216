import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchmetrics.image import PeakSignalNoiseRatio

images = torch.load("patches_uint8.pt")
train_loader = DataLoader(TensorDataset(images[:-300]), batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(images[-300:]), batch_size=30)
net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 3, 3, padding=1))
opt = torch.optim.Adam(net.parameters(), lr=2e-4)
metric = PeakSignalNoiseRatio(data_range=255.0)


def noisy(x):
    return x + 15 / 255 * torch.randn_like(x)


for epoch in range(30):
    net.train()
    for (u8,) in train_loader:
        clean = u8.float() / 255
        opt.zero_grad()
        F.mse_loss(net(noisy(clean)), clean).backward()
        opt.step()

    net.eval()
    metric.reset()
    with torch.no_grad():
        for (u8,) in val_loader:
            out = net(noisy(u8.float() / 255)).mul(255).round().clamp(0, 255)
            metric.update(out, u8.float())
    print(epoch, metric.compute().item())
