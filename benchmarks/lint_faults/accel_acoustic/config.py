import argparse
from dataclasses import dataclass, fields


@dataclass
class Config:
    symbols: int = 40
    n_mels: int = 20
    dim: int = 32
    dropout: float = 0.1
    batch_size: int = 8
    epochs: int = 2
    lr: float = 2e-3
    warmup: int = 4
    grad_accum: int = 2
    max_grad_norm: float = 1.0
    dur_weight: float = 0.1
    patience: int = 5
    mixed_precision: str = "no"
    n_train: int = 64
    n_valid: int = 24
    workdir: str = "exp/acoustic"
    resume: bool = False


def from_cli(argv=None) -> Config:
    parser = argparse.ArgumentParser()
    for f in fields(Config):
        if f.type is bool or f.type == "bool":
            parser.add_argument(f"--{f.name}", action="store_true")
        else:
            parser.add_argument(f"--{f.name}", type=type(f.default), default=f.default)
    return Config(**vars(parser.parse_args(argv)))
