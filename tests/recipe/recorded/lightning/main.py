# ruff: noqa
import torch
from lightning.pytorch import LightningDataModule, LightningModule
from lightning.pytorch.cli import LightningCLI


class Net(LightningModule):
    def __init__(self, width: int = 64, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999)):
        super().__init__()


class Data(LightningDataModule):
    def __init__(self, batch_size: int = 32, root: str = "data"):
        super().__init__()


if __name__ == "__main__":
    LightningCLI(LightningModule, LightningDataModule, subclass_mode_model=True, subclass_mode_data=True)
