"""The checkpoints that the settings ask for, and whether they are on this disk."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from stethoscope.run import Run, Setting
from stethoscope.run.repository import repository_of
from stethoscope.signals.missing import Missing

# Keys whose value is a checkpoint to start from.
_ASKS = re.compile(
    r"^(?:resume|resume_state|resume_from|resume_from_checkpoint|resume_path|resume_checkpoint|resume_ckpt"
    r"|load_from|load_checkpoint|load_path|load_weights|init_checkpoint|init_ckpt|checkpoint_path|ckpt_path|ckpt"
    r"|checkpoint|restore_from|restore_path|pretrain_network_\w+|pretrained_path|pretrained_weights|pretrained_ckpt"
    r"|pretrain_path|weights_path|model_path|finetune_from|warm_start_from)$",
    re.IGNORECASE,
)
_ENDINGS = (
    ".pt",
    ".pth",
    ".ckpt",
    ".bin",
    ".safetensors",
    ".state",
    ".pkl",
    ".tar",
    ".h5",
    ".msgpack",
    ".npz",
)
_CHECKPOINT_FOLDER = re.compile(r"(?:checkpoint|ckpt|global_?step)[-_]?\d+/?$", re.IGNORECASE)
# Words that leave the choice to the program, addresses elsewhere, and values that are filled in later.
_NOT_A_PATH = re.compile(
    r"^(?:none|null|auto|latest|last|best|true|false|hf|imagenet|default)?$|://|\$\{|\{\{|\$[A-Z]", re.I
)


@dataclass(frozen=True, slots=True)
class AskedCheckpoint:
    """A checkpoint that a setting asks for: its path as written, and where it was looked for.

    `exists` is None where it cannot be known: a path of another machine.
    """

    setting: Setting
    path: str
    exists: bool | None
    looked_in: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckpointsAsked:
    """All checkpoints the settings ask for; none where they ask for none."""

    checkpoints: tuple[AskedCheckpoint, ...]
    has_run: bool = True  # something was logged or saved: what a run began with ought to be there


def measure(run: Run) -> CheckpointsAsked | Missing:
    """Look for every checkpoint that the settings ask for."""
    if run.recipe is None:
        return Missing(
            "no settings file was found with the run",
            log_this="copy the settings file into the run's folder, or name it by --config",
        )
    asked: dict[str, AskedCheckpoint] = {}
    for setting in run.recipe:
        path = _asked_path(setting)
        if path is not None and setting.dotted not in asked:
            asked[setting.dotted] = _looked_for(setting, path, run)
    return CheckpointsAsked(tuple(asked.values()), bool(run.logs or run.checkpoints))


def _asked_path(setting: Setting) -> str | None:
    """The path in a setting's value, where it asks for a checkpoint on disk."""
    value = setting.value
    if not isinstance(value, str) or not _ASKS.match(setting.leaf) or _NOT_A_PATH.search(value):
        return None
    looks_like_one = value.lower().endswith(_ENDINGS) or bool(_CHECKPOINT_FOLDER.search(value))
    return value if looks_like_one else None  # org/model is a name on a hub


def _looked_for(setting: Setting, path: str, run: Run) -> AskedCheckpoint:
    target = Path(path).expanduser()
    if target.is_absolute():
        # Without its folder this is the path of another machine, and says nothing here.
        exists = True if _is_there(target) else (False if _is_there(target.parent) else None)
        return AskedCheckpoint(setting, path, exists, (str(target.parent),))
    bases = _bases(setting, run)
    if any(_is_there(base / target) for base in bases):
        return AskedCheckpoint(setting, path, True)
    if _saved_by_this_run(target, run):
        return AskedCheckpoint(setting, path, True)
    # Where not even the first folder of the path is known, the run was made somewhere else.
    first = target.parts[0]
    known = len(target.parts) == 1 or any(_is_there(base / first) for base in bases)
    return AskedCheckpoint(setting, path, False if known else None, tuple(str(base) for base in bases))


def _bases(setting: Setting, run: Run) -> tuple[Path, ...]:
    """The folders a relative path may be meant from: the run, the settings file, the repository."""
    root = Path(run.path)
    folder = root if root.is_dir() else root.parent
    found = [folder, Path(setting.where.file).parent]
    if run.program is not None:
        found.append(Path(run.program.root))
    repository = repository_of(folder)
    if repository is not None:
        found.append(repository)
    return tuple(dict.fromkeys(found))


def _saved_by_this_run(target: Path, run: Run) -> bool:
    return any(Path(checkpoint.file).name == target.name for checkpoint in run.checkpoints)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
