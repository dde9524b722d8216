import argparse
from dataclasses import dataclass, fields


@dataclass
class Config:
    out: str = "pair_runs"
    resume: str = ""
    seed: int = 21
    # data
    train_pairs: int = 256
    val_pairs: int = 32
    workers: int = 0
    batch_size: int = 16
    # model
    dim: int = 32
    dropout: float = 0.1
    init_scale: float = 10.0
    max_scale: float = 50.0
    # optimisation
    epochs: int = 2
    lr: float = 2e-3
    weight_decay: float = 0.05
    warmup: int = 4
    clip: float = 1.0
    align_weight: float = 0.2
    fp16: bool = True
    patience: int = 3

    @classmethod
    def from_command_line(cls) -> "Config":
        parser = argparse.ArgumentParser()
        for f in fields(cls):
            if f.type is bool:
                parser.add_argument(f"--{f.name}", action=argparse.BooleanOptionalAction, default=f.default)
            else:
                parser.add_argument(f"--{f.name}", type=f.type, default=f.default)
        return cls(**vars(parser.parse_args()))
