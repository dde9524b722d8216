import sys
import tomllib
from dataclasses import dataclass, field, fields


@dataclass
class Job:
    description: str = ""
    dump_folder: str = "outputs"


@dataclass
class Model:
    vocab: int = 64
    dim: int = 32
    layers: int = 2
    heads: int = 2


@dataclass
class Optimizer:
    lr: float = 3e-3
    weight_decay: float = 0.1
    eps: float = 1e-8


@dataclass
class LRScheduler:
    warmup_steps: int = 4
    min_lr_factor: float = 0.1


@dataclass
class Training:
    steps: int = 24
    seq_len: int = 48
    local_batch_size: int = 4
    global_batch_size: int = 8
    max_norm: float = 1.0
    z_loss: float = 1e-4
    mixed_precision_param: str = "bfloat16"
    time_limit_minutes: float = 30.0
    seed: int = 6


@dataclass
class Validation:
    freq: int = 8
    docs: int = 16


@dataclass
class Checkpoint:
    interval: int = 8
    load_path: str = ""


@dataclass
class Metrics:
    log_freq: int = 4


@dataclass
class JobConfig:
    job: Job = field(default_factory=Job)
    model: Model = field(default_factory=Model)
    optimizer: Optimizer = field(default_factory=Optimizer)
    lr_scheduler: LRScheduler = field(default_factory=LRScheduler)
    training: Training = field(default_factory=Training)
    validation: Validation = field(default_factory=Validation)
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    metrics: Metrics = field(default_factory=Metrics)

    def assign(self, section, key, value):
        part = getattr(self, section)
        kinds = {f.name: f.type for f in fields(part)}
        if key not in kinds:
            raise KeyError(f"{section}.{key} is not a setting")
        setattr(part, key, kinds[key](value))


def parse(argv=None) -> JobConfig:
    """Defaults, then the file given by --config, then --section.key value."""
    argv = list(sys.argv[1:] if argv is None else argv)
    config = JobConfig()
    pairs = dict(zip(argv[::2], argv[1::2]))
    if "--config" in pairs:
        with open(pairs.pop("--config"), "rb") as f:
            for section, values in tomllib.load(f).items():
                for key, value in values.items():
                    config.assign(section, key, value)
    for name, value in pairs.items():
        section, key = name.removeprefix("--").split(".")
        config.assign(section, key, value)
    return config
