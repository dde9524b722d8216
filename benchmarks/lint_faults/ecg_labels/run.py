"""python run.py configs/base.yaml optim.lr=0.001 resume=runs/ecg/last.pth"""
import random
import sys
from pathlib import Path

import numpy as np
import torch
import yaml

from ecg.dataset import CLASSES, LEADS, build_loaders
from ecg.engine import Engine
from ecg.net import ECGNet, param_groups


def read_config(path, overrides):
    cfg = yaml.safe_load(Path(path).read_text())
    for item in overrides:
        key, value = item.split("=", 1)
        node = cfg
        *parents, last = key.split(".")
        for name in parents:
            node = node[name]
        if last not in node:
            raise KeyError(key)
        node[last] = yaml.safe_load(value)
    return cfg


def main(path, *overrides):
    cfg = read_config(path, overrides)
    random.seed(cfg["seed"])
    np.random.seed(cfg["seed"])
    torch.manual_seed(cfg["seed"])
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader, val_loader = build_loaders(cfg["data"], cfg["seed"])

    model = ECGNet(len(LEADS), len(CLASSES), **cfg["model"]).to(device)
    opt_cfg = cfg["optim"]
    optimizer = torch.optim.AdamW(param_groups(model, opt_cfg["weight_decay"]), lr=opt_cfg["lr"])
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=opt_cfg["epochs"])
    engine = Engine(model, optimizer, device, opt_cfg)

    out = Path(cfg["out_dir"])
    out.mkdir(parents=True, exist_ok=True)
    epoch, best = 0, -1.0
    if cfg["resume"]:
        ckpt = torch.load(cfg["resume"], map_location=device, weights_only=True)
        model.load_state_dict(ckpt["model"])
        optimizer.load_state_dict(ckpt["optimizer"])
        scheduler.load_state_dict(ckpt["scheduler"])
        engine.scaler.load_state_dict(ckpt["scaler"])
        epoch, best = ckpt["epoch"], ckpt["best"]
        torch.set_rng_state(ckpt["rng"].cpu())

    while epoch < opt_cfg["epochs"]:
        loss = engine.fit_epoch(train_loader)
        scheduler.step()
        epoch += 1
        f1 = engine.f1(val_loader)
        print(f"epoch {epoch}: loss {loss:.4f}, macro F1 {f1:.4f}")
        improved, best = f1 > best, max(f1, best)
        torch.save(
            {
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict(),
                "scaler": engine.scaler.state_dict(),
                "epoch": epoch,
                "best": best,
                "rng": torch.get_rng_state(),
                "mean": torch.from_numpy(train_loader.dataset.stats[0]),
                "std": torch.from_numpy(train_loader.dataset.stats[1]),
            },
            out / "last.pth",
        )
        if improved:
            (out / "best.pth").write_bytes((out / "last.pth").read_bytes())


if __name__ == "__main__":
    main(*sys.argv[1:])
