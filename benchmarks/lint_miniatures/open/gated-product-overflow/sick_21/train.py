import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SimpleGate(nn.Module):
    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        return a * b  #@


class NAFBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.expand = nn.Conv2d(c, 2 * c, 1)
        self.dw = nn.Conv2d(2 * c, 2 * c, 3, padding=1, groups=2 * c)
        self.gate = SimpleGate()  #@
        self.reduce = nn.Conv2d(c, c, 1)

    def forward(self, x):
        return x + self.reduce(self.gate(self.dw(self.expand(x))))  #@


class Derain(nn.Module):
    def __init__(self, c=48, depth=12):
        super().__init__()
        self.intro = nn.Conv2d(3, c, 3, padding=1)
        self.blocks = nn.Sequential(*[NAFBlock(c) for _ in range(depth)])
        self.ending = nn.Conv2d(c, 3, 3, padding=1)

    def forward(self, x):
        return x + self.ending(self.blocks(self.intro(x)))


torch.manual_seed(0)
device = "cuda"
model = Derain().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.9))
scaler = torch.amp.GradScaler("cuda")
train = DataLoader(TensorDataset(*torch.load("rain_train.pt")), 8, shuffle=True)
valid = DataLoader(TensorDataset(*torch.load("rain_valid.pt")), 4)

for epoch in range(80):
    model.train()
    for rainy, clean in train:
        rainy, clean = rainy.to(device), clean.to(device)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):  #@
            out = model(rainy)
            loss = F.l1_loss(out, clean)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    model.eval()
    with torch.no_grad():
        errors = [F.mse_loss(model(r.to(device)), c.to(device)) for r, c in valid]
    print(epoch, (-10 * torch.stack(errors).mean().log10()).item())
