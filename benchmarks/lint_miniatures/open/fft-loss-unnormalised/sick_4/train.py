import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset


def focal_frequency_loss(pred, target, alpha=1.0):
    diff = torch.view_as_real(torch.fft.fft2(pred) - torch.fft.fft2(target)) #@
    dist = diff.square().sum(-1) #@
    weight = dist.detach().sqrt() ** alpha
    weight = weight / weight.amax(dim=(-2, -1), keepdim=True).clamp(min=1e-6)
    return (weight * dist).mean() #@


def vae_loss(recon, x, mu, logvar):
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean() / x[0].numel()
    return F.mse_loss(recon, x) + kl + focal_frequency_loss(recon, x) #@


class VAE(nn.Module):
    def __init__(self, z=32):
        super().__init__()
        self.enc = nn.Sequential(nn.Flatten(), nn.Linear(64 * 64, 256), nn.ReLU(), nn.Linear(256, 2 * z))
        self.dec = nn.Sequential(nn.Linear(z, 256), nn.ReLU(), nn.Linear(256, 64 * 64), nn.Unflatten(1, (1, 64, 64)))

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, dim=1)
        return self.dec(mu + torch.randn_like(mu) * (0.5 * logvar).exp()), mu, logvar


accelerator = Accelerator()
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.rand(2000, 1, 64, 64)), batch_size=64, shuffle=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for epoch in range(40):
    for (x,) in loader:
        optimizer.zero_grad()
        recon, mu, logvar = model(x)
        loss = vae_loss(recon, x, mu, logvar) #@
        accelerator.backward(loss)
        optimizer.step()
    accelerator.print(epoch, loss.item())
