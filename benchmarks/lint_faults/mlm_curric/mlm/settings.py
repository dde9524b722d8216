"""Typed settings: a TOML file, then `--set section.key=value`."""
from __future__ import annotations

import dataclasses
import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass
class ModelSettings:
    vocab: int
    dim: int
    heads: int
    layers: int
    dropout: float


@dataclass
class DataSettings:
    batch_size: int
    max_length: int
    eval_batches: int


@dataclass
class CurriculumSettings:
    start_length: int
    start_ratio: float
    end_ratio: float
    ramp_steps: int


@dataclass
class OptimSettings:
    lr: float
    weight_decay: float
    warmup_steps: int
    total_steps: int
    accumulate: int
    clip: float
    precision: str


@dataclass
class ReportSettings:
    log_every: int
    eval_every: int


@dataclass
class Settings:
    seed: int
    workdir: str
    model: ModelSettings
    data: DataSettings
    curriculum: CurriculumSettings
    optim: OptimSettings
    report: ReportSettings

    @classmethod
    def load(cls, path: str | Path) -> Settings:
        raw = tomllib.loads(Path(path).read_text())
        sections = {
            "model": ModelSettings, "data": DataSettings, "curriculum": CurriculumSettings,
            "optim": OptimSettings, "report": ReportSettings,
        }
        return cls(**{k: sections[k](**v) if k in sections else v for k, v in raw.items()})

    def override(self, items: list[str]) -> Settings:
        for item in items:
            path, value = item.split("=", 1)
            section, key = path.split(".")
            part = getattr(self, section)
            kinds = {f.name: type(getattr(part, f.name)) for f in dataclasses.fields(part)}
            setattr(part, key, kinds[key](value))
        return self
