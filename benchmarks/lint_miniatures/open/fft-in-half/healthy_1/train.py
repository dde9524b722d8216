import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class FourierUnit(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv = nn.Conv2d(ch * 2, ch * 2, 1)

    def forward(self, x):
        with torch.autocast("cuda", enabled=False):
            spec = torch.fft.rfft2(x.float(), norm="ortho")
            z = self.conv(torch.cat([spec.real, spec.imag], dim=1))
            re, im = z.chunk(2, dim=1)
            return torch.fft.irfft2(torch.complex(re, im), s=x.shape[-2:], norm="ortho")


class Net(nn.Module):
    def __init__(self, ch=32):
        super().__init__()
        self.head = nn.Conv2d(3, ch, 3, padding=1)
        self.ffc = FourierUnit(ch)
        self.tail = nn.Conv2d(ch, 3, 3, padding=1)

    def forward(self, x):
        f = self.head(x)
        return x + self.tail(f + self.ffc(f))


model = Net().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
scaler = torch.amp.GradScaler("cuda")
clean = torch.rand(300, 3, 96, 96)
loader = DataLoader(TensorDataset(clean + 0.05 * torch.randn_like(clean), clean), batch_size=8, shuffle=True)
for epoch in range(50):
    for noisy, target in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.l1_loss(model(noisy.cuda()), target.cuda())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    print(epoch, loss.item())
