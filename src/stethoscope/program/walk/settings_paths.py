"""How a part of a settings object is found in the settings: by the name that holds them and the keys."""

from __future__ import annotations

from stethoscope.program.settings.settings_tree import HOLDERS, PARSED
from stethoscope.program.walk.values import NOTHING, Applied, Constant, Instance, Leaf, Part, Settings, Value

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

# What puts several settings together, those of a file among them.
SETTINGS_MERGERS = frozenset(
    {"omegaconf.OmegaConf.merge", "omegaconf.OmegaConf.unsafe_merge", "hydra.compose"}
)

# Flags of absl whose `.value` is a whole file of settings.
CONFIG_FLAGS = ("config_flags.DEFINE_config_file", "config_flags.DEFINE_config_dict")

# What reads a command line.
PARSING = frozenset({"parse_args", "parse_intermixed_args"})

# What holds the settings it is given, under their own names.
BAGS = frozenset(
    {"SimpleNamespace", "Namespace", "EasyDict", "edict", "Munch", "munchify", "DotMap", "Box", "AttrDict"}
    | {"DictConfig", "ConfigDict", "dict", "deepcopy", "copy", "create"}
)
MOST_WRAPPERS = 12  # one around the other
STORED = 3  # the container, the key and the value of a store


def settings_path(part: Part) -> tuple[str, tuple[str | int, ...]]:
    """The name that holds the settings, and the keys behind it: `self.opt.train.lr` is opt and train, lr."""
    keys: list[str | int] = []
    value: Value = part
    while isinstance(value, Part):
        if isinstance(value.key, str) and value.key.lower() in HOLDERS and keys:
            return value.key, tuple(reversed(keys))
        keys.append(value.key)
        value = _held(value.base, value.key)
    if isinstance(value, Applied) and value.callee in SETTINGS_READERS | SETTINGS_MERGERS:
        return "config", tuple(reversed(keys))
    if isinstance(value, Applied) and value.callee.endswith(CONFIG_FLAGS) and keys[-1:] == ["value"]:
        return "config", tuple(reversed(keys[:-1]))
    if isinstance(value, Applied) and value.callee.rpartition(".")[2] in PARSING:
        return PARSED, tuple(reversed(keys))
    return value.name if isinstance(value, Leaf) else "", tuple(reversed(keys))


def is_whole(value: Value, key: str) -> bool:
    """Whether a value is all that a file of settings holds: what it has no key for is not there."""
    held = _held(value, key)
    return isinstance(held, Applied) and held.callee in SETTINGS_READERS


def _held(value: Value, key: str | int) -> Value:
    """The settings that an object holds: `SimpleNamespace(**loaded)`, or `loaded` after one typed key.

    What was stored under the key that is asked for is known to the walk; stored under a key that somebody
    types, it may be anything, and is what the file says where nobody does.
    """
    for _ in range(MOST_WRAPPERS):
        if not isinstance(value, Applied):
            break
        if value.callee == "[]=" and len(value.args) == STORED:
            stored = value.args[1]
            if isinstance(stored, Constant) and stored.value == key:
                break
            value = value.args[0]
        elif value.callee.rpartition(".")[2] in BAGS and len(value.args) <= 1:
            inside = value.keywords.get("**") or (value.args[0] if value.args else None)
            if inside is None or key in value.keywords:
                break
            value = inside
        else:
            break
    return value


def told_to_module(base: Value, key: str | int) -> Value | None:
    """What Lightning's `self.hparams` has under a key where the module is made with it."""
    match base:
        case Part(base=Instance(made_with=given), key="hparams") if isinstance(given.get(str(key)), Constant):
            return given[str(key)]
    return None


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
