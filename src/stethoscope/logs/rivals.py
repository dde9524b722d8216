"""Which of the logs below one path are of one run, where several runs were kept together."""

from __future__ import annotations

import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from stethoscope.logs.retelling import (
    FEWEST_COMMON,
    NOT_TELLING,
    SAME_STORY,
    SAME_VALUE,
    lie_far_apart,
    same_as_printed,
    share_steps,
    surely_the_same,
    tell_the_same,
)
from stethoscope.run import Log, Series, Unread
from stethoscope.run.file_times import LogFile

NOTHING = 1e-8  # what rounding leaves of a zero
SAME_SIGNALS = 0.5  # share of the names that two logs of one kind have in common
SAME_LENGTH = 0.8  # of the longer log: who trained so far again from the start began another run
MOST_RUNS_COMPARED = 16  # of a folder that holds a crowd of runs
MOST_FOLDERS_COMPARED = 64  # of a tree, each with each

# What the settings and the machine decide, whatever is learned.
SET_NOT_MEASURED = (*NOT_TELLING, "loss_scale", "weight/", "skipped", "difficulty")

_WANDB = re.compile(r"run-(?P<id>\w+)\.wandb")
# What W&B keeps beside its history: the lines the program printed.
_PRINTED_TO_WANDB = ("files", "output.log")
# Names under which one program is run several times on purpose.
_REPEATED = re.compile(
    r"(?<![a-z])(?:seed|fold|trial|rep(?:eat|lica)?|split|cv|sweep|exp(?:eriment)?)[-_=]?(\d+)", re.IGNORECASE
)
_WORKER = re.compile(r"(?:rank|gpu|worker|node|proc|process|host|local)[-_]?\d+", re.IGNORECASE)
_NUMBERS = re.compile(r"[\d\W_]+")
_MONTH = re.compile(r"(?<![A-Za-z])(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)(?=\d)")


def of_one_run(files: list[LogFile], unread: list[Unread]) -> tuple[LogFile, ...]:
    """The logs of one run; the others are named in `unread`."""
    homes: dict[Path, list[LogFile]] = defaultdict(list)
    for file in files:
        homes[_home(file)].append(file)
    groups: list[list[LogFile]] = []
    for home in homes.values():
        own = _of_one_run_in_a_folder(home, unread)
        # A run may lie in several folders, of which each is a rival.
        rivals = [group for group in groups if _are_rivals(group, own)]
        newer = all(_when(own) > _when(rival) for rival in rivals)
        if newer:
            groups = [group for group in groups if group not in rivals] + [own]
        for older in rivals if newer else [own]:
            where = os.path.dirname(older[0].entry.file)
            unread.append(Unread(where, "holds another run's log; examine it by itself", True))
    return tuple(file for group in groups for file in group)


def runs_among(files: Sequence[LogFile]) -> list[list[LogFile]]:
    """All the runs that the logs tell of, each with its logs, in the order of the files."""
    homes: dict[Path, list[LogFile]] = defaultdict(list)
    for file in files:
        homes[_home(file)].append(file)
    runs: list[list[LogFile]] = []
    for home in homes.values():
        # Runs of one folder have been told apart already; each may go on in another folder.
        elsewhere = list(runs)
        for own in _runs_in_a_folder(home):
            fitting = next((run for run in elsewhere if not _are_rivals(run, own)), None)
            if fitting is None:
                runs.append(own)
            else:
                fitting.extend(own)
                elsewhere.remove(fitting)
    order = {id(file): number for number, file in enumerate(files)}
    runs = [sorted(run, key=lambda file: order[id(file)]) for run in runs]
    return sorted(runs, key=lambda run: order[id(run[0])])


def belong_together(one: Sequence[LogFile], other: Sequence[LogFile]) -> bool:
    """Whether two folders' logs tell the same story, or one goes on where the other ends."""
    return any(
        tell_the_same(mine.log, theirs.log) or _go_on(mine.log, theirs.log)
        for mine in one
        for theirs in other
    )


def _go_on(one: Log, other: Log) -> bool:
    mine, theirs = _main(one, other), _main(other, one)
    if mine is None or theirs is None or one.format != other.format:
        return False
    return (
        _have_the_same_signals(one, other)
        and not _begin_together(mine, theirs)
        and not share_steps(mine, theirs)
    )


# --- run folders that keep the parts of one run -------------------------------------------------------


def folders_of_one_run(runs: Mapping[Path, Sequence[LogFile]]) -> dict[Path, Path]:
    """For each run folder the first of those that it belongs to.

    A folder beside another under the same name with another number or time may go on where that one ended,
    as Lightning's version_1 does after version_0. A folder kept by another program may tell the same story,
    all of it or the part between two restarts.
    """
    first = {folder: folder for folder in runs}
    for earlier, later in _continued(runs):
        _join(first, earlier, later)
    groups: dict[Path, list[LogFile]] = defaultdict(list)
    for folder, files in runs.items():
        groups[first[folder]].extend(files)
    together = list(groups)[:MOST_FOLDERS_COMPARED]
    for number, one in enumerate(together):
        for other in together[:number]:
            if first[one] != first[other] and _retell(groups[other], groups[one]):
                _join(first, other, one)
    return first


def _join(first: dict[Path, Path], one: Path, other: Path) -> None:
    into, gone = first[one], first[other]
    for folder, target in first.items():
        if target == gone:
            first[folder] = into


def _continued(runs: Mapping[Path, Sequence[LogFile]]) -> list[tuple[Path, Path]]:
    """Pairs of folders side by side of which the second goes on with the first, and no other could."""
    beside: dict[tuple[Path, str], list[Path]] = defaultdict(list)
    for folder in runs:
        beside[folder.parent, _without_numbers(_MONTH.sub(" ", folder.name))].append(folder)
    pairs = []
    for alike in beside.values():
        if 2 <= len(alike) <= MOST_RUNS_COMPARED:
            found = [(a, b) for a in alike for b in alike if a != b and _is_continued(runs[a], runs[b])]
            befores, afters = Counter(a for a, _ in found), Counter(b for _, b in found)
            pairs += [(a, b) for a, b in found if befores[a] == afters[b] == 1]
    return pairs


def _is_continued(earlier: Sequence[LogFile], later: Sequence[LogFile]) -> bool:
    return any(_continues(mine.log, theirs.log) for mine in earlier for theirs in later)


def _continues(earlier: Log, later: Log) -> bool:
    """Whether the later log begins where the earlier ended, or at a checkpoint shortly before."""
    if not _go_on(earlier, later) or (earlier.started or 0.0) > (later.started or math.inf):
        return False
    before, after = _main(earlier, later), _main(later, earlier)
    if before is None or after is None:
        return False
    gap = int(after.steps.min()) - int(before.steps.max())
    return int(before.steps.min()) < int(after.steps.min()) and gap <= 2 * max(
        before.cadence(), after.cadence(), 1
    )


def _retell(one: Sequence[LogFile], other: Sequence[LogFile]) -> bool:
    """Whether different programs told the same, digit for digit, and neither holds another run as well."""
    found = any(
        mine.log.format != theirs.log.format and _surely_tell_the_same(mine.log, theirs.log)
        for mine in one
        for theirs in other
    )
    return found and not _are_rivals(list(one), list(other))


def _surely_tell_the_same(one: Log, other: Log) -> bool:
    mine, theirs = _main(one, other), _main(other, one)
    return mine is not None and theirs is not None and surely_the_same(mine, theirs)


def _runs_in_a_folder(files: list[LogFile]) -> list[list[LogFile]]:
    runs: list[list[LogFile]] = []
    for file in sorted(files, key=lambda file: (-file.log.points, -file.entry.changed)):
        # Two tellings of one run have about as many points, so they are near each other in this order.
        near = runs[-MOST_RUNS_COMPARED:]
        fitting = next((run for run in near if not any(_is_another_run(file, one) for one in run)), None)
        if fitting is None:
            runs.append([file])
        else:
            fitting.append(file)
    return runs


# --- logs side by side in one folder ----------------------------------------------------------------


def _of_one_run_in_a_folder(files: list[LogFile], unread: list[Unread]) -> list[LogFile]:
    """The longest log, and all that do not tell of another run beside it."""
    kept: list[LogFile] = []
    for file in sorted(files, key=lambda file: (-file.log.points, -file.entry.changed)):
        if any(_is_another_run(file, other) for other in kept):
            unread.append(Unread(file.entry.file, "another run: give its path to examine it", True))
        else:
            kept.append(file)
    return [file for file in files if file in kept]


def _is_another_run(one: LogFile, other: LogFile) -> bool:
    """Whether two logs of the same signals both begin at the beginning and go different ways.

    A run that was started again from its beginning writes a second file under the same name with another
    number or time; it is another run only where the first had come nearly as far.
    """
    if _WORKER.search(one.entry.name) or _WORKER.search(other.entry.name):
        return False
    if (same := _same_wandb_run(one, other)) is not None:
        return not same
    mine, theirs = _main(one.log, other.log), _main(other.log, one.log)
    if mine is None or theirs is None or not _have_the_same_signals(one.log, other.log):
        return False
    if not (_begin_together(mine, theirs) and _contradict(one.log, other.log)):
        return False
    spans = sorted((int(np.ptp(mine.steps)), int(np.ptp(theirs.steps))))
    return (
        spans[0] >= SAME_LENGTH * spans[1]
        or _spoken(one) != _spoken(other)
        or _REPEATED.findall(one.entry.name) != _REPEATED.findall(other.entry.name)
    )


def _same_wandb_run(one: LogFile, other: LogFile) -> bool | None:
    """Whether two files of W&B are of one run, which keeps its name when it is resumed; None for others."""
    mine, theirs = (_WANDB.fullmatch(file.entry.name) for file in (one, other))
    return mine["id"] == theirs["id"] if mine and theirs else None


def _main(log: Log, other: Log) -> Series | None:
    """The signal with the most points among those of which the other log tells, too, on the same axis."""
    known = {(series.name, series.axis) for series in other.series if len(series) > 1}
    shared = [series for series in log.series if len(series) > 1 and (series.name, series.axis) in known]
    return max(shared, key=lambda series: (series.name == "loss", len(series)), default=None)


def _have_the_same_signals(one: Log, other: Log) -> bool:
    mine, theirs = ({series.name for series in log.series if len(series)} for log in (one, other))
    return len(mine & theirs) >= SAME_SIGNALS * len(mine | theirs)


def _begin_together(one: Series, other: Series) -> bool:
    apart = abs(int(one.steps.min()) - int(other.steps.min()))
    return apart <= 2 or apart <= 2 * max(one.cadence(), other.cadence())


def _spoken(file: LogFile) -> str:
    """The name of a file without its numbers: train_20240102_1305 is train."""
    return _without_numbers(os.path.splitext(file.entry.name)[0])


def _without_numbers(name: str) -> str:
    return _NUMBERS.sub(" ", name).strip().lower()


# --- logs in different folders ----------------------------------------------------------------------


def _are_rivals(one: list[LogFile], other: list[LogFile]) -> bool:
    """Whether two folders tell different values of the same quantity over the same steps."""
    return any(_rival(mine, theirs) for mine in _speaking(one) for theirs in _speaking(other))


def _speaking(files: Sequence[LogFile]) -> list[LogFile]:
    """The logs by which a run is known: W&B's history speaks for the lines printed meanwhile."""
    kept = {file.entry.path.parent for file in files if _WANDB.fullmatch(file.entry.name)}
    return [file for file in files if not (_is_printed(file) and _home(file) in kept)]


def _is_printed(file: LogFile) -> bool:
    return file.entry.path.parts[-2:] == _PRINTED_TO_WANDB


def _home(file: LogFile) -> Path:
    """The folder that a log is kept in; that of the history for what W&B keeps of the lines printed."""
    path = file.entry.path
    return path.parent.parent if _is_printed(file) else path.parent


def _rival(one: LogFile, other: LogFile) -> bool:
    if _is_curve_of(one, other) or _is_curve_of(other, one):
        return False
    if (same := _same_wandb_run(one, other)) is not None:
        return not same
    if one.log.format == other.log.format:
        return _contradict(one.log, other.log)
    mine, theirs = ({series.name: series for series in file.log.series} for file in (one, other))
    return lie_far_apart(mine, theirs) and not tell_the_same(one.log, other.log)


def _is_curve_of(one: LogFile, other: LogFile) -> bool:
    """Whether one was written by TensorBoard's add_scalars: a folder for each curve, named after it."""
    home = one.entry.path.parent
    inside = other.entry.path.parent in home.parents and one.log.format == other.log.format
    return inside and any(s.logged_as.replace("/", "_").endswith(home.name) for s in one.log.series)


def _contradict(one: Log, other: Log) -> bool:
    """Whether two logs of one program tell different values at the same steps."""
    if one.format != other.format:
        return False
    theirs = {series.name: series for series in other.series if len(series) > 1}
    pairs = [(mine, theirs[mine.name]) for mine in one.series if len(mine) > 1 and mine.name in theirs]
    by_rows = [pair for pair in pairs if pair[0].name == "loss" and "row" in (pair[0].axis, pair[1].axis)]
    if any(surely_the_same(*pair) for pair in by_rows):
        return False
    pairs = [pair for pair in pairs if pair[0].axis == pair[1].axis]
    if not any(share_steps(*pair) for pair in pairs):
        return False
    # Where the loss is known at common steps, it decides: metrics of two seeds come close.
    deciding = [pair for pair in pairs if pair[0].name == "loss" and _have_common_steps(*pair)] or pairs
    return not any(_tell_the_same(*pair) for pair in deciding)


def _have_common_steps(one: Series, other: Series) -> bool:
    return len(np.intersect1d(one.steps, other.steps)) >= FEWEST_COMMON


def _tell_the_same(one: Series, other: Series) -> bool:
    """Whether two series agree at their common steps: a log and its copy."""
    if one.name.startswith(SET_NOT_MEASURED):
        return False  # two runs with the same settings agree in these
    mine, theirs = one.values, other.values
    if not np.array_equal(one.steps, other.steps):
        _, at, there = np.intersect1d(one.steps, other.steps, return_indices=True)
        mine, theirs = mine[at], theirs[there]
    if len(mine) < FEWEST_COMMON or not np.ptp(mine):  # what never changes tells nothing
        return False
    # Most pairs part at once; of a crowd of logs every pair is held against each other.
    if abs(mine[0] - theirs[0]) > SAME_VALUE * abs(theirs[0]) + NOTHING:
        return False
    return bool((same_as_printed(mine, theirs) | (np.abs(mine - theirs) <= NOTHING)).mean() >= SAME_STORY)


def _when(files: list[LogFile]) -> float:
    return max(file.log.started or file.log.last_written or file.entry.changed for file in files)
