"""What a framework makes of a name: taken, taken by other releases only, or never; and what was meant."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePath

from stethoscope.recipe.schemas import Likeness, Name, Record, Standing, Table, Version, nearest, number
from stethoscope.run import Package, Run, Where


@dataclass(frozen=True, slots=True)
class NotTaken:
    """A name that a framework does not take: what was meant instead, and which releases take it.

    `history` is empty where none does. `version_known` says that the run's own release is known, or does
    not matter.
    """

    meant: Likeness
    history: str = ""
    version_known: bool = True


@dataclass(frozen=True, slots=True)
class Releases:
    """The releases that a run used, by package, and where that is recorded."""

    numbers: Mapping[str, Version]
    recorded: Mapping[str, Package]


def releases_of(run: Run) -> Releases:
    """What is recorded of a run; a framework that has no package is known by the day the run began."""
    recorded = {package.name: package for package in run.packages}
    started = [log.started for log in run.logs if log.started is not None]
    if started:
        day = datetime.fromtimestamp(min(started), UTC).date().isoformat()
        recorded[""] = Package("", day, Where())
    numbers = {name: number(package.version) for name, package in recorded.items()}
    return Releases(numbers, recorded)


def not_taken(
    record: Record, name: str, releases: Releases, beside: Collection[str] = (), own: Collection[str] = ()
) -> NotTaken | None:
    """Judge a name; None where it is taken. `beside` are the names given with it, `own` others known."""
    if _too_old(record.table, releases):
        return None
    standing = record.standing(name, releases.numbers)
    entry = record.entry(name)
    if standing is Standing.KNOWN:
        return _perhaps_later(record, name, entry, releases)
    likeness = _meant(record, name, releases, own)
    if likeness.name in beside:
        likeness = Likeness()
    if standing is Standing.NEVER or entry is None:
        return NotTaken(likeness)
    holder, about = entry
    known = holder.table.package in releases.recorded
    if not known and not likeness:
        return None  # older code may well run with an older release; there is no advice to give
    return NotTaken(likeness, _history(holder.table, about, standing, releases), known)


def _too_old(table: Table, releases: Releases) -> bool:
    """Whether the run's release is older than any that was looked at."""
    version = releases.numbers.get(table.package)
    return version is not None and not table.changes and version[:2] < number(table.versions[0])[:2]


def _perhaps_later(
    record: Record, name: str, entry: tuple[Record, Name] | None, releases: Releases
) -> NotTaken | None:
    """A name that checkouts have from some day on, where the day of this one is not known."""
    if entry is None or not entry[0].table.changes or "" in releases.recorded or not entry[1].since:
        return None
    holder, about = entry
    likeness = nearest(name, set(record.taken(releases.numbers)) - {name})
    return NotTaken(likeness, f"{_since(holder.table, about)}; an earlier checkout does not know it", False)


def _meant(record: Record, name: str, releases: Releases, own: Collection[str]) -> Likeness:
    """The name that was meant: one that is taken, or the present name of a former one."""
    taken = {*record.taken(releases.numbers), *own}
    renamed = {old: new for one in record.lineage() for old, new in one.table.renamed.items()}
    former = {other for one in record.lineage() for other in one.names} - taken
    found = nearest(name, taken | former, renamed)
    if not found or found.name in taken:
        return found
    present = renamed.get(found.name, "")
    return Likeness(present, found.clear) if present in taken else nearest(name, taken, renamed)


def _history(table: Table, about: Name, standing: Standing, releases: Releases) -> str:
    """Which releases take a name, and which one the run used."""
    if standing is Standing.LATER:
        said = _since(table, about)
    else:
        said = f"{table.framework} takes it no longer since {table.after(about.until)}"
    package = releases.recorded.get(table.package)
    if package is None:
        return f"{said}; no version is recorded here"
    if table.changes:
        return f"{said}; this run began before"
    place = f"{PurePath(package.where.file).name}:{package.where.line}" if package.where.line else "its lock"
    return f"{said}; {place} says {package.version}"


def _since(table: Table, about: Name) -> str:
    change = table.changes.get(about.since, "")
    return f"{table.framework} has it since {table.spoken(about.since)}" + (f" ({change})" if change else "")
