"""Checkpoints on disk, known by name, folder and safetensors header. Nothing is unpickled."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path, PurePath

from stethoscope.run.checkpoint import Checkpoint, Holds
from stethoscope.run.folder import Entry

# Endings that only checkpoints have, and endings that data may have too.
SURE_ENDINGS = (".safetensors", ".pth", ".ckpt", ".state")
SHARED_ENDINGS = (".pt", ".bin", ".pkl", ".tar", ".h5", ".msgpack")
SEVERAL = 3
SAME_SIZE = 1.02  # the same tensors under the same names
MAX_HEADER_BYTES = 32 << 20  # a safetensors header of a model with 100,000 tensors is below 20 MB

_SPOKEN = re.compile(
    r"check-?point|ckpt|model|weights|snapshot|net_?[gd]?[_.\d]|network|generator|discriminator|\bema\b|state"
    r"|(?:^|[_.-])(?:best|last|latest|final|epoch|ep|step|iter|iteration|kimg|global_?step)",
    re.IGNORECASE,
)
# "last.bad.pt" is what Guard wrote beside a good checkpoint, because it is not finite.
_NOT_A_CHECKPOINT = re.compile(
    r"training_args|tokenizer|dataset|vocab|(?:^|[_.-])(?:train|val|test|data)[_.-]?\d*\.|\.bad\.\w+$", re.I
)
# Files of one stem and rising numbers, `q_500.pt` and `q_1000.pt`, are kept on the way; pieces of data are
# not.
_PIECES = re.compile(
    r"shard|part|chunk|piece|batch|sample|fold|split|embed|feat|cache|rank|worker|token|image|scan|clip|frame"
    r"|patch|graph|case|subject|patient",
    re.IGNORECASE,
)
# A count of steps, after the word that says so; else the last number of a name that is not a version.
_STEPS = re.compile(r"(?:global_?step|steps?|iters?|iterations?|it|updates?)[_=-]?(\d[\d_,]*)", re.IGNORECASE)
_BASICSR = re.compile(r"^net_?[a-z]+(?:_ema)?_(\d+)$", re.IGNORECASE)
_COUNT_FIRST = re.compile(r"(\d[\d_,]*)[_-]?(?:k?steps?|iters?|iterations?|its)\b", re.IGNORECASE)
_EPOCHS = re.compile(r"(?:epochs?|(?<![a-z])ep?)[_=-]?(\d+)", re.IGNORECASE)
# Unlabelled numbers below 100 are rather epochs, versions or sizes (resnet50).
_LAST_NUMBER = re.compile(r"(?:(?:^|[_=-])(\d{3,12})|[a-z](\d{4,12}))$", re.IGNORECASE)
_NOT_STEPS = re.compile(r"-of-\d+$|network-snapshot")  # a shard; StyleGAN counts thousands of images
_FOLDER = re.compile(r"^(?:checkpoint|ckpt|global_?step|step|iter)[_-]?(\d+)$", re.IGNORECASE)
# Files of a Hugging Face or DeepSpeed checkpoint folder that continue a training.
_CONTINUES = re.compile(r"optim|scheduler|scaler|rng_state|trainer_state|zero_pp_rank", re.IGNORECASE)


def checkpoints_in(files: Iterable[Entry], root: Path) -> tuple[Checkpoint, ...]:
    """The checkpoints among the files of a run, those of one checkpoint folder taken together."""
    folders: dict[PurePath, list[Entry]] = {}
    single: list[Checkpoint] = []
    files = tuple(files)
    numbered = _numbered(files)
    for entry in files:
        home = _checkpoint_folder(entry.path, root)
        if home is not None:
            folders.setdefault(home, []).append(entry)
        elif is_checkpoint(entry) or entry.path in numbered:
            single.append(_of_file(entry))
    grouped = [
        _of_folder(home, entries) for home, entries in folders.items() if any(map(_has_weights, entries))
    ]
    return tuple(sorted((*grouped, *single), key=lambda one: (one.step is None, one.step or 0, one.file)))


def is_checkpoint(entry: Entry) -> bool:
    """Whether a file's name says that it is a checkpoint."""
    name = entry.name.lower()
    if _NOT_A_CHECKPOINT.search(name):
        return False
    if name.endswith(SURE_ENDINGS):
        return True
    return name.endswith(SHARED_ENDINGS) and bool(
        _SPOKEN.search(name) or _SPOKEN.search(entry.path.parent.name)
    )


def _numbered(files: Iterable[Entry]) -> frozenset[Path]:
    """The files of torch that differ from one another in a number alone, and in nothing else of weight."""
    alike: dict[tuple[Path, str], list[Entry]] = {}
    for entry in files:
        name = entry.name.lower()
        if name.endswith(".pt") and not _NOT_A_CHECKPOINT.search(name) and not _PIECES.search(name):
            alike.setdefault((entry.path.parent, re.sub(r"\d+", "#", name)), []).append(entry)
    return frozenset(
        entry.path
        for (_, shape), entries in alike.items()
        if shape.count("#") == 1 and len(entries) >= SEVERAL and _are_of_one_size(entries)
        for entry in entries
    )


def _are_of_one_size(entries: list[Entry]) -> bool:
    sizes = [entry.size for entry in entries]
    return max(sizes) <= SAME_SIZE * min(sizes)


def in_checkpoint_folder(path: Path, root: Path) -> bool:
    """Whether a file is part of a folder such as `checkpoint-500`."""
    return _checkpoint_folder(path, root) is not None


def step_of(name: str) -> int | None:
    """The step a checkpoint's name gives, or None; an epoch is not a step."""
    stem = name.rsplit(".", 1)[0] if "." in name else name
    found = _BASICSR.match(stem) or _STEPS.search(stem) or _COUNT_FIRST.search(stem)
    if found is None and not _EPOCHS.search(stem) and not _NOT_STEPS.search(stem):
        found = _LAST_NUMBER.search(stem) or re.fullmatch(r"(\d+)", stem)
    return int(re.sub(r"\D", "", found[found.lastindex or 1])) if found else None


def epoch_of(name: str) -> int | None:
    """The epoch a checkpoint's name gives, or None."""
    found = _EPOCHS.search(name)
    return int(found[1]) if found else None


def by_epoch(checkpoints: tuple[Checkpoint, ...]) -> tuple[Checkpoint, ...]:
    """The checkpoints of a run whose steps are epochs."""
    return tuple(one if one.step is not None else replace(one, step=one.epoch) for one in checkpoints)


def _checkpoint_folder(path: Path, root: Path) -> PurePath | None:
    for parent in path.parents:
        if parent == root or root not in parent.parents:
            return None
        if _FOLDER.match(parent.name):
            return parent
    return None


def _has_weights(entry: Entry) -> bool:
    return entry.name.lower().endswith((*SURE_ENDINGS, *SHARED_ENDINGS, ".distcp"))


def _of_folder(home: PurePath, entries: list[Entry]) -> Checkpoint:
    first = entries[0]
    shown = first.file[: len(first.file) - len(str(first.path)) + len(str(home))]
    step = _FOLDER.match(home.name)
    weights = [entry for entry in entries if _has_weights(entry) and not _CONTINUES.search(entry.name)]
    continues = any(_CONTINUES.search(entry.name) for entry in entries)
    holds = Holds.EVERYTHING if continues and weights else Holds.WEIGHTS if weights else Holds.TRAINING_STATE
    notes = [f"{entry.name}: {note}" for entry in weights if (note := _damage(entry))]
    size = sum(entry.size for entry in entries)
    return Checkpoint(shown, int(step[1]) if step else None, holds, size, not notes, "; ".join(notes))


def _of_file(entry: Entry) -> Checkpoint:
    damage = _damage(entry)
    note = damage or (_tensors(entry) if entry.name.endswith(".safetensors") else "")
    return Checkpoint(
        entry.file, step_of(entry.name), _holds(entry), entry.size, not damage, note, epoch_of(entry.name)
    )


def _holds(entry: Entry) -> Holds:
    name, folder = entry.name.lower(), entry.path.parent.name.lower()
    if re.search(r"(?:^|[_.-])ema(?:[_.-]|$)", name):
        return Holds.EMA_WEIGHTS
    if name.endswith(".state") or "training_state" in folder or _CONTINUES.search(name):
        return Holds.TRAINING_STATE
    if name.endswith(".safetensors") or re.search(r"weights|model_?state|state_?dict", name):
        return Holds.WEIGHTS
    if re.match(r"net(work)?_?[gd]?_", name) or folder in {"models", "resume_models", "weights"}:
        return Holds.WEIGHTS
    # Lightning writes everything a resume needs into one .ckpt file.
    return Holds.EVERYTHING if name.endswith(".ckpt") else Holds.UNKNOWN


def _damage(entry: Entry) -> str:
    """Why a file cannot be loaded, as far as its size and header tell; empty where nothing is wrong."""
    if entry.size == 0:
        return "the file is empty"
    if not entry.name.endswith(".safetensors"):
        return ""
    try:
        header, data_bytes = _safetensors(entry)
    except (OSError, ValueError, RecursionError) as problem:
        return f"not a readable safetensors file: {problem}"
    needed = max((_end(tensor) for tensor in header.values()), default=0)
    if needed > data_bytes:
        return f"cut off: the header promises {needed:,} bytes of tensors, {data_bytes:,} are there"
    return ""


def _tensors(entry: Entry) -> str:
    header, _ = _safetensors(entry)
    count = sum(name != "__metadata__" for name in header)
    return f"{count:,} tensors"


def _safetensors(entry: Entry) -> tuple[dict[str, object], int]:
    """The header of a safetensors file, and the number of bytes behind it."""
    with entry.path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if length > min(MAX_HEADER_BYTES, max(entry.size - 8, 0)):
            raise ValueError(f"its header would be {length:,} bytes long, the file has {entry.size:,}")
        header = json.loads(stream.read(length))
    if not isinstance(header, dict):
        raise ValueError("its header is not an object")
    return header, entry.size - 8 - length


def _end(tensor: object) -> int:
    offsets = tensor.get("data_offsets") if isinstance(tensor, dict) else None
    if isinstance(offsets, list) and len(offsets) == 2 and isinstance(offsets[1], int):
        return offsets[1]
    return 0
