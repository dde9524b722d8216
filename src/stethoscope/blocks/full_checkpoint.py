"""Saves and restores everything a training is made of, in files that are whole or not there at all.

## What it does
`FullCheckpoint(folder, model=..., optimizer=..., ...)` takes the parts of a training by name: whatever has
`state_dict` and `load_state_dict` (model, optimizer, scaler, schedule, EMA, curriculum, loss balancer,
sampler), and generators of random numbers (of torch, NumPy or Python's `random.Random`). The global random
numbers of Python, NumPy, torch and every GPU are saved without asking. `save(step)` writes
`step-00001000.pt`; `resume()` restores the last one and says in words what it restored, what was not in the
file, and what the file holds that nobody asked for.

A file is written beside its destination, flushed to the disk and moved into place in one step; only then is
the oldest beyond `keep` removed. A full disk or a kill leaves the checkpoints that were there. A file that
cannot be read is passed over for the one before it, with a word. Weights that are not finite are not saved
unless `even_if_not_finite=True`. Files hold tensors and plain values only and are read with
`weights_only=True`: nothing in them can run code.

With every part given, a training that is stopped and resumed is bit by bit the one that was not, as far as
the hardware's own operations are deterministic.

## The failure it prevents
- The deblurring system saved the model's weights and nothing else. At each resume Adam's moments begin at
  zero and the loss scale at 65,536, which may well be a part of the "crash and recovery cycles" that its
  author saw. In a small trial the lost moments cost 0.1 in the loss for 20 to 40 steps.
- The diffusion system parsed `--resume_checkpoint` and never used it, and its launcher looked for a file that
  was never written. `resume()` says what it did in words; print them.
- The super-resolution system saved every 20,000 iterations of 40,000; the advice to "go back to iteration
  1,000" had nothing to go back to. `keep` costs disk, not time.
- `torch.save` into the file that is there: a kill in the middle leaves half of one and nothing of the other.
- A ring of "the last three" after the weights turned NaN holds three times NaN.

## When not to use it
For weights that are spread over ranks use `torch.distributed.checkpoint`; tensors of that kind are refused.
In a data-parallel run each rank has its own random numbers: give each its own folder, such as
`FullCheckpoint(f"checkpoints/rank-{rank}", ...)`, or let rank 0 save and accept that dropout differs after a
resume. To hand a model on to others, save its weights alone.

## Example

    import torch
    from stethoscope.blocks import EMA, FullCheckpoint

    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.AdamW(model.parameters())
    checkpoint = FullCheckpoint("checkpoints", model=model, optimizer=optimizer, ema=EMA(model), keep=3)
    resumed = checkpoint.resume()
    print(resumed)
    for step in range(resumed.step, 20):
        model(torch.randn(4, 2)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if (step + 1) % 10 == 0:
            checkpoint.save(step + 1, best_loss=0.5)
    print(checkpoint.resume())

## References
- `torch.load`, on `weights_only`
- Micikevicius et al., Mixed Precision Training, 2018, on what the loss scale is for
"""

from __future__ import annotations

import os
import random
import re
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from stethoscope.blocks._unwrapped import plain_name, unwrapped
from stethoscope.errors import UnreadableFile, UnwritableFile

FORMAT = "stethoscope full checkpoint 1"
PART = ".part"  # what is being written
ABANDONED_AFTER_SECONDS = 3600.0  # without a byte: whoever wrote it was killed
MOST_NAMED = 5  # tensors in a message

_NAME = re.compile(r"step-(\d+)\.pt")
_ARRAY = "a numpy array"  # the key below which a tensor stands for an array
_PLAIN = (bool, int, float, complex, str, bytes, type(None), torch.Size, torch.dtype, torch.device)
_TENSORS = (Tensor, nn.Parameter, nn.Buffer) if hasattr(nn, "Buffer") else (Tensor, nn.Parameter)


@dataclass(frozen=True, slots=True)
class Resumed:
    """What `resume` did: the file, its step, and what became of each part.

    `missing` parts were not in the file and are as they were made; `unused` ones are in the file and nobody
    asked for them. `values` are what was saved with the step; `notes` say what else to know.
    """

    step: int = 0
    path: Path | None = None
    restored: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The same in words."""
        if self.path is None:
            return " ".join(["There is no checkpoint; training begins at step 0.", *self.notes])
        words = [f"Goes on at step {self.step} from {self.path}.", f"Restored: {', '.join(self.restored)}."]
        if self.missing:
            words.append(f"Not in the file, and so at its beginning: {', '.join(self.missing)}.")
        if self.unused:
            words.append(f"In the file, but not asked for: {', '.join(self.unused)}.")
        return " ".join([*words, *self.notes])


def random_state() -> dict[str, Any]:
    """The state of all global random numbers, as tensors and plain values."""
    legacy: Any = np.random.get_state(legacy=True)
    name, keys, position, has_gauss, gauss = legacy
    state = {
        "python": random.getstate(),
        "numpy": (name, torch.from_numpy(np.asarray(keys).astype(np.int64)), position, has_gauss, gauss),
        "torch": torch.get_rng_state(),
    }
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state_all()
    return state


def restore_random_state(state: Mapping[str, Any]) -> list[str]:
    """Set all global random numbers; gives a sentence for each kind that could not be set."""
    random.setstate(state["python"])
    name, keys, position, has_gauss, gauss = state["numpy"]
    np.random.set_state((name, keys.numpy().astype(np.uint32), position, has_gauss, gauss))
    torch.set_rng_state(state["torch"])
    saved = state.get("cuda", [])
    here = torch.cuda.device_count() if torch.cuda.is_available() else 0
    for device, one in enumerate(saved[:here]):
        torch.cuda.set_rng_state(one, device)
    if len(saved) != here:
        return [f"Random numbers of {len(saved)} GPUs were saved, and there are {here} here."]
    return []


def full_state(
    parts: Mapping[str, Any], *, step: int, values: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Everything that the parts of a training hold, as tensors and plain values, with all random numbers."""
    return {
        "format": FORMAT,
        "step": step,
        "parts": {name: _plain(_saved(part), name) for name, part in parts.items()},
        "random": random_state(),
        "values": _plain(dict(values or {}), "values"),
    }


def restore_full_state(parts: Mapping[str, Any], state: Mapping[str, Any]) -> Resumed:
    """Put a state back into the parts of a training, then into the random numbers."""
    saved = state["parts"]
    for name in [name for name in parts if name in saved]:
        try:
            _restore(parts[name], _lively(saved[name]))
        except Exception as problem:
            raise ValueError(f"{name} could not be restored: {problem}") from problem
    notes = restore_random_state(state["random"])
    return Resumed(
        step=state["step"],
        restored=(*(name for name in parts if name in saved), "random numbers"),
        missing=tuple(name for name in parts if name not in saved),
        unused=tuple(name for name in saved if name not in parts),
        values=_lively(state["values"]),
        notes=tuple(notes),
    )


def not_finite(state: Mapping[str, Any], parts: Mapping[str, Any]) -> list[str]:
    """The tensors of a state that hold NaN, or infinities that no buffer of a model holds on purpose."""
    buffers = tuple(
        f".{plain_name(name)}"
        for part in parts.values()
        if isinstance(part, nn.Module)
        for name, _ in unwrapped(part).named_buffers()
    )
    return [
        name
        for name, one in _tensors(state["parts"], "")
        if (one.is_floating_point() or one.is_complex())
        and not bool(one.isfinite().all())
        and (bool(one.isnan().any()) or not name.endswith(buffers or ("\0",)))
    ]


def write_whole(state: Any, path: Path) -> None:
    """Write a state to a file that is whole or not there; what was there stays until the very end."""
    part = path.with_name(f".{path.name}.{os.getpid()}{PART}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        _flush_folder(path.parent)
    except Exception as problem:  # torch wraps a full disk into errors of its own
        with suppress(OSError):
            part.unlink()
        raise UnwritableFile(f"{path}: {_reason(problem)}; the checkpoints that were there are") from problem


class FullCheckpoint:
    """The checkpoints of a training in a folder, made of all its parts."""

    def __init__(self, folder: str | Path, *, keep: int = 3, **parts: Any) -> None:
        if keep < 1:
            raise ValueError(f"keep is {keep}; at least one checkpoint must stay")
        for name, part in parts.items():
            _check_part(name, part)
        self.folder, self.keep, self.parts = Path(folder), keep, parts

    def save(self, step: int, *, even_if_not_finite: bool = False, **values: Any) -> Path:
        """Write the checkpoint of a step, with plain values that belong to it, and remove the oldest."""
        state = full_state(self.parts, step=step, values=values)
        path = self.folder / f"step-{step:08d}.pt"
        bad = [] if even_if_not_finite else not_finite(state, self.parts)
        if bad:
            raise FloatingPointError(_refusal(bad, path, self.files()))
        write_whole(state, path)
        self._tidy()
        return path

    def files(self) -> list[Path]:
        """The checkpoints in the folder, the one written last at the end."""
        found = [path for path in self.folder.glob("step-*.pt") if _NAME.fullmatch(path.name)]
        # By time and not by step: after going back, a lower step may be the last one written.
        return sorted(found, key=lambda path: (path.stat().st_mtime_ns, _step_of(path)))

    def resume(self, path: str | Path | None = None) -> Resumed:
        """Restore a checkpoint, the last one that can be read unless told otherwise; print what it says."""
        notes = []
        candidates = [Path(path)] if path is not None else self.files()[::-1]
        for candidate in candidates:
            try:
                state = _read(candidate)
            except UnreadableFile as problem:
                notes.append(f"Passed over {problem}.")
                continue
            done = restore_full_state(self.parts, state)
            return _with(done, candidate, notes)
        if candidates:
            raise UnreadableFile(" ".join(["no checkpoint could be read.", *notes]))
        return Resumed(missing=tuple(self.parts))

    def _tidy(self) -> None:
        for path in self.files()[: -self.keep]:
            with suppress(OSError):
                path.unlink()
        for part in self.folder.glob(f".step-*{PART}"):
            with suppress(OSError):
                if time.time() - part.stat().st_mtime > ABANDONED_AFTER_SECONDS:
                    part.unlink()


def _check_part(name: str, part: Any) -> None:
    is_stateful = hasattr(part, "state_dict") and hasattr(part, "load_state_dict")
    if not is_stateful and not isinstance(part, torch.Generator | np.random.Generator | random.Random):
        raise TypeError(
            f"{name} is of type {type(part).__name__}, which has no state_dict and load_state_dict; "
            "give plain values to save(), and restore them from what resume() gives"
        )


def _saved(part: Any) -> Any:
    """What a part holds; a model's names are those it has without wrappers."""
    if isinstance(part, nn.Module):
        return {plain_name(name): one for name, one in unwrapped(part).state_dict().items()}
    if isinstance(part, torch.Generator):
        return part.get_state()
    if isinstance(part, np.random.Generator):
        return part.bit_generator.state
    if isinstance(part, random.Random):
        return part.getstate()
    return part.state_dict()


def _restore(part: Any, state: Any) -> None:
    if isinstance(part, nn.Module):
        model = unwrapped(part)
        names = {plain_name(name): name for name in model.state_dict()}
        model.load_state_dict({names.get(name, name): one for name, one in state.items()})
    elif isinstance(part, torch.Generator):
        part.set_state(state)
    elif isinstance(part, np.random.Generator):
        part.bit_generator.state = state
    elif isinstance(part, random.Random):
        part.setstate(state)
    else:
        part.load_state_dict(state)


def _plain(value: Any, name: str) -> Any:
    """A state as tensors and plain values, which a file can hold without the code that made them."""
    if type(value) in _TENSORS:
        return value.detach()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return {_ARRAY: torch.from_numpy(value.copy())}
    if type(value) in (dict, OrderedDict, Counter):
        return type(value)({key: _plain(one, f"{name}.{key}") for key, one in value.items()})
    if isinstance(value, Mapping):  # such as a defaultdict, whose factory is code
        return {key: _plain(one, f"{name}.{key}") for key, one in value.items()}
    if type(value) in (list, tuple, set):
        return type(value)(_plain(one, f"{name}.{place}") for place, one in enumerate(value))
    if type(value) in _PLAIN:
        return value
    raise TypeError(
        f"{name} is of type {type(value).__name__}; a checkpoint holds tensors, numbers, texts and "
        "lists, tuples and dicts of them"
    )


def _lively(value: Any) -> Any:
    """A plain state as it was, with its arrays."""
    if isinstance(value, dict) and value.keys() == {_ARRAY}:
        return value[_ARRAY].numpy()
    if type(value) in (dict, OrderedDict, Counter):
        return type(value)({key: _lively(one) for key, one in value.items()})
    if type(value) in (list, tuple):
        return type(value)(_lively(one) for one in value)
    return value


def _tensors(value: Any, name: str) -> Iterator[tuple[str, Tensor]]:
    if isinstance(value, Tensor):
        yield name.removeprefix("."), value
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from _tensors(one, f"{name}.{key}")
    elif isinstance(value, list | tuple):
        for place, one in enumerate(value):
            yield from _tensors(one, f"{name}.{place}")


def _refusal(bad: list[str], path: Path, there: list[Path]) -> str:
    names = ", ".join(bad[:MOST_NAMED]) + (
        f" and {len(bad) - MOST_NAMED} more" if len(bad) > MOST_NAMED else ""
    )
    last = f"the last checkpoint is {there[-1]}" if there else "there is no earlier checkpoint"
    return (
        f"{path} was not written, as a run that goes on from it is lost: not finite are {names}; {last}. "
        "To write it all the same, pass even_if_not_finite=True."
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as problem:  # what a broken file makes of the reader has many names
        raise UnreadableFile(f"{path}: {_reason(problem)}") from problem
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise UnreadableFile(f"{path}: it is no full checkpoint")
    return state


def _with(done: Resumed, path: Path, notes: list[str]) -> Resumed:
    return Resumed(
        done.step, path, done.restored, done.missing, done.unused, done.values, (*notes, *done.notes)
    )


def _step_of(path: Path) -> int:
    found = _NAME.fullmatch(path.name)
    return int(found[1]) if found else -1


def _flush_folder(folder: Path) -> None:
    """Wait until the name is on the disk too, where folders can be flushed."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _reason(problem: BaseException) -> str:
    """The first line of what went wrong; the system's own words where it has some."""
    cause: BaseException = problem
    while not isinstance(cause, OSError) and cause.__context__ is not None:
        cause = cause.__context__
    lines = str(cause if isinstance(cause, OSError) else problem).strip().splitlines()
    return lines[0] if lines else type(problem).__name__
