"""The settings: a YAML file whose sections are read as attributes."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml


def load_config(file: Path) -> SimpleNamespace:
    """Read `file`; `cfg.optim.lr` is the key `lr` of its section `optim`."""
    with file.open(encoding="utf-8") as stream:
        tree = _attributes(yaml.safe_load(stream))
    assert isinstance(tree, SimpleNamespace)
    return tree


def _attributes(tree: Any) -> Any:
    if isinstance(tree, dict):
        return SimpleNamespace(**{key: _attributes(value) for key, value in tree.items()})
    return tree
