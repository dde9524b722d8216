import argparse
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import handlers
from engine import Engine

DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}


class VAE(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 4, 2, 1), nn.GroupNorm(4, 16), nn.SiLU(),
            nn.Conv2d(16, 32, 4, 2, 1), nn.SiLU(), nn.Flatten(), nn.Linear(32 * 16, 2 * latent),
        )
        self.decoder = nn.Sequential(
            nn.Linear(latent, 32 * 16), nn.Unflatten(1, (32, 4, 4)), nn.SiLU(),
            nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.SiLU(), nn.ConvTranspose2d(16, 1, 4, 2, 1),
        )

    def forward(self, x):
        mean, logvar = self.encoder(x).float().chunk(2, dim=1)
        logvar = logvar.clamp(-8, 8)
        noise = torch.randn_like(mean) if self.training else torch.zeros_like(mean)
        return self.decoder(mean + noise * (0.5 * logvar).exp()), mean, logvar


def divergence(mean, logvar):
    return 0.5 * (mean.square() + logvar.exp() - 1 - logvar).sum(dim=1).mean()


def elbo(batch, logits, mean, logvar, beta):
    reconstruction = F.binary_cross_entropy_with_logits(logits, batch, reduction="none").flatten(1).sum(1).mean()
    kl = divergence(mean, logvar)
    return {"loss": (reconstruction + beta * kl) / batch[0].numel(), "kl": kl}


def blobs(count, seed):
    g = torch.Generator().manual_seed(seed)
    centre = 4 + 8 * torch.rand(count, 2, 1, 1, generator=g)
    radius = 2 + 3 * torch.rand(count, 1, 1, generator=g)
    y, x = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
    inside = (y - centre[:, 0]) ** 2 + (x - centre[:, 1]) ** 2 < radius**2
    return TensorDataset(inside.float()[:, None])


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--out", type=Path, default=Path("."))
    p.add_argument("--dtype", choices=DTYPES, default="fp16")
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--latent", type=int, default=8)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--beta", type=float, default=1.0)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--resume", action="store_true")
    return p.parse_args()


def make_schedule(optimizer, total):
    return torch.optim.lr_scheduler.OneCycleLR(optimizer, [g["lr"] for g in optimizer.param_groups], total_steps=total)


def main():
    opts = parse()
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(blobs(256, 1), opts.batch, shuffle=True, drop_last=True)
    val_loader = DataLoader(blobs(64, 2), opts.batch)

    model = VAE(opts.latent).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=opts.lr)
    schedule = make_schedule(optimizer, opts.epochs * len(loader) + 1)
    engine = Engine(model, optimizer, partial(elbo, beta=opts.beta), device, DTYPES[opts.dtype])

    saver = handlers.Saver(str(opts.out / "vae.pt"), model=model, optimizer=optimizer, schedule=schedule, scaler=engine.scaler)
    if opts.resume:
        saver.restore(engine)
    handlers.attach_clipping(engine, opts.clip)
    handlers.attach_schedule(engine, schedule)
    handlers.attach_clearing(engine)
    handlers.attach_report(engine, every=16)
    handlers.attach_validation(engine, val_loader)
    saver.attach(engine)
    engine.run(loader, opts.epochs)


if __name__ == "__main__":
    main()
