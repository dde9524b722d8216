"""lint: source and settings -> findings, without a log. The line is `examined`; fixing goes round it.

paths -> files -> patients (programs with their settings) -> outcomes of rules -> report
         gather   read                                       examine               told
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from stethoscope.findings import Finding, Found, NotExamined, RuleEntry, Severity, Subject
from stethoscope.lint import sharing_out
from stethoscope.lint.collecting import collected_rarely
from stethoscope.lint.comments import Ignores, ignores_in
from stethoscope.lint.files import Files, gather
from stethoscope.lint.lint_report import Linted, LintReport
from stethoscope.lint.patients import Kept, Patients, patients
from stethoscope.lint.selection import chosen, fit, lintable, must_be_known
from stethoscope.lint.settings import LintSettings
from stethoscope.lint.sharing_out import Outcome
from stethoscope.run import Run, Unread, Where
from stethoscope.signals import Missing

__all__ = ["LintReport", "Linted", "examined", "gather", "lint", "rules_asked_for"]


def lint(
    paths: Sequence[str | Path],
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    changed: Collection[Path] | None = None,
) -> LintReport:
    """Examine the training source and settings below the paths; nothing is run or changed.

    `select` and `ignore` name rules by code, the beginning of one, family or name. `changed` restricts what
    is told about to these files; the project around them is read all the same.
    """
    files = gather([str(path) for path in paths], changed=changed)
    return examined(files, tuple(map(str, paths)), rules_asked_for(files.settings, select, ignore))


def rules_asked_for(
    settings: LintSettings, select: Sequence[str] = (), ignore: Sequence[str] = ()
) -> tuple[RuleEntry, ...]:
    """The rules that a project and a command line ask for together; what is typed comes first."""
    must_be_known(select, "--select", to_select=True)
    must_be_known(ignore, "--ignore")
    project = chosen(lintable(), settings.select, settings.ignore)
    return chosen(lintable() if select else project, select, ignore)


def examined(
    files: Files,
    paths: tuple[str, ...],
    rules: Sequence[RuleEntry],
    kept: Kept | None = None,
    jobs: int = 1,
) -> LintReport:
    """Read the files, let the rules look, and tell what they found in what was asked about.

    A large program is looked at by at most `jobs` processes at once.
    """
    if not files.asked:  # nothing has changed, or all of it is left out
        return LintReport(
            paths, files.root, unread=files.unread, passed=files.passed, settings=files.settings
        )
    with collected_rarely():
        read = patients(files, kept)
        found, clear, not_examined = _outcomes(rules, read, jobs)
    told = [_told(one, read, files) for one in map(partial(_addressed, files=files), _once(found)) if one]
    ignores = _ignores(read, files)
    findings = [one for one in told if not _is_ignored(one, ignores, files)]
    looked_at = tuple(name for name in read.texts if name in files.asked)
    unread = (*files.unread, *_first_of_each(read.unread))
    return LintReport(
        paths,
        files.root,
        tuple(sorted(findings, key=_order)),
        clear,
        not_examined,
        looked_at,
        sum(read.texts[name].count("\n") + 1 for name in looked_at),
        len(_used(read) - files.asked),
        len({id(run.program) for run in read.runs if run.program is not None}),
        len(told) - len(findings),
        unread,
        files.passed,
        _problems(ignores),
        files.settings,
        {name: read.texts[name] for name in _files_in(findings) if name in read.texts},
        any(one.file in files.named for one in unread),
    )


def _outcomes(
    rules: Sequence[RuleEntry], read: Patients, jobs: int
) -> tuple[list[Found], tuple[RuleEntry, ...], tuple[NotExamined, ...]]:
    """What every rule says about every program under every settings."""
    outcomes = {
        code: [(outcome, read.runs[number]) for outcome, number in said]
        for code, said in sharing_out.outcomes(rules, read, jobs).items()
    }
    found: list[Found] = []
    clear: list[RuleEntry] = []
    not_examined: list[NotExamined] = []
    for rule in rules:
        findings = list(_joined(outcome for outcome, _ in outcomes[rule.code]))
        missing = _why_not(outcomes[rule.code])
        found += [Found(rule, finding) for finding in findings]
        if missing is not None:
            not_examined.append(NotExamined(rule, missing))
        elif not findings:
            clear.append(rule)
    return found, tuple(clear), tuple(not_examined)


def _used(read: Patients) -> frozenset[str]:
    """The files that a rule could have seen."""
    sources = {source.file for run in read.runs if run.program for source in run.program}
    return frozenset(
        sources | {config.file for run in read.runs if run.recipe for config in run.recipe.files}
    )


def _joined(outcomes: Iterable[Outcome]) -> Iterator[Finding]:
    """The findings under all settings; a place told about under one is not told again under another.

    A note on what another finding reports, such as a default where a launcher sets the value, goes without
    saying.
    """
    seen: set[Where] = set()
    kept: list[Finding] = []
    for outcome in outcomes:
        if not isinstance(outcome, Missing):
            fresh = [finding for finding in outcome if _main(finding) not in seen]
            seen.update(map(_main, fresh))
            kept += fresh
    told = {place for one in kept if one.severity is not Severity.NOTE for place in one.places}
    yield from (one for one in kept if one.severity is not Severity.NOTE or _main(one) not in told)


def _why_not(outcomes: Sequence[tuple[Outcome, Run]]) -> Missing | None:
    """Why a rule could look at nothing at all, as the largest program tells; or that it failed somewhere."""
    missing = [(one, run) for one, run in outcomes if isinstance(one, Missing)]
    failed = [one for one, _ in missing if one.why.startswith("the rule itself failed")]
    if failed:
        return failed[0]
    if not outcomes:
        return Missing("there is no source that could be read")
    if len(missing) < len(outcomes):
        return None
    return max(missing, key=lambda one: len(one[1].program.sources) if one[1].program else 0)[0]


def _once(found: Iterable[Found]) -> list[Found]:
    """Each finding once, though several programs share the file it stands in."""
    unique: dict[tuple[str, Where, str], Found] = {}
    for one in found:
        unique.setdefault((one.rule.code, _main(one.finding), one.finding.message), one)
    return list(unique.values())


def _main(finding: Finding) -> Where:
    return finding.places[0]


def _addressed(found: Found, files: Files) -> Found | None:
    """The finding at a file that was asked about, None where it stands elsewhere.

    What is said of a setting is said of the line that sets it and of the one that declares it.
    """
    places = found.finding.places
    if places[0].file in files.asked:
        return found
    near = [place for place in places[1:] if place.file in files.asked]
    if not near or found.rule.subject is not Subject.SETTINGS:
        return None
    first = replace(found.finding, where=(near[0], *(place for place in places if place != near[0])))
    return replace(found, finding=first)


def _told(found: Found, read: Patients, files: Files) -> Linted:
    """A finding with the line it stands on, and why its fix must wait where it must."""
    main = _main(found.finding)
    line = _line(read.texts.get(main.file, ""), main.line)
    if main.column is None and main.line is not None:
        main = replace(main, column=len(line) - len(line.lstrip()) + 1)
    touched = {splice.file for splice in found.finding.fix.splices} if found.finding.fix else set()
    keeps = ""
    if touched & files.records:
        keeps = "a run's record is never changed"
    elif touched - files.asked:
        keeps = f"it changes {', '.join(sorted(touched - files.asked))}, which was not asked about"
    return Linted(found, main, tuple(dict.fromkeys(found.finding.places[1:])), line, keeps)


def _line(text: str, number: int | None) -> str:
    lines = text.split("\n") if number is not None else []
    return lines[number - 1] if number is not None and 0 < number <= len(lines) else ""


def _ignores(read: Patients, files: Files) -> Mapping[str, Ignores]:
    asked = {name for name in read.texts if name in files.asked}
    trees = {name: source.tree for name, source in read.trees.items()}
    return {name: ignores_in(read.texts[name], trees.get(name)) for name in sorted(asked)}


def _is_ignored(one: Linted, ignores: Mapping[str, Ignores], files: Files) -> bool:
    comments = ignores.get(one.where.file, Ignores())
    if comments.ignore(one.rule, one.where.line):
        return True
    path = next(
        (
            e.path
            for e in (*files.sources, *files.settings_files, *files.launchers)
            if e.file == one.where.file
        ),
        None,
    )
    return path is not None and fit(one.rule, files.settings.ignored_in(path)) >= 0


def _problems(ignores: Mapping[str, Ignores]) -> tuple[tuple[Where, str], ...]:
    return tuple(
        (Where(name, line=line), problem) for name, one in ignores.items() for line, problem in one.problems
    )


def _first_of_each(unread: Iterable[Unread]) -> tuple[Unread, ...]:
    return tuple(dict.fromkeys(unread))


def _order(one: Linted) -> tuple[str, int, int, str]:
    return one.where.file, one.where.line or 0, one.where.column or 0, one.rule.code


def _files_in(findings: Iterable[Linted]) -> list[str]:
    names: dict[str, None] = defaultdict(lambda: None)
    for one in findings:
        names[one.where.file] = None
        for splice in one.fix.splices if one.fix else ():
            names[splice.file] = None
    return list(names)
