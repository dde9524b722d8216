"""Experiment configuration with command-line overrides."""
import argparse
from dataclasses import dataclass, fields


@dataclass
class Config:
    # data
    num_train: int = 48
    num_val: int = 12
    image_size: int = 32
    burst_size: int = 4
    batch_size: int = 8
    num_workers: int = 0
    # noise curriculum (standard deviation on images in [0, 1])
    sigma_start: float = 0.05
    sigma_end: float = 0.15
    curriculum_epochs: int = 2
    val_sigma: float = 0.15
    # model
    width: int = 16
    depth: int = 3
    # loss weights
    w_pixel: float = 1.0
    w_ssim: float = 0.2
    w_freq: float = 0.1
    # optimisation
    epochs: int = 3
    lr: float = 2e-3
    weight_decay: float = 1e-4
    warmup_steps: int = 4
    grad_clip: float = 1.0
    amp: bool = True
    ema_decay: float = 0.999
    # bookkeeping
    seed: int = 7
    log_every: int = 3
    out_dir: str = "runs/burst"
    resume: str = ""


def _bool(text: str) -> bool:
    return text.lower() in ("1", "true", "yes", "on")


def parse_config() -> Config:
    parser = argparse.ArgumentParser(description="Burst image restoration")
    for f in fields(Config):
        kind = _bool if f.type is bool or f.type == "bool" else type(f.default)
        parser.add_argument(f"--{f.name}", type=kind, default=f.default)
    return Config(**vars(parser.parse_args()))
