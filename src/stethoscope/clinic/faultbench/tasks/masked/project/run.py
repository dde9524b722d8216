"""Train a denoiser of protein sequences: python run.py [--config experiment.yaml] [--resume latest]"""

import argparse
from pathlib import Path

import torch
from inverse_folding.callbacks import CheckpointCallback, LoggingCallback, ValidationCallback
from inverse_folding.config import Config
from inverse_folding.experiment import Experiment
from inverse_folding.loggers import LOGGERS

OUTPUT = Path("outputs/absorbing")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", default="experiment.yaml")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resume", help="a checkpoint file, or latest")
    args = parser.parse_args()

    config = Config.from_yaml(args.config)
    OUTPUT.mkdir(parents=True, exist_ok=True)
    config.dump(OUTPUT / "resolved_config.yaml")
    logger = LOGGERS[config.logging.format](OUTPUT, config.trainer.max_steps)
    callbacks = [
        LoggingCallback(config.logging, logger),
        ValidationCallback(config.validation.every_n_steps, logger, OUTPUT / "best.pt"),
        CheckpointCallback(config.checkpoint.every_n_steps, OUTPUT / "checkpoints"),
    ]
    experiment = Experiment(config, args.seed, callbacks)
    if args.resume:
        kept = sorted((OUTPUT / "checkpoints").glob("step=*.pt"))
        experiment.load_state_dict(torch.load(kept[-1] if args.resume == "latest" else args.resume))
    experiment.fit()


if __name__ == "__main__":
    main()
