"""python train.py --config configs/default.yaml [--resume lightning_logs/.../last.ckpt]"""
from typing import Optional

import torch
from lightning.pytorch.cli import LightningCLI

from cells.data import CellDataModule
from cells.model import SegmentationTask


class CellCLI(LightningCLI):
    def add_arguments_to_parser(self, parser):
        parser.add_argument("--resume", type=Optional[str], default=None, help="checkpoint to go on from")

    def before_instantiate_classes(self):
        torch.set_float32_matmul_precision("high")


def main():
    cli = CellCLI(SegmentationTask, CellDataModule, run=False, save_config_callback=None)
    cli.trainer.fit(cli.model, datamodule=cli.datamodule, ckpt_path=cli.config.resume)


if __name__ == "__main__":
    main()
