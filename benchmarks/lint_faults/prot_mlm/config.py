import argparse
import dataclasses
from dataclasses import dataclass, field


@dataclass
class ModelConfig:
    dim: int = 32
    heads: int = 4
    layers: int = 2
    dropout: float = 0.1
    max_len: int = 64


@dataclass
class TrainConfig:
    epochs: int = 3
    batch_size: int = 8
    lr: float = 2e-3
    weight_decay: float = 0.01
    warmup_ratio: float = 0.1
    max_grad_norm: float = 1.0
    mask_prob: float = 0.15
    patience: int = 3
    fp16: bool = True
    log_interval: int = 4
    seed: int = 11
    output_dir: str = "runs/prot"
    resume: str = ""
    model: ModelConfig = field(default_factory=ModelConfig)


def from_args() -> TrainConfig:
    parser = argparse.ArgumentParser("protein masked language modelling")
    cfg = TrainConfig()
    for f in dataclasses.fields(TrainConfig):
        if f.name == "model":
            continue
        value = getattr(cfg, f.name)
        if isinstance(value, bool):
            parser.add_argument(f"--{f.name}", action=argparse.BooleanOptionalAction, default=value)
        else:
            parser.add_argument(f"--{f.name}", type=type(value), default=value)
    for f in dataclasses.fields(ModelConfig):
        parser.add_argument(f"--model.{f.name}", type=type(f.default), default=f.default, dest=f"model_{f.name}")
    for key, value in vars(parser.parse_args()).items():
        if key.startswith("model_"):
            setattr(cfg.model, key.removeprefix("model_"), value)
        else:
            setattr(cfg, key, value)
    return cfg
