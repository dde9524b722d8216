"""python train.py [--epochs N] [--lr LR] [--resume runs/default/last.pt]"""
import argparse
import logging

from glimpse.config import Config, OptimConfig
from glimpse.trainer import Trainer


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--clip", type=float, default=5.0)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--resume", default="")
    return p.parse_args()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    args = parse()
    cfg = Config(
        epochs=args.epochs,
        seed=args.seed,
        resume=args.resume,
        optim=OptimConfig(lr=args.lr, max_grad_norm=args.clip),
    )
    Trainer(cfg).fit()
