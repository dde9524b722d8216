"""Train a spring predictor: python main.py --settings settings.toml --seed 1"""

import argparse

import torch

from springs.settings import Settings
from springs.trainer import Trainer


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", default="settings.toml")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resume", help="latest, or the path of a checkpoint")
    arguments = parser.parse_args()

    torch.manual_seed(arguments.seed)
    trainer = Trainer(Settings.from_file(arguments.settings), arguments.seed)
    if arguments.resume:
        trainer.restore(arguments.resume)
    trainer.fit()


if __name__ == "__main__":
    main()
