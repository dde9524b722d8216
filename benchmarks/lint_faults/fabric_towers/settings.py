from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, is_dataclass

import yaml


@dataclass
class Data:
    products: int = 256
    vocabulary: int = 64
    title_length: int = 12
    image_size: int = 16
    batch_size: int = 32


@dataclass
class Model:
    width: int = 64
    heads: int = 4
    temperature: float = 0.07


@dataclass
class Optim:
    lr: float = 5e-4
    weight_decay: float = 0.05
    warmup_steps: int = 100
    epochs: int = 10
    accumulate: int = 1
    clip: float = 1.0


@dataclass
class Run:
    precision: str = "bf16-mixed"
    devices: int = 1
    budget_minutes: float = 600.0
    folder: str = "checkpoints"
    resume: bool = False


@dataclass
class Config:
    seed: int = 0
    data: Data = field(default_factory=Data)
    model: Model = field(default_factory=Model)
    optim: Optim = field(default_factory=Optim)
    run: Run = field(default_factory=Run)


def _fill(default, given: dict):
    """A dataclass from its defaults and what a file gives of them."""
    known = {f.name: getattr(default, f.name) for f in fields(default)}
    if extra := set(given) - set(known):
        raise KeyError(f"unknown settings: {sorted(extra)}")
    nested = {k: _fill(v, given.get(k, {})) for k, v in known.items() if is_dataclass(v)}
    return type(default)(**{**known, **given, **nested})


def load(path: str, overrides: list[str]) -> Config:
    with open(path) as file:
        given = yaml.safe_load(file) or {}
    for item in overrides:
        key, value = item.split("=", 1)
        *sections, name = key.split(".")
        place = given
        for section in sections:
            place = place.setdefault(section, {})
        place[name] = yaml.safe_load(value)
    return _fill(Config(), given)


def describe(config: Config) -> str:
    return yaml.safe_dump(asdict(config), sort_keys=False)
