import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class AttentionPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Linear(dim, 1)

    def forward(self, x):
        s = self.score(x).float()
        w = torch.exp(s - s.amax(dim=1, keepdim=True))
        return (w * x.float()).sum(1) / w.sum(1)


net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), AttentionPool(64), nn.Linear(64, 5)).cuda()
opt = torch.optim.AdamW(net.parameters(), lr=3e-4)
scaler = torch.amp.GradScaler("cuda")
loader = DataLoader(TensorDataset(torch.randn(4000, 256, 16), torch.randint(0, 5, (4000,))), 32, shuffle=True)
net.train()
for epoch in range(10):
    for x, y in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(net(x.cuda()), y.cuda())
        opt.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
