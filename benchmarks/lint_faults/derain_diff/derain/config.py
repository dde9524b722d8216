from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml


@dataclass(frozen=True)
class DataConfig:
    train_images: int
    val_images: int
    size: int
    batch_size: int


@dataclass(frozen=True)
class ModelConfig:
    width: int
    heads: int


@dataclass(frozen=True)
class DiffusionConfig:
    timesteps: int
    sample_steps: int


@dataclass(frozen=True)
class TrainConfig:
    epochs: int
    lr: float
    weight_decay: float
    grad_clip: float
    edge_weight: float
    ema_decay: float
    amp: bool
    plateau_patience: int
    stop_lr: float
    out: str


@dataclass(frozen=True)
class Config:
    data: DataConfig
    model: ModelConfig
    diffusion: DiffusionConfig
    train: TrainConfig

    @classmethod
    def load(cls, path: str | Path) -> Config:
        raw = yaml.safe_load(Path(path).read_text())
        return cls(DataConfig(**raw["data"]), ModelConfig(**raw["model"]), DiffusionConfig(**raw["diffusion"]), TrainConfig(**raw["train"]))
