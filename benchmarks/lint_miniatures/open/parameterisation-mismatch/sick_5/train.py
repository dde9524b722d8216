import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class EDMPrecond(nn.Module):
    def __init__(self, dim=128, sigma_data=0.5):
        super().__init__()
        self.sigma_data = sigma_data
        self.net = nn.Sequential(nn.Linear(3, dim), nn.SiLU(), nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, 2))

    def forward(self, x, sigma):
        total = sigma**2 + self.sigma_data**2
        c_skip = self.sigma_data**2 / total
        c_out = sigma * self.sigma_data / total.sqrt()
        F_x = self.net(torch.cat([x / total.sqrt(), sigma.log() / 4], dim=1))
        return c_skip * x + c_out * F_x #@


class Trainer:
    def __init__(self, model, dataset):
        self.model = model
        self.loader = DataLoader(dataset, batch_size=256, shuffle=True)
        self.opt = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def loss(self, x0):
        sigma = (torch.randn(len(x0), 1) * 1.2 - 1.2).exp()
        noise = torch.randn_like(x0)
        denoised = self.model(x0 + sigma * noise, sigma) #@
        norm = (1 + sigma**2).sqrt()
        v_target = (noise - sigma * x0) / norm #@
        return F.mse_loss(denoised, v_target) #@

    def fit(self, epochs):
        self.model.train()
        for epoch in range(epochs):
            for (x0,) in self.loader:
                loss = self.loss(x0)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
            print(epoch, loss.item())


Trainer(EDMPrecond(), TensorDataset(0.5 * torch.randn(20000, 2))).fit(40)
