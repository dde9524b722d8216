import argparse
import logging
from dataclasses import dataclass, field

import run_lib


@dataclass
class Optim:
    optimizer: str = "Adam"
    lr: float = 2e-4
    beta1: float = 0.9
    eps: float = 1e-8
    weight_decay: float = 0.0
    warmup: int = 5
    grad_clip: float = 1.0


@dataclass
class Training:
    batch_size: int = 64
    n_iters: int = 9
    log_freq: int = 3
    eval_freq: int = 4


@dataclass
class Model:
    hidden: int = 32
    ema_rate: float = 0.99


@dataclass
class Config:
    seed: int = 42
    optim: Optim = field(default_factory=Optim)
    training: Training = field(default_factory=Training)
    model: Model = field(default_factory=Model)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir", default="score_out")
    logging.basicConfig(level=logging.INFO)
    run_lib.train(Config(), parser.parse_args().workdir)
