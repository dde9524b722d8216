"""python tools_train.py config.py"""
import runpy
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from engine import Runner, build_hook


def load(path):
    return {k: v for k, v in runpy.run_path(path).items() if not k.startswith("_")}


def build(module, cfg, *args):
    cfg = dict(cfg)
    return getattr(module, cfg.pop("type"))(*args, **cfg)


def make_set(cfg, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(cfg["samples"], cfg["dim"], generator=g)
    return TensorDataset(x, x[:, : cfg["classes"]].argmax(1))


def main():
    cfg = load(sys.argv[1])
    torch.manual_seed(cfg["seed"])
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = cfg["data"]
    model = nn.Sequential(nn.Linear(data["dim"], 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, data["classes"]))
    model = model.to(device)
    optimizer = build(torch.optim, cfg["optimizer"], model.parameters())
    scheduler = build(torch.optim.lr_scheduler, cfg["scheduler"], optimizer)
    train_loader = DataLoader(make_set(data, 0), batch_size=data["batch_size"], shuffle=True)
    val_loader = DataLoader(make_set(data, 1), batch_size=data["batch_size"])
    runner = Runner(cfg, model, optimizer, scheduler, train_loader, val_loader, device)
    for hook in cfg["hooks"]:
        runner.register_hook(build_hook(hook))
    runner.run()


if __name__ == "__main__":
    main()
