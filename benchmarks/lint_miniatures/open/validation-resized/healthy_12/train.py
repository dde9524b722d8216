import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def pad_to_multiple(x, m=8):
    h, w = x.shape[-2:]
    return F.pad(x, (0, -w % m, 0, -h % m), mode="reflect"), h, w


class TinyUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(3, 32, 8, stride=8)
        self.up = nn.ConvTranspose2d(32, 3, 8, stride=8)

    def forward(self, x):
        return x + self.up(torch.relu(self.down(x)))


clean = torch.rand(2000, 3, 96, 96)
train_loader = DataLoader(TensorDataset(clean), batch_size=16, shuffle=True)
val_images = [torch.rand(1, 3, 321, 481) for _ in range(12)]
net = TinyUNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-4)
for epoch in range(20):
    net.train()
    for (gt,) in train_loader:
        opt.zero_grad()
        F.l1_loss(net(gt + 0.1 * torch.randn_like(gt)), gt).backward()
        opt.step()
    net.eval()
    psnr = 0.0
    gen = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for gt in val_images:
            padded, h, w = pad_to_multiple(gt + 0.1 * torch.randn(gt.shape, generator=gen))
            out = net(padded)[..., :h, :w].clamp(0, 1)
            psnr += (10 * torch.log10(1 / F.mse_loss(out, gt))).item()
    print(epoch, psnr / len(val_images))
