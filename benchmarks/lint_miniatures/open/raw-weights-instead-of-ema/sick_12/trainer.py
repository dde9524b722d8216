import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, TensorDataset


class DiffusionTrainer:
    def __init__(self, net, data, ema_decay=0.9999):
        self.net = net
        self.ema = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(ema_decay)) #@
        self.opt = torch.optim.AdamW(net.parameters(), lr=2e-4)
        self.loader = DataLoader(TensorDataset(data), batch_size=128, shuffle=True)
        self.alpha_bar = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000), 0)

    def train_epoch(self):
        self.net.train()
        for (x0,) in self.loader:
            t = torch.randint(0, 1000, (len(x0),))
            a = self.alpha_bar[t][:, None]
            noise = torch.randn_like(x0)
            pred = self.net(torch.cat([a.sqrt() * x0 + (1 - a).sqrt() * noise, t[:, None] / 1000], 1))
            self.opt.zero_grad()
            nn.functional.mse_loss(pred, noise).backward()
            self.opt.step()
            self.ema.update_parameters(self.net) #@

    @torch.no_grad()
    def sample(self, n):
        net = self.net.eval() #@
        x = torch.randn(n, 2)
        for i in reversed(range(0, 1000, 10)):
            a = self.alpha_bar[i]
            eps = net(torch.cat([x, torch.full((n, 1), i / 1000)], 1)) #@
            x0 = (x - (1 - a).sqrt() * eps) / a.sqrt()
            prev = self.alpha_bar[i - 10] if i else torch.ones(())
            x = prev.sqrt() * x0 + (1 - prev).sqrt() * eps
        return x


trainer = DiffusionTrainer(nn.Sequential(nn.Linear(3, 256), nn.SiLU(), nn.Linear(256, 2)), torch.randn(50000, 2))
for epoch in range(100):
    trainer.train_epoch()
    torch.save(trainer.sample(1000), f"samples_{epoch}.pt") #@
