"""YAML settings as nested namespaces, with key=value overrides."""
from types import SimpleNamespace

import yaml


def _wrap(node):
    if isinstance(node, dict):
        return SimpleNamespace(**{k: _wrap(v) for k, v in node.items()})
    return node


def load_settings(path, overrides=()):
    with open(path) as f:
        raw = yaml.safe_load(f)
    for item in overrides:
        dotted, value = item.split("=", 1)
        *parents, leaf = dotted.split(".")
        node = raw
        for key in parents:
            node = node[key]
        if leaf not in node:
            raise KeyError(f"unknown setting {dotted}")
        node[leaf] = yaml.safe_load(value)
    return _wrap(raw)
