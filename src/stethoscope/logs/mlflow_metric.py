"""MLflow's file store: a folder for each run, and in it a file for each metric.

    mlruns/1/f60ab17eafd546f28a8135f8ac5b21e7/meta.yaml
                                             /metrics/train/loss      1633449194907 2.4679617881774902 20
                                             /params/lr               0.001

A line of a metric is the time in milliseconds, the value and the step; the first versions wrote no step, and
later ones may name a data set behind it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import yaml

from stethoscope.errors import UnreadableFile
from stethoscope.logs._reading.digits import decimals
from stethoscope.logs._reading.head import Head, head_of
from stethoscope.logs._reading.numbers import number, whole
from stethoscope.logs._stores.mlflow import Points, assembled, document, ended
from stethoscope.run import Log

FORMAT = "MLflow file store"
KEPT_IN = "metrics"

Columns = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]

MOST_FILES = 20_000  # of one run
LARGEST_PARAMETER = 1 << 16  # bytes
EARLIEST, LATEST = 1e12, 1e14  # milliseconds: 2001 to 5138
_RUN_ID = re.compile(r"[0-9a-f]{32}")
_PARTS = ("metrics", "params", "tags")
_LINE = re.compile(rb"(\d{12,14}) (\S{1,60})(?: (-?\d{1,19})(?: \S.*)?)?\r?$")
_SPACE, _LINE_FEED = 0x20, 0x0A


def recognise(head: Head) -> float:
    """Lines of a time, a value and perhaps a step."""
    if head.binary or head.prose:
        return 0.0
    lines = head.start.split(b"\n")
    whole_lines = lines if len(head.start) >= head.size else lines[:-1]  # the last may be cut by the head
    matched = [_LINE.match(line) for line in whole_lines[:50] if line]
    if not matched or not all(found and _is_point(found) for found in matched):
        return 0.0
    in_store = bundle(head.path) is not None or "metrics" in head.path.parts
    counted = all(found and found[3] is not None for found in matched)
    return 0.95 if in_store else 0.6 if counted else 0.0


def begin(head: Head) -> Metric:
    """Read one metric as its lines come."""
    return Metric(head.file, _name_of(head.path), head.changed)


@dataclass(slots=True)
class Metric:
    """A metric's file being read."""

    file: str
    name: str
    changed: float | None
    parts: list[Columns] = field(default_factory=list)
    lines: int = 0
    bad: int = 0

    def take(self, data: bytes, last: bool) -> int:
        """Read the whole lines of these bytes."""
        taken = len(data) if last else data.rfind(b"\n") + 1
        block = data[:taken]
        if block:
            self._block(block if block.endswith(b"\n") else block + b"\n")
        return taken

    def points(self) -> Points:
        """What was read so far."""
        columns = [np.concatenate(held) for held in zip(*self.parts, strict=True)] if self.parts else []
        times, values, steps = columns or (np.zeros(0), np.zeros(0), np.zeros(0))
        lines = (1, self.lines) if len(times) else None
        return Points(
            times.astype(np.int64), values.astype(np.float64), steps.astype(np.int64), self.file, lines
        )

    def log(self) -> Log:
        """The one series of this file."""
        found = assembled({self.name: self.points()})
        if not found.series:
            raise UnreadableFile(f"{self.file}: an MLflow metric without a value")
        return Log(
            self.file,
            FORMAT,
            found.series,
            started=found.started,
            last_written=found.last_written or self.changed,
            notes=(*found.notes, *_about(self.bad)),
        )

    def _block(self, block: bytes) -> None:
        columns = _columns(block)
        if columns is None:
            columns = self._one_by_one(block)
        self.lines += block.count(b"\n")
        self.parts.append(columns)

    def _one_by_one(self, block: bytes) -> Columns:
        rows = []
        for line in block.split(b"\n"):
            found = _LINE.match(line)
            if found and _is_point(found):
                value = number(found[2].decode("ascii", "replace"))
                step = whole(float(found[3] or 0))
                if value is not None and step is not None:
                    rows.append((int(found[1]), value, step))
                    continue
            self.bad += bool(line.strip())
        times, values, steps = zip(*rows, strict=True) if rows else ((), (), ())
        return np.array(times, float), np.array(values, float), np.array(steps, float)


def _is_point(found: re.Match[bytes]) -> bool:
    return EARLIEST <= int(found[1]) <= LATEST and number(found[2].decode("ascii", "replace")) is not None


def _columns(block: bytes) -> Columns | None:
    """Times, values and steps of lines that all have three numbers; None where they have not."""
    buffer = np.frombuffer(block, dtype=np.uint8)
    ends = np.flatnonzero((buffer == _SPACE) | (buffer == _LINE_FEED))
    if len(ends) % 3:
        return None
    kinds = buffer[ends].reshape(-1, 3)
    if (kinds[:, :2] != _SPACE).any() or (kinds[:, 2] != _LINE_FEED).any():
        return None
    starts = np.concatenate(([0], ends[:-1] + 1))
    numbers, good = decimals(buffer, starts, ends)
    times, values, steps = numbers.reshape(-1, 3).T
    fair = (times >= EARLIEST) & (times <= LATEST) & (np.abs(steps) < 2.0**53) & (steps == np.floor(steps))
    if not good.all() or not fair.all():
        return None
    return times, values, steps


def _about(bad: int) -> list[str]:
    return [f"{bad:,} lines are no points and were passed over"] if bad else []


# --- a run of many files --------------------------------------------------------------------------------


def bundle(path: Path) -> Path | None:
    """The folder of the run that a file of the store belongs to, judging by its path alone."""
    parts = path.parts
    if path.name == "meta.yaml" and len(parts) > 1 and _RUN_ID.fullmatch(parts[-2]):
        return path.parent
    for at in range(1, len(parts) - 1):
        in_store = at >= 3 and parts[at - 3] == "mlruns" and ".trash" not in parts
        if parts[at] in _PARTS and (_RUN_ID.fullmatch(parts[at - 1]) or in_store):
            return Path(*parts[:at])
    return None


def read_bundle(root: Path, files: Sequence[Path], shown: str) -> Log:
    """One log of a run's folder: a series of each metric, the parameters as settings."""
    metrics: dict[str, Points] = {}
    parameters: dict[str, str] = {}
    notes: list[str] = []
    bad = 0
    for path in sorted(files)[:MOST_FILES]:
        inside = path.relative_to(root).parts
        if len(inside) < 2 or inside[0] not in ("metrics", "params"):
            continue
        name = "/".join(inside[1:])
        try:
            if inside[0] == "params":
                parameters[name] = _start_of(path)
                continue
            head = head_of(path, os.path.join(shown, *inside))
            one = begin(head)
            one.take(head.whole(), last=True)
        except (OSError, UnreadableFile) as problem:
            notes.append(f"{name} could not be read: {getattr(problem, 'strerror', None) or problem}")
            continue
        metrics[name], bad = one.points(), bad + one.bad
    meta = _meta(root, files)
    found = assembled(metrics)
    if not found.series and not parameters:
        raise UnreadableFile(f"{shown}: an MLflow run without metrics")
    return Log(
        shown,
        FORMAT,
        found.series,
        ended(meta.get("status"), os.path.join(shown, "meta.yaml"), found.last_step),
        document(parameters, os.path.join(shown, "params")),
        started=_seconds(meta.get("start_time")) or found.started,
        last_written=found.last_written or _seconds(meta.get("end_time")),
        notes=(*_about_run(meta), *found.notes, *_about(bad), *notes[:3]),
    )


def _name_of(path: Path) -> str:
    """A metric's name: it may hold slashes, which are folders below `metrics`."""
    parts = path.parts
    places = [at for at, part in enumerate(parts[:-1]) if part == "metrics"]
    return "/".join(parts[places[-1] + 1 :]) if places else path.name


def _start_of(path: Path) -> str:
    with path.open("rb") as stream:
        return stream.read(LARGEST_PARAMETER).decode("utf-8", errors="replace")


def _meta(root: Path, files: Sequence[Path]) -> dict[str, object]:
    """What the run's own description says: flat, so that it needs no more than its scalars."""
    if root / "meta.yaml" not in files:
        return {}
    try:
        held = dict(_scalars(_start_of(root / "meta.yaml")))
    except (OSError, yaml.YAMLError, ValueError, RecursionError):
        return {}
    return held


def _scalars(text: str) -> list[tuple[str, object]]:
    """The pairs of a flat YAML mapping; nothing is constructed that is not a plain scalar."""
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(node, yaml.MappingNode):
        return []
    return [
        (str(key.value), value.value)
        for key, value in node.value
        if isinstance(key, yaml.ScalarNode) and isinstance(value, yaml.ScalarNode)
    ]


def _seconds(milliseconds: object) -> float | None:
    value = number(str(milliseconds)) if milliseconds is not None else None
    return value / 1000 if value is not None and EARLIEST <= value <= LATEST else None


def _about_run(meta: dict[str, object]) -> list[str]:
    name = str(meta.get("run_name") or "").strip()
    said = [f'the run is called "{name[:80]}"'] if name else []
    if meta.get("lifecycle_stage") == "deleted":
        said.append("the run was deleted in MLflow")
    return said
