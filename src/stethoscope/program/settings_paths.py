"""How a part of a settings object is found in the settings: by the name that holds them and the keys."""

from __future__ import annotations

from stethoscope.program.settings_tree import HOLDERS
from stethoscope.program.values import NOTHING, Applied, Constant, Leaf, Part, Settings, Value

# What reads a file of settings, whatever the result is called.
SETTINGS_READERS = frozenset(
    {
        "runpy.run_path",
        "json.load",
        "json.loads",
        "yaml.safe_load",
        "yaml.load",
        "yaml.full_load",
        "yaml.unsafe_load",
        "tomllib.load",
        "tomllib.loads",
        "toml.load",
        "tomli.load",
        "omegaconf.OmegaConf.load",
        "mmengine.Config.fromfile",
        "mmengine.config.Config.fromfile",
        "mmcv.Config.fromfile",
    }
)


def settings_path(part: Part) -> tuple[str, tuple[str | int, ...]]:
    """The name that holds the settings, and the keys behind it: `self.opt.train.lr` is opt and train, lr."""
    keys: list[str | int] = []
    value: Value = part
    while isinstance(value, Part):
        if isinstance(value.key, str) and value.key.lower() in HOLDERS and keys:
            return value.key, tuple(reversed(keys))
        keys.append(value.key)
        value = value.base
    if isinstance(value, Applied) and value.callee in SETTINGS_READERS:
        return "config", tuple(reversed(keys))
    return value.name if isinstance(value, Leaf) else "", tuple(reversed(keys))


def settings_part(base: Settings, key: str | int) -> Value:
    """What a section of settings has under a key; None where it lacks the key."""
    tree = base.tree
    if isinstance(tree, dict) and isinstance(key, str):
        return setting((*base.key, key), tree[key]) if key in tree else NOTHING
    if isinstance(tree, list) and isinstance(key, int) and -len(tree) <= key < len(tree):
        return setting((*base.key, key), tree[key])
    return Leaf(str(key))


def setting(key: tuple[str | int, ...], value: object) -> Value:
    """A setting as a value: a section, or a constant that knows its key."""
    if isinstance(value, dict | list):
        return Settings(key, value)
    return Constant(value, ".".join(map(str, key)))
