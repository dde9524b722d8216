"""The settings of an experiment, one section each."""

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

import yaml


@dataclass
class Data:
    batch_size: int = 24
    shuffle: bool = True
    limit: int = 0  # use only so many sequences, 0 for all
    short_until: float = 0.0  # share of the run that sees short sequences only


@dataclass
class Network:
    width: int = 32
    depth: int = 2
    heads: int = 4
    dropout: float = 0.0
    norm_first: bool = True


@dataclass
class Noise:
    low: float = 0.05
    high: float = 0.95
    one_level_per_batch: bool = False


@dataclass
class Curriculum:
    shape: str = "linear"  # linear, cosine, exponential or none
    start: float = 0.3
    ramp: float = 0.4  # share of the run until it is as hard as it gets
    drop_easy: float = 0.0  # how much of the easy levels is left behind


@dataclass
class Objective:
    weighting: str = "flat"  # flat or elbo
    b_factor_weight: float = 0.05


@dataclass
class Optim:
    peak_lr: float = 0.006
    beta2: float = 0.98
    eps: float = 1e-8
    weight_decay: float = 0.01
    warmup_steps: int = 20
    schedule: str = "cosine"  # cosine, linear, constant or cycles
    horizon: int = 300  # optimizer steps until the rate is at its lowest
    cycles: int = 3
    grad_clip: float = 1.0  # 0 for none


@dataclass
class Trainer:
    max_steps: int = 300
    accumulate: int = 1
    precision: str = "fp32"  # fp32 or bf16
    ema_decay: float = 0.0


@dataclass
class Logging:
    format: str = "csv"  # csv, jsonl, tensorboard, text or bar
    every_n_steps: int = 10
    learning_rate: bool = True
    grad_norm: bool = True
    difficulty: bool = True
    loss_parts: bool = True
    step_time: bool = False


@dataclass
class Every:
    every_n_steps: int = 30


@dataclass
class Config:
    data: Data = field(default_factory=Data)
    network: Network = field(default_factory=Network)
    noise: Noise = field(default_factory=Noise)
    curriculum: Curriculum = field(default_factory=Curriculum)
    objective: Objective = field(default_factory=Objective)
    optim: Optim = field(default_factory=Optim)
    trainer: Trainer = field(default_factory=Trainer)
    logging: Logging = field(default_factory=Logging)
    validation: Every = field(default_factory=Every)
    checkpoint: Every = field(default_factory=Every)

    @classmethod
    def from_yaml(cls, path):
        sections = yaml.safe_load(Path(path).read_text())
        return cls(**{one.name: one.default_factory(**sections.get(one.name, {})) for one in fields(cls)})

    def dump(self, path):
        Path(path).write_text(yaml.safe_dump(asdict(self), sort_keys=False))
