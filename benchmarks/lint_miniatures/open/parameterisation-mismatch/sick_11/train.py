import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

T = 1000
alpha_bar = torch.cumprod(1 - torch.linspace(1e-4, 0.02, T), dim=0)


class Denoiser(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim + 1, 256), nn.SiLU(), nn.Linear(256, dim))

    def forward(self, x_t, t):
        return self.net(torch.cat([x_t, t[:, None] / T], dim=1))

    def predict_x0(self, x_t, t):
        a = alpha_bar[t][:, None]
        eps = self(x_t, t)
        return (x_t - (1 - a).sqrt() * eps) / a.sqrt()


model = Denoiser()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
loader = DataLoader(TensorDataset(torch.randn(20000, 32)), batch_size=128, shuffle=True)
model.train()
for epoch in range(50):
    for (x0,) in loader:
        t = torch.randint(0, T, (len(x0),))
        a = alpha_bar[t][:, None]
        noise = torch.randn_like(x0)
        x_t = a.sqrt() * x0 + (1 - a).sqrt() * noise
        v_target = a.sqrt() * noise - (1 - a).sqrt() * x0 #@
        loss = nn.functional.mse_loss(model.predict_x0(x_t, t), v_target) #@
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
