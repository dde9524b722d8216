"""One run to be made: a task, what is planted in it, and a seed that everything else is drawn from."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np

from stethoscope.clinic.faultbench.task import (
    Choice,
    Form,
    Give,
    Interrupt,
    Nuisance,
    Replace,
    Scale,
    Splits,
    Spoil,
    Spread,
    Task,
)
from stethoscope.errors import StethoscopeError
from stethoscope.recipe import read_settings, syntax_of
from stethoscope.run import Setting
from stethoscope.trials.setting_edits import with_value

DATA = "data"


@dataclass(frozen=True, slots=True)
class Planted:
    """A form of an operator at one of its levels, the mildest being 0."""

    form: Form
    level: int = 0

    @property
    def name(self) -> str:
        """As it is written in names of runs: operator, form, level."""
        form = f".{self.form.name}" if self.form.name else ""
        return f"{self.form.operator}{form}.{self.level}"

    @property
    def changes(self) -> tuple[object, ...]:
        """What is changed."""
        return self.form.levels[self.level]


@dataclass(frozen=True, slots=True)
class Specimen:
    """A run to be made."""

    task: Task
    planted: tuple[Planted, ...]
    seed: int

    @property
    def name(self) -> str:
        """A name for its folder and its label."""
        planted = "+".join(one.name for one in self.planted) or "healthy"
        return f"{self.task.name}--{planted}--{self.seed}"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A project that is ready to run. `places` are the lines that a fault changed, as (file, line)."""

    nuisances: dict[str, str]
    steps: int
    places: tuple[tuple[str, int], ...]


def prepared(specimen: Specimen, project: Path) -> Prepared:
    """Write the project of a specimen, its settings and its data."""
    task = specimen.task
    rng = np.random.default_rng([zlib.crc32(task.name.encode()), specimen.seed])
    files = {name: (task.project / name).read_bytes() for name in task.sources}
    nuisances = _drawn(task.nuisances, files[task.settings], task.settings, rng)
    needs = {give.key: give.value for one in specimen.planted for give in one.form.needs}
    for key, value in (nuisances | needs).items():
        _give(files, task.settings, key, value)
    before = dict(files)
    for one in specimen.planted:
        _plant(one, files, task)
    _write(files, project)
    _write_data(specimen, project, rng)
    steps = int(float(_value(files[task.settings], task.settings, task.steps)))
    return Prepared(nuisances | needs, steps, tuple(_places(before, files)))


def program_of(specimen: Specimen, project: Path) -> None:
    """Write a specimen's source and settings alone, all that is not planted as its task has it."""
    task = specimen.task
    files = {name: (task.project / name).read_bytes() for name in task.sources}
    for give in (give for one in specimen.planted for give in one.form.needs):
        _give(files, task.settings, give.key, give.value)
    for one in specimen.planted:
        _plant(one, files, task)
    _write(files, project)


def fits(specimen: Specimen) -> bool:
    """Whether everything can be planted together: one fault may take away what another one changes."""
    task = specimen.task
    healthy = {name: (task.project / name).read_bytes() for name in task.sources}
    files = dict(healthy)
    needs = [(give.key, give.value) for one in specimen.planted for give in one.form.needs]
    if len(set(needs)) != len(dict(needs)):
        return False
    try:
        for one in specimen.planted:
            _plant(one, files, task)
        for name, content in files.items():
            if name.endswith(".py") and content != healthy[name]:
                compile(content, name, "exec")
    except (StethoscopeError, SyntaxError):
        return False
    keys = [key for one in specimen.planted for key in _keys(one)]
    return len(keys) == len(set(keys))


def _keys(planted: Planted) -> set[str]:
    """The settings that a fault changes, and whether it ends the process."""
    keys = {change.key for change in planted.changes if isinstance(change, Give | Scale)}
    return keys | {"interrupted" for change in planted.changes if isinstance(change, Interrupt)}


def _drawn(
    nuisances: Iterable[Nuisance], content: bytes, file: str, rng: np.random.Generator
) -> dict[str, str]:
    """The value of each nuisance; every seed draws the same numbers, whatever is planted."""
    drawn = {}
    for one in nuisances:
        match one:
            case Choice(key, values):
                drawn[key] = values[int(rng.integers(len(values)))]
            case Spread(key, factor, whole):
                by = factor ** float(rng.uniform(-1, 1))
                drawn[key] = _times(_value(content, file, key), by, whole)
    return drawn


def _plant(planted: Planted, files: dict[str, bytes], task: Task) -> None:
    for change in planted.changes:
        match change:
            case Replace(file, old, to):
                text = files[file].decode()
                if text.count(old) != 1:
                    raise StethoscopeError(
                        f"{task.name}, {planted.name}: {old!r} is {text.count(old)} times in {file}."
                    )
                files[file] = text.replace(old, to).encode()
            case Give(key, value):
                _give(files, task.settings, key, value)
            case Scale(key, factor):
                number = _value(files[task.settings], task.settings, key)
                _give(files, task.settings, key, _times(number, factor, whole=isinstance(number, int)))


def _give(files: dict[str, bytes], file: str, key: str, value: str) -> None:
    if _setting(files[file], file, key).text != value:
        files[file] = with_value(files[file], file, key, value)


def _value(content: bytes, file: str, key: str) -> float | int:
    found = _setting(content, file, key).value
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise StethoscopeError(f"{file}: {key} is no number.")
    return found


def _setting(content: bytes, file: str, key: str) -> Setting:
    for setting in read_settings(content.decode(), file, syntax_of(file) or "yaml"):
        if setting.dotted == key:
            return setting
    raise StethoscopeError(f"{file} has no setting {key}.")


def _times(value: float, factor: float, whole: bool) -> str:
    if whole:
        return str(max(1, round(value * factor)))
    shown = f"{value * factor:.3g}"
    # YAML 1.1 reads 1e-05 as text.
    mantissa, e, exponent = shown.partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{exponent}" if e else shown


def _write(files: dict[str, bytes], project: Path) -> None:
    for name, content in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_bytes(content)


def _write_data(specimen: Specimen, project: Path, rng: np.random.Generator) -> None:
    splits: Splits = dict(zip(("train", "val"), specimen.task.data(rng), strict=True))
    spoiling = np.random.default_rng([specimen.seed, 1])
    for one in specimen.planted:
        for change in one.changes:
            if isinstance(change, Spoil):
                splits = change.how(splits, spoiling)
    (project / DATA).mkdir(exist_ok=True)
    for name, arrays in splits.items():
        given: Any = arrays
        np.savez(project / DATA / f"{name}.npz", **given)


def _places(before: dict[str, bytes], after: dict[str, bytes]) -> Iterator[tuple[str, int]]:
    """The lines that differ, as they are numbered in what runs; of lines that went, the one that follows."""
    for file, content in after.items():
        old, new = before[file].decode().splitlines(), content.decode().splitlines()
        for what, _, _, low, high in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if what != "equal":
                yield from ((file, line + 1) for line in range(low, max(high, low + 1)))
