import argparse
from contextlib import nullcontext

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class GlobalMixer(nn.Module):
    def __init__(self, dim, length):
        super().__init__()
        self.proj = nn.Linear(dim, dim)
        self.filter = nn.Parameter(torch.ones(length // 2 + 1, dim))

    def forward(self, x):
        u = self.proj(x)
        spectrum = torch.fft.rfft(u, dim=1) #@
        return x + torch.fft.irfft(spectrum * self.filter, n=u.shape[1], dim=1) #@


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--amp", action=argparse.BooleanOptionalAction, default=True)
    ap.add_argument("--length", type=int, default=1000)
    args = ap.parse_args()
    model = nn.Sequential(nn.Linear(4, 64), GlobalMixer(64, args.length), nn.Linear(64, 1)).cuda()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda", enabled=args.amp)
    ctx = torch.autocast("cuda", torch.float16) if args.amp else nullcontext() #@
    x = torch.randn(2000, args.length, 4)
    loader = DataLoader(TensorDataset(x, x.cumsum(1)[..., :1] / 30), batch_size=16, shuffle=True)
    model.train()
    for epoch in range(10):
        for xb, yb in loader:
            with ctx: #@
                loss = nn.functional.mse_loss(model(xb.cuda()), yb.cuda())
            opt.zero_grad(set_to_none=True)
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()


if __name__ == "__main__":
    main()
