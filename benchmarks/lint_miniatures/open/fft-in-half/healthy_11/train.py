import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class FourierUnit(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv = nn.Conv2d(2 * ch, 2 * ch, 1)

    def forward(self, x):
        h, w = x.shape[-2:]
        spec = torch.fft.rfft2(x.float(), norm="ortho")
        y = torch.relu(self.conv(torch.cat([spec.real, spec.imag], dim=1)))
        real, imag = y.float().chunk(2, dim=1)
        return torch.fft.irfft2(torch.complex(real, imag), s=(h, w), norm="ortho").to(x.dtype)


net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), FourierUnit(32), nn.Conv2d(32, 3, 3, padding=1)).cuda()
opt = torch.optim.Adam(net.parameters(), lr=2e-4)
scaler = torch.amp.GradScaler("cuda")
loader = DataLoader(TensorDataset(torch.rand(2000, 3, 96, 96)), batch_size=8, shuffle=True)
net.train()
for epoch in range(20):
    for (x,) in loader:
        x = x.cuda()
        opt.zero_grad()
        with torch.amp.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.l1_loss(net(x + 0.1 * torch.randn_like(x)), x)
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
