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
        ms = (x * x).mean(-1, keepdim=True) #@
        return x * torch.rsqrt(ms + self.eps) * self.scale #@


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.up = nn.Linear(dim, 4 * dim)
        self.norm = RMSNorm(4 * dim)
        self.down = nn.Linear(4 * dim, dim)

    def forward(self, x):
        return x + self.down(torch.relu(self.norm(self.up(x)))) #@


def train(model, loader, epochs):
    opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
    scaler = GradScaler("cuda")
    model.train()
    for _ in range(epochs):
        for x, y in loader:
            opt.zero_grad(set_to_none=True)
            with autocast("cuda", dtype=torch.float16): #@
                loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()


data = TensorDataset(torch.randn(8000, 128), torch.randint(0, 50, (8000,)))
net = nn.Sequential(*[Block(128) for _ in range(4)], nn.Linear(128, 50)).cuda()
train(net, DataLoader(data, batch_size=128, shuffle=True), 20)
