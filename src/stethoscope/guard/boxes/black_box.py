"""A folder that holds one bad step, so that it can be repeated elsewhere.

    blackbox-step000120[-rank1]/
        box.json                  what happened, the call, the surroundings, the last observations
        batch.safetensors         the arguments of the call and the batch
        random.safetensors        the states of the random number generators
        buffers.safetensors       of the model
        parameters.safetensors    of the model
        optimizer.safetensors     its state

Nothing in it is code, and nothing is pickled. It is written beside its place, and moved there when it is
whole.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import stat
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from stethoscope.errors import UnreadableFile, UnwritableFile
from stethoscope.guard.boxes import tensor_file
from stethoscope.guard.boxes.box_values import DTYPES, Shelf, decode, encode
from stethoscope.guard.boxes.environment import environment
from stethoscope.guard.culprit.culprit import Culprit, GradientSize, ids_as_text
from stethoscope.guard.culprit.recall import Autocast, Randomness, RememberedCall, unwrapped
from stethoscope.guard.culprit.repeating import clean_name, dtype_name
from stethoscope.guard.observation import Observation
from stethoscope.guard.policy import BOX_BYTES

SCHEMA = 1
STORY = "box.json"
# In the order of their worth: what does not fit under the cap is left out from the end.
SHELVES = ("random", "batch", "buffers", "parameters", "optimizer")
STORY_BYTES = 64 << 20  # more is no box.json of ours
SPARE_BYTES = 64 << 20  # free space that is left to the training's own files
MOST_TWINS = 1000  # boxes of the same step


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A file that stands in for parameters that were too large to keep."""

    path: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class BlackBox:
    """A bad step as it was written down. What is None, or listed in `left_out`, was not kept.

    `exact` says whether the parameters are those that the step began with. `told` is all of box.json.
    """

    path: Path
    step: int
    rank: int | None
    call: RememberedCall | None
    parameters: Mapping[str, Tensor] | None
    buffers: Mapping[str, Tensor] | None
    persistent: frozenset[str]
    other_mode: frozenset[str]
    sharded: bool
    optimizers: tuple[Any, ...] | None
    loss_scale: float | None
    parameters_from_step: int | None
    exact: bool
    checkpoint: Checkpoint | None
    left_out: tuple[str, ...]
    culprit: Mapping[str, Any]
    told: Mapping[str, Any] = field(repr=False)


def write(
    directory: str | os.PathLike[str],
    step: int,
    *,
    model: nn.Module | None = None,
    optimizers: Sequence[torch.optim.Optimizer] = (),
    call: RememberedCall | None = None,
    culprit: Culprit | None = None,
    gradients: Sequence[GradientSize] = (),
    observations: Sequence[Observation] = (),
    loss_scale: float | None = None,
    samples: Sequence[object] | Tensor | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    rank: int | None = None,
    parameters_from_step: int | None = None,
    exact: bool = True,
    most_bytes: int = BOX_BYTES,
) -> Path:
    """Write the black box of a step below `directory`, whole or not at all, and give its folder.

    Raises UnwritableFile where the disk refuses or is nearly full. Parameters and optimizer state that do not
    fit under `most_bytes` are left out; a `checkpoint` then stands in for them by path and hash.
    """
    shelves = {name: Shelf() for name in SHELVES}
    story: dict[str, Any] = {
        "schema": SCHEMA,
        "step": step,
        "rank": rank,
        "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "parameters_from_step": step if exact and parameters_from_step is None else parameters_from_step,
        "exact": exact,
        "loss_scale": loss_scale,
        "call": _call(call, shelves),
        **_model(model, shelves),
        "optimizers": [
            encode(one.state_dict(), f"optimizer{number}", shelves["optimizer"])
            for number, one in enumerate(optimizers)
        ],
        "samples": None if samples is None else list(ids_as_text(samples)),
        "culprit": None if culprit is None else {"text": culprit.text(), **culprit.facts()},
        "gradients": [asdict(one) for one in gradients],
        "observations": [asdict(one) for one in observations],
        "environment": environment(),
    }
    _leave_out(story, shelves, most_bytes)
    with_name = f"blackbox-step{step:06d}" + ("" if rank is None else f"-rank{rank}")
    return _written(Path(directory), with_name, story, shelves, checkpoint)


def read(path: str | os.PathLike[str], device: str = "cpu") -> BlackBox:
    """Read a black box that anybody may have written; raises UnreadableFile for whatever is wrong with it.

    Tensors that were where the model was are put on `device`.
    """
    folder = Path(path)
    try:
        return _read(folder, torch.device(device))
    except UnreadableFile as problem:
        raise UnreadableFile(f"{folder} is no black box that can be read: {problem}") from problem
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, RuntimeError) as problem:
        reason = f"{type(problem).__name__}: {problem}"
        raise UnreadableFile(f"{folder} is no black box that can be read: {reason}.") from problem


def sha256(path: str | os.PathLike[str]) -> str:
    """The hash of a file's bytes."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def home_of(model: nn.Module) -> str:
    """The type of device that a model is on."""
    first = next(iter(model.parameters()), None)
    return "cpu" if first is None else first.device.type


# --- writing


def _call(call: RememberedCall | None, shelves: Mapping[str, Shelf]) -> dict[str, Any] | None:
    if call is None:
        return None
    batch = shelves["batch"]
    states = {"cpu": call.randomness.cpu, "cuda": dict(call.randomness.cuda)}
    return {
        "module": clean_name(call.module),
        "training": call.training,
        "autocast": [
            {"device_type": one.device_type, "dtype": dtype_name(one.dtype)} for one in call.autocast
        ],
        "args": encode(call.args, "args", batch),
        "kwargs": encode(dict(call.kwargs), "kwargs", batch),
        "batch": encode(call.batch, "batch", batch),
        "changed": call.changed,
        "random": encode(states, "random", shelves["random"]),
    }


def _model(model: nn.Module | None, shelves: Mapping[str, Shelf]) -> dict[str, Any]:
    if model is None:
        return {
            "parameters": None,
            "buffers": None,
            "persistent": [],
            "other_mode": [],
            "home": "cpu",
            "sharded": False,
        }
    model = unwrapped(model)
    parameters = [(clean_name(name), one) for name, one in model.named_parameters(remove_duplicate=False)]
    buffers = [(clean_name(name), one) for name, one in model.named_buffers(remove_duplicate=False)]
    return {
        "parameters": {name: encode(one, name, shelves["parameters"]) for name, one in parameters},
        "buffers": {name: encode(one, name, shelves["buffers"]) for name, one in buffers},
        "persistent": sorted({name for name, _ in buffers} - _passing_buffers(model)),
        "other_mode": [
            clean_name(name) for name, part in model.named_modules() if part.training != model.training
        ],
        "home": home_of(model),
        "sharded": any(hasattr(one, "to_local") for _, one in parameters),
    }


def _passing_buffers(model: nn.Module) -> set[str]:
    """Buffers that no checkpoint holds; asking for the state_dict would wait for other ranks under FSDP."""
    return {
        clean_name(f"{name}.{buffer}".lstrip("."))
        for name, module in model.named_modules()
        for buffer in module._non_persistent_buffers_set
    }


def _leave_out(story: dict[str, Any], shelves: dict[str, Shelf], most_bytes: int) -> None:
    """Empty the shelves that do not fit, and say so in the story."""
    left_out = [name for shelf in shelves.values() for name in shelf.left_out]
    total = 0
    for name, shelf in shelves.items():
        if total + shelf.bytes <= most_bytes:
            total += shelf.bytes
            continue
        left_out.append(
            f"{name}: {_size(shelf.bytes)}, over the cap of {_size(most_bytes)} for the whole box"
        )
        shelf.tensors.clear()
        if name == "batch":
            story["call"].update(args=None, kwargs=None, batch=None)
        elif name == "random":
            story["call"]["random"] = None
        else:
            story["optimizers" if name == "optimizer" else name] = None
    story["left_out"] = left_out


def _written(
    directory: Path,
    name: str,
    story: dict[str, Any],
    shelves: Mapping[str, Shelf],
    checkpoint: str | os.PathLike[str] | None,
) -> Path:
    part = directory / f".{name}.{os.getpid()}.part"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _must_fit(directory, sum(shelf.bytes for shelf in shelves.values()))
        if checkpoint is not None and story["left_out"]:
            size = os.path.getsize(checkpoint)
            story["checkpoint"] = asdict(Checkpoint(os.fspath(checkpoint), sha256(checkpoint), size))
        part.mkdir()
        for shelf_name, shelf in shelves.items():
            if shelf.tensors:
                tensor_file.write(part / f"{shelf_name}.safetensors", list(shelf.tensors.items()))
        text = json.dumps(_plain(story), indent=1, allow_nan=False)
        with open(part / STORY, "x", encoding="utf-8") as stream:
            stream.write(text + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        return _moved(part, directory, name)
    except OSError as problem:
        reason = problem.strerror.lower() if problem.strerror else str(problem)
        step = story["step"]
        raise UnwritableFile(
            f"the black box of step {step} could not be written below {directory}: {reason}."
        ) from problem
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _must_fit(directory: Path, needed: int) -> None:
    free = shutil.disk_usage(directory).free
    if free < needed + SPARE_BYTES:
        raise OSError(f"it needs {_size(needed)}, and {_size(free)} are free, which the training may need")


def _moved(part: Path, directory: Path, name: str) -> Path:
    """Move the folder to its place; where a box of that step stands already, beside it."""
    for number in range(1, MOST_TWINS):
        target = directory / (name if number == 1 else f"{name}-{number}")
        try:
            # A folder takes the place of an empty one only, so that no box is ever overwritten.
            os.rename(part, target)
        except OSError:
            if os.path.lexists(target):
                continue
            raise
        return target
    raise OSError(f"{MOST_TWINS} black boxes of this step are there already")


def _plain(value: Any) -> Any:
    """The value as JSON has it: what is not a finite number becomes a word."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _size(number: int) -> str:
    return f"{number / (1 << 30):.2f} GiB" if number >= 1 << 30 else f"{number / (1 << 20):.1f} MiB"


# --- reading


def _read(folder: Path, device: torch.device) -> BlackBox:
    story = _story(folder)
    shelves = {name: _shelf(folder, name) for name in SHELVES}
    home = str(story["home"])

    def place(tensor: Tensor, on: str) -> Tensor:
        return tensor.to(device) if on == home else tensor

    def tensors(name: str) -> Mapping[str, Tensor] | None:
        nodes = story[name]
        return None if nodes is None else {key: _tensor(node, shelves[name]) for key, node in nodes.items()}

    optimizers = story["optimizers"]
    checkpoint = story.get("checkpoint")
    scale = story["loss_scale"]
    return BlackBox(
        path=folder,
        step=int(story["step"]),
        rank=None if story["rank"] is None else int(story["rank"]),
        call=_read_call(story, shelves, place),
        parameters=tensors("parameters"),
        buffers=tensors("buffers"),
        persistent=frozenset(map(str, story["persistent"])),
        other_mode=frozenset(map(str, story["other_mode"])),
        sharded=story["sharded"] is True,
        optimizers=None
        if optimizers is None
        else tuple(decode(node, shelves["optimizer"], place) for node in optimizers),
        loss_scale=None if scale is None else float(scale),
        parameters_from_step=story["parameters_from_step"],
        exact=story["exact"] is True,
        checkpoint=None if checkpoint is None else _checkpoint(checkpoint),
        left_out=tuple(str(one) for one in story["left_out"]),
        culprit=story["culprit"] if isinstance(story["culprit"], dict) else {},
        told=story,
    )


def _story(folder: Path) -> dict[str, Any]:
    path = folder / STORY
    if not folder.is_dir():
        raise UnreadableFile("it is no folder; give the folder that holds box.json.")
    if _regular_size(path) > STORY_BYTES:
        raise UnreadableFile(f"{STORY} is larger than {_size(STORY_BYTES)}.")
    story = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(story, dict) or story.get("schema") != SCHEMA:
        known = story.get("schema") if isinstance(story, dict) else None
        raise UnreadableFile(f"its schema is {known!r}, and this version of Stethoscope reads {SCHEMA}.")
    return story


def _shelf(folder: Path, name: str) -> Mapping[str, Tensor]:
    path = folder / f"{name}.safetensors"
    if not os.path.lexists(path):
        return {}
    _regular_size(path)
    return tensor_file.read(path)


def _regular_size(path: Path) -> int:
    """The size of a file that is one: a link could lead out of the folder, a pipe would never end."""
    try:
        found = os.lstat(path)
    except OSError as problem:
        raise UnreadableFile(f"{path.name}: {(problem.strerror or str(problem)).lower()}.") from problem
    if not stat.S_ISREG(found.st_mode):
        raise UnreadableFile(f"{path.name} is a link or a device, not a file.")
    return found.st_size


def _tensor(node: Any, tensors: Mapping[str, Tensor]) -> Tensor:
    value = decode(node, tensors, lambda tensor, on: tensor)
    if not isinstance(value, Tensor):
        raise UnreadableFile("a parameter or buffer in it is no tensor.")
    return value.detach()


def _read_call(story: Mapping[str, Any], shelves: Mapping[str, Mapping[str, Tensor]], place: Any) -> Any:
    call = story["call"]
    if call is None or call["args"] is None:
        return None
    random = {"cpu": torch.get_rng_state(), "cuda": {}}
    if call["random"] is not None:
        random = decode(call["random"], shelves["random"], lambda tensor, on: tensor)
    args, kwargs = (decode(call[key], shelves["batch"], place) for key in ("args", "kwargs"))
    return RememberedCall(
        step=int(story["step"]),
        module=str(call["module"]),
        args=tuple(args),
        kwargs={str(key): value for key, value in kwargs.items()},
        batch=decode(call["batch"], shelves["batch"], place),
        autocast=tuple(Autocast(str(one["device_type"]), DTYPES[one["dtype"]]) for one in call["autocast"]),
        randomness=_randomness(random),
        training=call["training"] is True,
        versions=(),
        held_bytes=0,
    )


def _randomness(states: Mapping[str, Any]) -> Randomness:
    cpu = states["cpu"]
    if not isinstance(cpu, Tensor) or cpu.dtype is not torch.uint8:
        raise UnreadableFile("the state of its random numbers is none.")
    return Randomness(cpu, {int(index): state for index, state in states["cuda"].items()})


def _checkpoint(told: Mapping[str, Any]) -> Checkpoint:
    return Checkpoint(str(told["path"]), str(told["sha256"]), int(told["size"]))
