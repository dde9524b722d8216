import argparse
from copy import deepcopy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SRModel:
    def __init__(self, opt):
        self.net_g = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 12, 3, padding=1), nn.PixelShuffle(2))
        self.ema_decay = opt.ema_decay
        if self.ema_decay > 0:
            self.net_g_ema = deepcopy(self.net_g).eval().requires_grad_(False)  #@
        self.cri_pix = nn.L1Loss()
        self.optimizer_g = torch.optim.Adam(self.net_g.parameters(), lr=opt.lr)

    def optimize_parameters(self, lq, gt):
        self.net_g.train()
        self.optimizer_g.zero_grad()
        self.cri_pix(self.net_g(lq), gt).backward()
        self.optimizer_g.step()
        if self.ema_decay > 0:
            with torch.no_grad():
                for pe, p in zip(self.net_g_ema.parameters(), self.net_g.parameters()):
                    pe.mul_(self.ema_decay).add_(p, alpha=1 - self.ema_decay)

    @torch.no_grad()
    def test(self, lq):
        self.net_g.eval()  #@
        return self.net_g(lq).clamp(0, 1)  #@

    def save(self, path):
        torch.save({"params": self.net_g.state_dict()}, path)  #@


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--ema-decay", type=float, default=0.999)
    p.add_argument("--lr", type=float, default=2e-4)
    p.add_argument("--epochs", type=int, default=20)
    opt = p.parse_args()
    gt = torch.rand(300, 3, 48, 48)
    lq = nn.functional.avg_pool2d(gt, 2)
    train_dl = DataLoader(TensorDataset(lq[:250], gt[:250]), batch_size=10, shuffle=True)
    val_dl = DataLoader(TensorDataset(lq[250:], gt[250:]), batch_size=10)
    model = SRModel(opt)
    for epoch in range(opt.epochs):
        for a, b in train_dl:
            model.optimize_parameters(a, b)
        mse = torch.stack([(model.test(a) - b).pow(2).mean() for a, b in val_dl]).mean()
        print(epoch, "psnr", (-10 * mse.log10()).item())
        model.save(f"net_g_{epoch}.pth")


if __name__ == "__main__":
    main()
