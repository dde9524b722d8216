"""What two runs were made with: packages, machine, processes, precision and the command that began them.

wandb/run-1/files/wandb-metadata.json     {"gpu": "NVIDIA A100", "gpu_count": 8, "args": ["--lr", "1e-3"]}
a log's first lines                       GPU 0: NVIDIA A100-SXM4-80GB; CUDA_HOME: /usr/local/cuda-11.8
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stethoscope.compare.comparison import EnvironmentDifference, EnvironmentDifferences
from stethoscope.logs import head_of
from stethoscope.run import Run, Where
from stethoscope.run.folder import walk
from stethoscope.signals import training_plan
from stethoscope.signals.missing import Missing

MAX_BYTES = 1_000_000
READ_CHARACTERS = 20_000  # of a log: what is printed before the training begins
MOST_LOGS = 3

_METADATA = "wandb-metadata.json"
_NAMED = {
    "gpu": "GPU",
    "gpu_count": "GPUs",
    "cuda": "CUDA",
    "cudaVersion": "CUDA",
    "python": "Python",
    "os": "system",
    "cpu_count": "CPU cores",
}
_PRINTED = (
    (
        "GPU",
        re.compile(
            r"(?:^|[\s,(])(?:GPU(?: \d+(?:, ?\d+)*)?|gpu_name|device_name|Device name)\s*[:=]\s*['\"]?"
            r"(?P<value>(?:NVIDIA|Tesla|GeForce|Quadro|RTX|AMD|Radeon|A100|H100|H200|V100)[\w .\-]*\w)"
        ),
    ),
    (
        "CUDA",
        re.compile(
            r"(?:CUDA(?: Runtime)?(?: version)?|CUDA_HOME|cuda_version)\s*[:=]\s*\S*?(?P<value>\d+\.\d+)"
        ),
    ),
    (
        "Python",
        re.compile(r"(?:^|\s)Python(?: version)?\s*[:=]\s*(?P<value>\d+\.\d+(?:\.\d+)?)", re.MULTILINE),
    ),
    ("world size", re.compile(r"world[_ ]size\s*[:=]\s*(?P<value>\d+)", re.IGNORECASE)),
)
_PLANNED = ("processes", "precision")


@dataclass(frozen=True, slots=True)
class _Told:
    value: str
    where: Where | None


def environment_differences(good: Run, bad: Run) -> EnvironmentDifferences:
    """What differs around two runs."""
    left, right = _told(good), _told(bad)
    changed: list[EnvironmentDifference] = []
    one_sided: list[EnvironmentDifference] = []
    for what in dict.fromkeys([*left, *right]):
        one, other = left.get(what), right.get(what)
        if one and other and one.value == other.value:
            continue
        difference = EnvironmentDifference(
            what,
            one.value if one else None,
            other.value if other else None,
            one.where if one else None,
            other.where if other else None,
        )
        (changed if one and other else one_sided).append(difference)
    same = len({*left, *right}) - len(changed) - len(one_sided)
    return EnvironmentDifferences(tuple(changed), tuple(one_sided), same)


def _told(run: Run) -> dict[str, _Told]:
    told: dict[str, _Told] = {}
    for what, value, where in (*_recorded(run), *_printed(run), *_planned(run)):
        told.setdefault(what, _Told(value, where))
    for package in run.packages:
        told.setdefault(f"package {package.name}", _Told(package.version, package.where))
    return told


def _recorded(run: Run) -> Iterator[tuple[str, str, Where]]:
    """What W&B writes down about the machine and the command."""
    if not os.path.isdir(run.path):
        return
    for entry in walk(Path(run.path), run.path, wanted=lambda name: name == _METADATA).files:
        try:
            said = json.loads(entry.path.read_bytes()) if entry.size <= MAX_BYTES else None
        except (OSError, ValueError, RecursionError):
            continue
        if not isinstance(said, dict):
            continue
        where = Where(entry.file)
        for key, what in _NAMED.items():
            if isinstance(said.get(key), str | int):
                yield what, str(said[key]), where
        args = said.get("args")
        if isinstance(args, list):
            yield "command line", " ".join(map(str, args)), where
        git = said.get("git")
        if isinstance(git, dict) and isinstance(git.get("commit"), str):
            yield "commit", git["commit"], where


def _printed(run: Run) -> Iterator[tuple[str, str, Where]]:
    for log in run.logs[-MOST_LOGS:]:
        try:
            text = head_of(Path(log.file), log.file).text[:READ_CHARACTERS]
        except Exception:  # what was read once may be gone, or come from a pipe
            continue
        for what, pattern in _PRINTED:
            found = pattern.search(text)
            if found:
                line = text.count("\n", 0, found.start("value")) + 1
                yield what, found["value"].strip(), Where(log.file, line=line)


def _planned(run: Run) -> Iterator[tuple[str, str, Where | None]]:
    """What takes place of what the settings and the source say about machine and precision."""
    plan = training_plan.measure(run)
    if isinstance(plan, Missing):
        return
    for quantity in _PLANNED:
        entry = plan[quantity]
        if entry.in_effect:
            first = entry.in_effect[0]
            yield quantity, str(first.amount.value), first.where[0] if first.where else None
        elif (asked := entry.only()) is not None or entry.asked:
            one = asked or entry.asked[0]
            yield quantity, str(one.amount.value), one.setting.where
