import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset


class CrossAttention(nn.Module):
    def __init__(self, dim, upcast=False): #@
        super().__init__()
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.dtype = torch.float32 if upcast else torch.float16 #@

    def forward(self, x, ctx):
        scores = self.q(x) @ self.k(ctx).transpose(1, 2) * x.size(-1) ** -0.5
        probs = F.softmax(scores, dim=-1, dtype=self.dtype) #@
        return x + probs.to(scores.dtype) @ self.v(ctx)


class Net(nn.Module):
    def __init__(self, dim=128):
        super().__init__()
        self.xin, self.cin = nn.Linear(10, dim), nn.Linear(6, dim)
        self.attn = CrossAttention(dim) #@
        self.out = nn.Linear(dim, 1)

    def forward(self, x, c):
        return self.out(self.attn(self.xin(x), self.cin(c)))


accelerator = Accelerator(mixed_precision="fp16") #@
model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
data = TensorDataset(torch.randn(2000, 64, 10), torch.randn(2000, 4096, 6), torch.randn(2000, 64, 1))
loader = DataLoader(data, batch_size=8, shuffle=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for epoch in range(3):
    for x, c, y in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x, c), y)
        accelerator.backward(loss)
        optimizer.step()
    accelerator.print(epoch, loss.item())
