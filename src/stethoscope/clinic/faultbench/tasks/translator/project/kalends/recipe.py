"""A recipe is everything that can be asked of a run, read from TOML."""

from __future__ import annotations

import dataclasses
import tomllib
import typing
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Corpus:
    root: Path
    pairs_per_batch: int
    reshuffle: bool
    first_pairs: int
    short_epochs: int


@dataclass(frozen=True)
class Model:
    dim: int
    heads: int
    encoder_layers: int
    decoder_layers: int
    inner: int
    dropout: float
    norm: str


@dataclass(frozen=True)
class Criterion:
    smoothing: float
    translation: float
    manner: float


@dataclass(frozen=True)
class Optim:
    lr: float
    beta1: float
    beta2: float
    eps: float
    decay: float
    max_grad_norm: float


@dataclass(frozen=True)
class Anneal:
    shape: str
    warmup: int
    end: int
    waves: int


@dataclass(frozen=True)
class Run:
    updates: int
    micro_batches: int
    numerics: str
    shadow: float
    validate_each: int
    snapshot_each: int


@dataclass(frozen=True)
class Journal:
    sink: str
    each: int
    lr: bool
    gradient: bool
    terms: bool
    speed: bool


@dataclass(frozen=True)
class Recipe:
    corpus: Corpus
    model: Model
    criterion: Criterion
    optim: Optim
    anneal: Anneal
    run: Run
    journal: Journal

    @classmethod
    def read(cls, path: Path) -> Recipe:
        return build(cls, tomllib.loads(path.read_text(encoding="utf-8")))


def build(kind, told):
    """Fill a dataclass from a table, tables within it likewise; an unknown key is an error."""
    hints = typing.get_type_hints(kind)
    unknown = told.keys() - hints.keys()
    if unknown:
        raise ValueError(f"{kind.__name__} has no {', '.join(sorted(unknown))}")
    return kind(**{key: convert(hints[key], value) for key, value in told.items()})


def convert(hint, value):
    if dataclasses.is_dataclass(hint):
        return build(hint, value)
    return hint(value)
