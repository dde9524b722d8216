import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

T = 1000
betas = torch.linspace(1e-4, 0.02, T)
alpha_bar = torch.cumprod(1 - betas, dim=0)


class Denoiser(nn.Module):
    def __init__(self, dim=128):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, dim), nn.SiLU(), nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, 2))

    def forward(self, x_t, t):
        a = alpha_bar[t][:, None]
        eps = self.net(torch.cat([x_t, t[:, None] / T], dim=1))
        return (x_t - (1 - a).sqrt() * eps) / a.sqrt() #@


model = Denoiser()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.randn(10000, 2)), batch_size=256, shuffle=True)
for epoch in range(50):
    model.train()
    for (x0,) in loader:
        t = torch.randint(0, T, (len(x0),))
        noise = torch.randn_like(x0)
        a = alpha_bar[t][:, None]
        x_t = a.sqrt() * x0 + (1 - a).sqrt() * noise
        pred = model(x_t, t) #@
        loss = F.mse_loss(pred, noise) #@
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
