"""Contrastive pre-training of a small encoder in half precision, then a linear probe."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def views(n, generator):
    """Two noisy views of the same latent."""
    basis = torch.randn(6, 24, generator=torch.Generator().manual_seed(1))
    latent = torch.randn(n, 6, generator=generator)
    return tuple(latent @ basis + 0.3 * torch.randn(n, 24, generator=generator) for _ in range(2)), latent


class Encoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(24, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, dim))
        self.projector = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 16))

    def forward(self, x):
        return self.projector(self.body(x))


def info_nce(a, b, temperature):
    a, b = F.normalize(a.float(), dim=1), F.normalize(b.float(), dim=1)
    logits = a @ b.T / temperature
    labels = torch.arange(len(a), device=a.device)
    return 0.5 * (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels))


def uniformity(z):
    z = F.normalize(z.float(), dim=1)
    return torch.pdist(z).pow(2).mul(-2).exp().mean().log()


class Pretraining:
    def __init__(self, args):
        self.args = args
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.amp = self.device.type == "cuda"
        self.net = Encoder().to(self.device)
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=args.lr, weight_decay=args.wd)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, self._ramp)
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.amp)
        self.generator = torch.Generator().manual_seed(args.seed)

    def _ramp(self, step):
        return 0.5 * (1 + math.cos(math.pi * step / self.args.steps))

    def step(self):
        (x1, x2), _ = views(self.args.batch, self.generator)
        self.optimizer.zero_grad()
        with torch.autocast(self.device.type, dtype=torch.float16, enabled=self.amp):
            z1, z2 = self.net(x1.to(self.device)), self.net(x2.to(self.device))
        loss = info_nce(z1, z2, self.args.temperature) + self.args.uniformity * uniformity(z1)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.scheduler.step()
        return loss.detach()

    def run(self):
        self.net.train()
        for i in range(self.args.steps):
            loss = self.step()
            if i % self.args.log_every == 0:
                print(f"{i:4d} loss {loss.item():.4f} probe {self.probe():.3f}")
        torch.save(self.net.body.state_dict(), "encoder.pt")

    def probe(self):
        """How well a linear map of the frozen features gives the latent back."""
        self.net.eval()
        (x, _), latent = views(256, torch.Generator().manual_seed(77))
        with torch.no_grad():
            features = self.net.body(x.to(self.device)).cpu()
        weights = torch.linalg.lstsq(features, latent).solution
        error = (features @ weights - latent).pow(2).mean() / latent.var()
        self.net.train()
        return 1 - error.item()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--wd", type=float, default=1e-4)
    parser.add_argument("--temperature", type=float, default=0.1)
    parser.add_argument("--uniformity", type=float, default=0.1)
    parser.add_argument("--log_every", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    Pretraining(parser.parse_args()).run()
