"""Train a spring predictor with several processes: torchrun --nproc-per-node 2 main.py --seed 1"""

import argparse

import torch

from springs.settings import Settings
from springs.trainer import Trainer
from springs.world import World


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", default="settings.toml")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resume", help="latest, or the path of a checkpoint")
    arguments = parser.parse_args()

    with World() as world:
        torch.manual_seed(arguments.seed)
        trainer = Trainer(Settings.from_file(arguments.settings), arguments.seed, world)
        if arguments.resume:
            trainer.restore(arguments.resume)
        trainer.fit()


if __name__ == "__main__":
    main()
