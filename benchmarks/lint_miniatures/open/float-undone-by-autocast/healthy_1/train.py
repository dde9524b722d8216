import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Upscaler(nn.Module):
    def __init__(self, ch=64):
        super().__init__()
        self.head = nn.Conv2d(3, ch, 3, padding=1)
        self.body = nn.Sequential(*[nn.Sequential(nn.Conv2d(ch, ch, 3, padding=1), nn.ReLU()) for _ in range(4)])
        self.tail = nn.Conv2d(ch, 12, 3, padding=1)
        self.shuffle = nn.PixelShuffle(2)

    def forward(self, x):
        f = self.body(self.head(x))
        with torch.autocast("cuda", enabled=False):
            return self.shuffle(self.tail(f.float()))


model = Upscaler().cuda()
opt = torch.optim.Adam(model.parameters(), lr=2e-4)
scaler = torch.amp.GradScaler("cuda")
hr = torch.rand(400, 3, 64, 64)
loader = DataLoader(TensorDataset(nn.functional.avg_pool2d(hr, 2), hr), batch_size=16, shuffle=True)
for epoch in range(30):
    for x, y in loader:
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.l1_loss(model(x.cuda()), y.cuda())
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
    print(epoch, loss.item())
