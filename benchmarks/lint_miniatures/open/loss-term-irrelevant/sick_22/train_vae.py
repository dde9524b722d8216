import tomllib

import torch
import torch.nn.functional as F
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class VAE(nn.Module):
    def __init__(self, latent, width, inputs=784):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, 2 * latent))
        self.dec = nn.Sequential(nn.Linear(latent, width), nn.ReLU(), nn.Linear(width, inputs))

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


def terms(model, x):
    logits, mu, logvar = model(x)
    rec = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1).mean()
    kl = -0.5 * (1 + logvar - mu.square() - logvar.exp()).sum(1).mean()
    return {"reconstruction": rec, "kl": kl}


def main():
    with open("losses.toml", "rb") as f:
        cfg = tomllib.load(f)
    fabric = Fabric(accelerator="auto", devices=1)
    fabric.launch()
    fabric.seed_everything(0)
    model = VAE(cfg["model"]["latent"], cfg["model"]["width"])
    model, optimizer = fabric.setup(model, torch.optim.Adam(model.parameters(), lr=cfg["optim"]["lr"]))
    size = cfg["optim"]["batch_size"]
    train, valid = fabric.setup_dataloaders(
        DataLoader(TensorDataset(torch.load("mnist_train.pt")), size, shuffle=True),
        DataLoader(TensorDataset(torch.load("mnist_valid.pt")), size))
    for epoch in range(cfg["optim"]["epochs"]):
        model.train()
        for (x,) in train:
            parts = terms(model, x)
            loss = sum(cfg["loss"][name] * value for name, value in parts.items())  #@
            optimizer.zero_grad()
            fabric.backward(loss)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            elbo = torch.stack([sum(terms(model, x).values()) for (x,) in valid]).mean()
        fabric.print(f"{epoch} -elbo {elbo:.2f}")


if __name__ == "__main__":
    main()
