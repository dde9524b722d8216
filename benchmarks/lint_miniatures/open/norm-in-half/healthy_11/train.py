import torch
from torch import nn
from torch.amp import GradScaler, autocast
from torch.utils.data import DataLoader, TensorDataset


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt((h * h).mean(-1, keepdim=True) + self.eps)
        return h.to(x.dtype) * self.scale


net = nn.Sequential(nn.Linear(64, 256), RMSNorm(256), nn.ReLU(), nn.Linear(256, 10)).cuda()
opt = torch.optim.AdamW(net.parameters(), lr=3e-4)
scaler = GradScaler("cuda")
loader = DataLoader(TensorDataset(torch.randn(8000, 64), torch.randint(0, 10, (8000,))), 128, shuffle=True)
net.train()
for epoch in range(20):
    for x, y in loader:
        opt.zero_grad(set_to_none=True)
        with autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(net(x.cuda()), y.cuda())
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
