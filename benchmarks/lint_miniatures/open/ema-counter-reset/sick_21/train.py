import argparse
import copy
import os

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class EMA:
    def __init__(self, model, decay=0.9999):
        self.shadow = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay = decay
        self.updates = 0

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        d = min(self.decay, (1 + self.updates) / (10 + self.updates))
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.lerp_(p, 1 - d)

    def state_dict(self):
        return self.shadow.state_dict()  #@

    def load_state_dict(self, state):
        self.shadow.load_state_dict(state)  #@


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume", default="")
    parser.add_argument("--epochs", type=int, default=100)
    args = parser.parse_args()
    torch.manual_seed(8)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(nn.Linear(2, 256), nn.SiLU(), nn.Linear(256, 256), nn.SiLU(),
                          nn.Linear(256, 3)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    ema, start = EMA(model), 0
    if args.resume and os.path.exists(args.resume):
        ckpt = torch.load(args.resume, map_location=device)
        model.load_state_dict(ckpt["model"])
        optimizer.load_state_dict(ckpt["optimizer"])
        ema.load_state_dict(ckpt["ema"])  #@
        start = ckpt["epoch"] + 1
    loader = DataLoader(TensorDataset(*torch.load("pixels_train.pt")), 4096, shuffle=True)
    held_out = DataLoader(TensorDataset(*torch.load("pixels_test.pt")), 4096)
    for epoch in range(start, args.epochs):
        model.train()
        for xy, rgb in loader:
            xy, rgb = xy.to(device), rgb.to(device)
            optimizer.zero_grad()
            loss = F.mse_loss(model(xy), rgb)
            loss.backward()
            optimizer.step()
            ema.update(model)
        with torch.no_grad():
            errors = [F.mse_loss(ema.shadow(a.to(device)), b.to(device)) for a, b in held_out]
        print(epoch, torch.stack(errors).mean().item())
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                    "ema": ema.state_dict(), "epoch": epoch}, "last.pt")  #@


if __name__ == "__main__":
    main()
