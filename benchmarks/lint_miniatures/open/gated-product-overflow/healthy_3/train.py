import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SwiGLU(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.w1 = nn.Linear(dim, hidden)
        self.w3 = nn.Linear(dim, hidden)
        self.w2 = nn.Linear(hidden, dim)
        self.mid = nn.LayerNorm(hidden)

    def forward(self, x):
        h = self.norm(x)
        product = F.silu(self.w1(h).float()) * self.w3(h).float()
        return x + self.w2(self.mid(product))


model = nn.Sequential(nn.Linear(32, 256), *[SwiGLU(256, 512) for _ in range(6)], nn.Linear(256, 1)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
scaler = torch.amp.GradScaler("cuda")
loader = DataLoader(TensorDataset(torch.randn(5000, 32), torch.randn(5000, 1)), batch_size=64, shuffle=True)
for epoch in range(10):
    for x, y in loader:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = F.mse_loss(model(x.cuda()), y.cuda())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    print(epoch, loss.item())
