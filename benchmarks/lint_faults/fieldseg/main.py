import argparse

import torch
import yaml

from engine.data import make_loaders
from engine.net import FieldNet
from engine.trainer import FieldTrainer

DEFAULTS = {
    "run": {"seed": 0, "out_dir": "out/run"},
    "data": {"workers": 0, "crop": 64, "batch_size": 8},
    "model": {"width": 16, "dropout": 0.0},
    "optim": {"lr": 1e-3, "weight_decay": 0.0, "max_norm": 1.0, "accumulate": 1, "epochs": 10, "fp16": False},
    "loss": {"dice_weight": 1.0, "ignore": 255},
    "curriculum": {"start": 0.0, "end": 0.0, "ramp_epochs": 1},
    "eval": {"every_updates": 100},
}


def load_config(path):
    with open(path) as f:
        user = yaml.safe_load(f)
    cfg = {}
    for section, values in DEFAULTS.items():
        cfg[section] = {**values, **user.get(section, {})}
    return cfg


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("-c", "--config", default="configs/fields.yaml")
    ap.add_argument("--resume", help="a checkpoint written by this script")
    opts = ap.parse_args()

    cfg = load_config(opts.config)
    print("===", cfg["run"].get("name", "unnamed"))
    torch.manual_seed(cfg["run"]["seed"])
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader, val_loader = make_loaders(cfg)
    net = FieldNet(cfg["model"]["classes"], cfg["model"]["width"], cfg["model"]["dropout"]).to(device)
    trainer = FieldTrainer(net, train_loader, val_loader, cfg, device)
    if opts.resume:
        trainer.load(opts.resume)
    trainer.fit()


if __name__ == "__main__":
    main()
