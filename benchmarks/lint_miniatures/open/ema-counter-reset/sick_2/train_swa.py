import argparse

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, TensorDataset


def save(path, net, ema, opt, epoch):
    torch.save({"net": net.state_dict(), "ema": ema.module.state_dict(), "opt": opt.state_dict(), "epoch": epoch}, path)  #@


def load(path, net, ema, opt):
    state = torch.load(path, map_location="cpu")
    net.load_state_dict(state["net"])
    ema.module.load_state_dict(state["ema"])  #@
    opt.load_state_dict(state["opt"])
    return state["epoch"] + 1


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--resume", default=None)
    ap.add_argument("--epochs", type=int, default=50)
    args = ap.parse_args()
    clean = torch.rand(700, 1, 24, 24)
    noisy = clean + 0.1 * torch.randn_like(clean)
    train_dl = DataLoader(TensorDataset(noisy[:600], clean[:600]), batch_size=20, shuffle=True)
    val_dl = DataLoader(TensorDataset(noisy[600:], clean[600:]), batch_size=50)
    net = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 1, 3, padding=1))
    ema = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.999))  #@
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    start = load(args.resume, net, ema, opt) if args.resume else 0
    for epoch in range(start, args.epochs):
        net.train()
        for x, y in train_dl:
            opt.zero_grad()
            nn.functional.mse_loss(net(x), y).backward()
            opt.step()
            ema.update_parameters(net)  #@
        ema.eval()
        with torch.no_grad():
            print(epoch, torch.stack([nn.functional.mse_loss(ema(x), y) for x, y in val_dl]).mean().item())
        save("last.pt", net, ema, opt, epoch)


if __name__ == "__main__":
    main()
