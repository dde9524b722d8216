"""Checkpoints that are whole, or not written at all; one that is not finite never takes the place of another.

A state is written to a file beside its destination and takes the name in one move, so that a full disk or a
killed process leaves what was there. Of a state that is spread over ranks each one looks at its share, and
where one share is not finite, none is written.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from stethoscope.errors import UnwritableFile
from stethoscope.guard.happening import Happening, Kind, Severity
from stethoscope.guard.sensing.finite import MOST_NAMED, Bad, bad_in_state, named_tensors

SAFETENSORS = ".safetensors"
BAD = ".bad"  # stands in the name before the suffix
PART = ".part"  # what is being written
ELSEWHERE = "The share of the checkpoint that another rank holds is not finite; its record names the tensors."


@dataclass(frozen=True, slots=True)
class Saved:
    """A checkpoint that was finite when it was written, before the update of `step`."""

    path: Path
    step: int


def alone(is_good: bool) -> bool:
    """What is done where there is nobody to agree with."""
    return is_good


def save(
    state: Any,
    path: Path,
    *,
    step: int = 0,
    keep_bad: bool = True,
    excused: Collection[str] = (),
    agree: Callable[[bool], bool] = alone,
) -> Happening | None:
    """Write a state to `path`, whole or not at all, and tell where it is not finite; None where all is well.

    A state that is not finite leaves `path` as it is: it is written beside it as `<name>.bad<suffix>`, or not
    at all without `keep_bad`. `excused` are names of tensors that may hold infinities, as masks do. `agree`
    says whether all ranks found their share finite. Raises UnwritableFile where the file cannot be written;
    what was there is there still.
    """
    bad = bad_in_state(state, excused=excused)
    if agree(not bad):
        _write_whole(state, path)
        return None
    beside = _beside(path) if keep_bad else None
    trouble = ""
    if beside is not None:
        try:
            _write_whole(state, beside)
        except UnwritableFile as problem:
            beside, trouble = None, f" It could not be written beside it either: {problem}"
    return _told(bad, path, beside, step, trouble)


def refused(
    state: Any,
    path: Path,
    *,
    step: int = 0,
    excused: Collection[str] = (),
    is_told_only: bool = False,
    agree: Callable[[bool], bool] = alone,
) -> Happening | None:
    """What to tell of a state that must not be written to `path`, because it is not finite; else None.

    `is_told_only` says that it is written all the same; `agree` is that of `save`.
    """
    bad = bad_in_state(state, excused=excused)
    told = None if agree(not bad) else _told(bad, path, None, step, "")
    if told is None or not is_told_only:
        return told
    return replace(told, means="A run that goes on from it is lost. It was written all the same.")


def last_good(saved: Iterable[Saved], step: int) -> Saved | None:
    """The last checkpoint that holds nothing of a step or what came after it, and that is still there."""
    before = [one for one in saved if one.step <= step and one.path.exists()]
    return max(before, key=lambda one: one.step, default=None)


def is_spread(state: Any) -> bool:
    """Whether a state holds tensors of which this rank has a share only."""
    return any(hasattr(tensor, "to_local") for _, tensor in named_tensors(state))


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.stem}{BAD}{path.suffix}")


def _write_whole(state: Any, path: Path) -> None:
    write = _tensors_to(state) if path.suffix == SAFETENSORS else _objects_to(state)
    # A link is written through, as a plain save does.
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{target.name}.{_writer()}{PART}")
    try:
        _remove_left_over(target)
        part.touch()
        rights = part.stat().st_mode
        write(part)
        os.chmod(part, rights)  # safetensors gives its files to their owner alone
        _to_disk(part)
        os.replace(part, target)
        _to_disk(target.parent)
    except Exception as problem:  # torch wraps a full disk into errors of its own
        with suppress(OSError):
            part.unlink()
        kept = "; the checkpoint that is there was left as it is" if target.exists() else ""
        raise UnwritableFile(f"{path}: {_reason(problem)}{kept}") from problem


def _objects_to(state: Any) -> Callable[[Path], None]:
    return lambda part: torch.save(state, part)


def _tensors_to(state: Any) -> Callable[[Path], None]:
    if not isinstance(state, Mapping) or not all(isinstance(one, Tensor) for one in state.values()):
        raise UnwritableFile(
            f"a {SAFETENSORS} file holds a dict of tensors and nothing else; give the path another suffix, "
            "such as .pt, for a state that holds more"
        )
    from safetensors.torch import save_file

    tensors = _unshared(state)
    return lambda part: save_file(tensors, part, metadata={"format": "pt"})


def _unshared(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors with memory of their own, as the format asks for; tied ones are written twice."""
    seen: set[int] = set()
    unshared = {}
    for name, tensor in state.items():
        one = tensor.detach()
        place = one.untyped_storage().data_ptr()
        is_whole = one.is_contiguous() and one.untyped_storage().nbytes() == one.nbytes
        unshared[name] = (
            one if is_whole and place not in seen else one.clone(memory_format=torch.contiguous_format)
        )
        seen.add(place)
    return unshared


def _writer() -> str:
    return f"{platform.node() or 'host'}-{os.getpid()}"


def _remove_left_over(target: Path) -> None:
    """Remove what processes of this machine that are gone left of the same file."""
    start, host = f".{target.name}.", platform.node() or "host"
    for part in target.parent.glob(f".*{PART}"):
        writer = part.name.removeprefix(start).removesuffix(PART)
        name, _, process = writer.rpartition("-")
        if part.name.startswith(start) and name == host and process.isdigit() and not _is_alive(int(process)):
            with suppress(OSError):
                part.unlink()


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's
        return True
    return True


def _to_disk(path: Path) -> None:
    """Wait until the file, or the entry of a folder, is on the disk."""
    if path.is_dir() and os.name == "nt":
        return  # folders cannot be opened there
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    except OSError:
        if not path.is_dir():  # some file systems know no fsync of folders
            raise
    finally:
        os.close(handle)


def _reason(problem: Exception) -> str:
    cause = problem
    while not isinstance(cause, OSError) and isinstance(cause.__context__, Exception):
        cause = cause.__context__
    lines = str(cause if isinstance(cause, OSError) else problem).strip().splitlines()
    return lines[0] if lines else type(problem).__name__


def _told(bad: Iterable[Bad], path: Path, beside: Path | None, step: int, trouble: str) -> Happening:
    found = list(bad)
    names = ", ".join(f"{one.name} ({one.number} {one.kind})" for one in found)
    count = f"At least {len(found)}" if len(found) == MOST_NAMED else f"{len(found)}"
    verb = "is" if len(found) == 1 else "are"
    where = f"It was written to {beside} instead." if beside is not None else "It was not written."
    is_there = f"{path.name} is as it was" if path.exists() else f"{path.name} was not made"
    return Happening(
        Kind.BAD_CHECKPOINT,
        step,
        Severity.CRITICAL,
        f"{count} of the checkpoint's tensors {verb} not finite: {names}." if found else ELSEWHERE,
        f"A run that goes on from it is lost, so {is_there}. {where}{trouble}",
        "go on from the last good checkpoint, and look for the step at which these tensors went bad.",
        facts={
            "path": str(path),
            "written_to": None if beside is None else str(beside),
            "bad": [{"name": one.name, "kind": one.kind, "number": one.number} for one in found],
        },
    )
