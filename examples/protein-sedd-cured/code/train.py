"""Train a sequence model: python train.py --config configs/config_protein.yaml --work_dir results/protein"""

# mypy: disable-error-code="import-not-found"

import argparse
import shutil
from pathlib import Path

import torch
from sedd.config import load_config
from sedd.trainer import ProteinTrainer


def main() -> None:
    """Parse the command line, then train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--work_dir", type=Path, required=True)
    parser.add_argument("--resume", type=Path, help="a checkpoint to go on from")
    arguments = parser.parse_args()

    cfg = load_config(arguments.config)
    arguments.work_dir.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(arguments.config, arguments.work_dir / "config.yaml")
    torch.set_num_threads(1)
    torch.manual_seed(cfg.seed)
    trainer = ProteinTrainer(cfg, arguments.work_dir)
    if arguments.resume:
        trainer.resume(arguments.resume)
    trainer.train()


if __name__ == "__main__":
    main()
