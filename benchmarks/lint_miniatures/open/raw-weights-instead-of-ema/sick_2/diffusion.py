import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, TensorDataset

T = 200
betas = torch.linspace(1e-4, 0.02, T)
abar = torch.cumprod(1 - betas, 0)


class Eps(nn.Module):
    def __init__(self, dim=2, width=128):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim + 1, width), nn.SiLU(), nn.Linear(width, dim))

    def forward(self, x, t):
        return self.net(torch.cat([x, t[:, None] / T], 1))


@torch.no_grad()
def sample(net, n):
    net.eval()
    x = torch.randn(n, 2)
    for i in reversed(range(T)):
        eps = net(x, torch.full((n,), i))
        x = (x - betas[i] / (1 - abar[i]).sqrt() * eps) / (1 - betas[i]).sqrt()
        if i > 0:
            x = x + betas[i].sqrt() * torch.randn_like(x)
    return x


def main():
    loader = DataLoader(TensorDataset(torch.randn(5000, 2) * torch.tensor([2.0, 0.3])), batch_size=128, shuffle=True)
    net = Eps()
    ema = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.999))  #@
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for epoch in range(50):
        net.train()
        for (x0,) in loader:
            t = torch.randint(0, T, (len(x0),))
            noise = torch.randn_like(x0)
            xt = abar[t].sqrt()[:, None] * x0 + (1 - abar[t]).sqrt()[:, None] * noise
            opt.zero_grad()
            F.mse_loss(net(xt, t), noise).backward()
            opt.step()
            ema.update_parameters(net)
        torch.save(sample(net, 256), f"samples_{epoch:03d}.pt")  #@
    torch.save(net.state_dict(), "model_final.pt")  #@


if __name__ == "__main__":
    main()
