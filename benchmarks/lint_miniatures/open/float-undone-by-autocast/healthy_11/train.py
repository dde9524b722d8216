import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Upsampler(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1))
        self.tail = nn.Conv2d(64, 12, 3, padding=1)
        self.shuffle = nn.PixelShuffle(2)

    def forward(self, x):
        feat = self.body(x)
        with torch.autocast("cuda", enabled=False):
            return self.shuffle(self.tail(feat.float()))


model = Upsampler().cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
scaler = torch.amp.GradScaler("cuda")
hr = torch.rand(3000, 3, 64, 64)
loader = DataLoader(TensorDataset(nn.functional.avg_pool2d(hr, 2), hr), batch_size=16, shuffle=True)
model.train()
for epoch in range(40):
    for lo, hi in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.l1_loss(model(lo.cuda()), hi.cuda())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
