import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

STEPS = 1000
betas = torch.linspace(1e-4, 0.02, STEPS)
alphas_bar = torch.cumprod(1 - betas, dim=0)


class Denoiser(nn.Module):
    def __init__(self, dim=64, width=512):
        super().__init__()
        self.time = nn.Embedding(STEPS, width)
        self.inp = nn.Linear(dim, width)
        self.mid = nn.Sequential(nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.out = nn.Linear(width, dim)

    def forward(self, x, t):
        return self.out(self.mid(self.inp(x) + self.time(t)))


def predict_x0(model, x_t, t, abar):
    eps = model(x_t, t)
    return (x_t - (1 - abar).sqrt() * eps) / abar.sqrt()


def diffusion_loss(model, x0):
    t = torch.randint(0, STEPS, (len(x0),), device=x0.device)
    abar = alphas_bar.to(x0.device)[t, None]
    noise = torch.randn_like(x0)
    x_t = abar.sqrt() * x0 + (1 - abar).sqrt() * noise
    v = abar.sqrt() * noise - (1 - abar).sqrt() * x0  #@
    pred = predict_x0(model, x_t, t, abar)  #@
    return F.mse_loss(pred, v)  #@


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Denoiser().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
    train = DataLoader(TensorDataset(torch.load("embeddings_train.pt")), 256, shuffle=True)
    valid = DataLoader(TensorDataset(torch.load("embeddings_valid.pt")), 256)
    for epoch in range(200):
        model.train()
        for (x0,) in train:
            optimizer.zero_grad()
            loss = diffusion_loss(model, x0.to(device))
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            losses = torch.stack([diffusion_loss(model, x.to(device)) for (x,) in valid])
        print(epoch, losses.mean().item())


if __name__ == "__main__":
    main()
