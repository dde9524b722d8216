"""Fixes of many findings, applied round after round until nothing is left to apply.

Two fixes that touch the same place cannot both be made from one reading: the first is made, and the other is
found again in the next round, in the text as it is by then. All of it happens in memory.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stethoscope.errors import StethoscopeError, UnreadableFile
from stethoscope.findings import RuleEntry
from stethoscope.lint import Linted, LintReport, examined
from stethoscope.lint.files import Files
from stethoscope.lint.patients import Kept
from stethoscope.prescription.edits.replacing import replace_content
from stethoscope.prescription.edits.rewriting import decoded, rewritten
from stethoscope.run import Splice
from stethoscope.run.folder import Entry

MOST_ROUNDS = 10  # fixes that bring about others come to an end long before


@dataclass(frozen=True, slots=True)
class Change:
    """A file before and after the fixes."""

    path: Path
    file: str
    before: bytes
    after: bytes

    @property
    def texts(self) -> tuple[str, str]:
        """Both contents as text."""
        return decoded(self.before, self.file)[0], decoded(self.after, self.file)[0]


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """What fixing comes to: the changes, the findings they mend, and the report on what is left.

    `refused` says which files were left alone, and why.
    """

    changes: tuple[Change, ...]
    mended: tuple[Linted, ...]
    report: LintReport
    refused: tuple[str, ...] = ()


def fix(files: Files, paths: tuple[str, ...], rules: Sequence[RuleEntry], *, unsafe: bool = False) -> Fixed:
    """Apply every fix of a permitted level, in memory."""
    kept: Kept = {}
    state = _State(dict(files.held), {})
    report = examined(files, paths, rules, kept)
    mended: list[Linted] = []
    refused: dict[str, None] = {}
    for number in range(MOST_ROUNDS):
        waiting = [one for one in report.findings if one.fixable(unsafe) and not _in_settings(one, number)]
        done = _round(waiting, report, files, state, refused)
        if not done:
            break
        mended += done
        # Settings are read from the disk: a finding mended there is not told again.
        settled = {(one.rule.code, one.where) for one in mended if not one.where.file.endswith(".py")}
        report = examined(replace(files, held=state.held), paths, rules, kept)
        left = tuple(one for one in report.findings if (one.rule.code, one.where) not in settled)
        report = replace(report, findings=left)
    changes = tuple(
        Change(path, file, before, state.held[path])
        for path, (file, before) in state.originals.items()
        if state.held[path] != before
    )
    return Fixed(changes, tuple(mended), report, tuple(refused))


def write(changes: Iterable[Change]) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """Write each change over its file; what was written, and why the others were not."""
    written: list[Change] = []
    problems: list[str] = []
    for change in changes:
        try:
            replace_content(change.path, change.before, change.after, change.file)
            written.append(change)
        except StethoscopeError as problem:
            problems.append(str(problem))
    return tuple(written), tuple(problems)


@dataclass(slots=True)
class _State:
    held: dict[Path, bytes]
    originals: dict[Path, tuple[str, bytes]]  # the name to show, and the content before any fix


def _in_settings(one: Linted, number: int) -> bool:
    """Whether a fix must wait because it changes settings, whose spans are those of the first reading."""
    splices = one.fix.splices if one.fix else ()
    return number > 0 and any(not splice.file.endswith(".py") for splice in splices)


def _round(
    waiting: Sequence[Linted],
    report: LintReport,
    files: Files,
    state: _State,
    refused: dict[str, None],
) -> list[Linted]:
    """Make the fixes that do not touch each other; those that were made."""
    entries = {entry.file: entry for entry in (*files.settings_files, *files.launchers, *files.sources)}
    taken: dict[str, list[Splice]] = {}
    made: list[Linted] = []
    for one in waiting:
        assert one.fix is not None
        free = [s for s in one.fix.splices if not any(_touch(s, other) for other in taken.get(s.file, ()))]
        if len(free) < len(one.fix.splices):
            if all(s in taken.get(s.file, ()) for s in one.fix.splices):
                made.append(one)  # another finding asks for exactly the same
            continue
        attempt = {file: list(splices) for file, splices in taken.items()}
        for splice in one.fix.splices:
            attempt.setdefault(splice.file, []).append(splice)
        changed = {splice.file for splice in one.fix.splices}
        problem = _problem(changed, attempt, report, entries, state)
        if problem:
            refused[problem] = None
            continue
        taken = attempt
        made.append(one)
    for file, splices in taken.items():
        entry = entries[file]
        content = _content(entry, state)
        state.originals.setdefault(entry.path, (file, content))
        state.held[entry.path] = rewritten(content, report.texts[file], splices, file)
    return made


def _problem(
    changed: Iterable[str],
    splices: Mapping[str, Sequence[Splice]],
    report: LintReport,
    entries: Mapping[str, Entry],
    state: _State,
) -> str:
    """Why the files cannot be changed this way; empty where they can."""
    for file in changed:
        try:
            before = _content(entries[file], state)
            after = rewritten(before, report.texts[file], splices[file], file)
            if file.endswith(".py"):
                _must_parse(after, file)
        except OSError as failure:
            return f"{file} could not be read: {(failure.strerror or str(failure)).lower()}."
        except UnreadableFile as failure:
            return f"{str(failure).rstrip('.')}."
        except KeyError:
            return f"{file} was not read."
    return ""


def _must_parse(content: bytes, file: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UnreadableFile(f"{file}: a fix would leave it unparsable, so it is not made") from None


def _content(entry: Entry, state: _State) -> bytes:
    held = state.held.get(entry.path)
    return entry.path.read_bytes() if held is None else held


def _touch(one: Splice, other: Splice) -> bool:
    """Whether two splices share a character, or insert at the same place."""
    if one.start == one.end and other.start == other.end:
        return one.start == other.start
    return one.start < other.end and other.start < one.end
