"""Lint for people: an address, what is wrong, the line it stands on, why it matters, what mends it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from stethoscope.findings import NotExamined
from stethoscope.lint.lint_report import Linted, LintReport
from stethoscope.report.clean_text import one_line, shortened, visible
from stethoscope.report.line import BLANK, Line, printed
from stethoscope.report.lint_words import about_fix, looked_at, why
from stethoscope.report.palette import ADDRESS, HEADING, OF_SEVERITY
from stethoscope.report.words import count, listed
from stethoscope.run import Unread

LONGEST_SOURCE = 160  # of a source line; a longer one is data
CODES_SHOWN = 12
FILES_SHOWN = 5
TAB = "    "


def render(
    report: LintReport,
    console: Console,
    *,
    verbose: bool = False,
    statistics: bool = False,
    unsafe: bool = False,
    mended: Sequence[Linted] = (),
) -> str:
    """The report as this console would show it; `mended` are the findings that were fixed."""
    return printed(_report(report, verbose, statistics, unsafe, mended), console)


def _report(
    report: LintReport, verbose: bool, statistics: bool, unsafe: bool, mended: Sequence[Linted]
) -> Iterator[Line]:
    shown = report.findings if verbose else report.telling
    if statistics:
        yield from _statistics(shown)
    else:
        explained: set[str] = set()
        for one in shown:
            yield from _finding(one, explained)
    yield from _summary(report, verbose, unsafe, mended)
    if verbose:
        yield from _everything_not_examined(report.not_examined)
        yield from _files("Not read", report.unread, len(report.unread))
        yield from _files("Left out", report.passed, len(report.passed))
    else:
        yield from _files("Not read", report.unread, FILES_SHOWN)


def _finding(one: Linted, explained: set[str]) -> Iterator[Line]:
    """One finding; a rule says why it matters the first time only."""
    place = f"{one_line(one.where.file, 300)}:{one.where.line or 1}:{one.where.column or 1}"
    head = Text.assemble((place, ADDRESS), " ", (one.rule.code, OF_SEVERITY[one.severity] or HEADING), " ")
    yield Line(head + Text(one_line(one.found.finding.message)), hang=2, verbatim=True)
    yield from _source(one)
    if one.rule.code not in explained:
        explained.add(one.rule.code)
        yield Line(Text(f"why: {one_line(why(one.rule))}"), indent=4, hang=5)
    for other in one.also:
        yield Line(Text.assemble("also: ", (one_line(other, 300), ADDRESS)), indent=4, verbatim=True)
    if fix := about_fix(one):
        yield Line(Text(f"fix: {one_line(fix)}"), indent=4, hang=5)
    yield BLANK


def _source(one: Linted) -> Iterator[Line]:
    """The line it stands on, with a caret below what is meant."""
    if not one.line.strip() or one.where.line is None:
        return
    margin = len(one.line) - len(one.line.lstrip())
    written = one.line.rstrip()[margin:].replace("\t", TAB)
    number = f"{one.where.line:>5} | "
    yield Line(Text(number + visible(shortened(written, LONGEST_SOURCE))), verbatim=True)
    column = max((one.where.column or 1) - 1, margin)
    start = len(one.line[margin:column].replace("\t", TAB))
    ends_here = one.where.end is not None and one.where.end[0] == one.where.line
    end = one.where.end[1] - 1 if ends_here and one.where.end else len(one.line.rstrip())
    wide = max(len(one.line[column:end].replace("\t", TAB)), 1) if one.where.end else 1
    if start + wide <= LONGEST_SOURCE // 2 or len(written) <= LONGEST_SOURCE:
        mark = " " * (len(number) - 2) + "| " + " " * start + "^" * wide
        yield Line(Text(mark, style=OF_SEVERITY[one.severity]), verbatim=True)


def _statistics(findings: Sequence[Linted]) -> Iterator[Line]:
    """How many findings each rule has, the most first."""
    counted = Counter((one.rule.code, one.rule.name) for one in findings)
    fixable = Counter(one.rule.code for one in findings if one.fixable())
    for (code, name), times in sorted(counted.items(), key=lambda item: (-item[1], item[0])):
        mendable = f" ({fixable[code]:,} fixable)" if fixable[code] else ""
        yield Line(Text(f"{times:>6,}  {code}  {name}{mendable}"))
    if counted:
        yield BLANK


def _summary(report: LintReport, verbose: bool, unsafe: bool, mended: Sequence[Linted]) -> Iterator[Line]:
    if mended:
        yield Line(Text(f"{count(len(mended), 'finding')} fixed."))
    telling = report.telling
    if not report.files and not report.unread:
        yield Line(Text("Nothing to look at: no file that was asked about is source or settings to lint."))
    elif not telling:
        said = "Nothing found" if not mended else "Nothing else found"
        yield Line(Text.assemble((said, "bold green"), f": {looked_at(report)}."), hang=2)
    else:
        files = count(len({one.where.file for one in telling}), "file")
        said = count(len(telling), "finding")
        yield Line(Text.assemble((said, "bold red"), f" in {files}: {looked_at(report)}."), hang=2)
    yield from (Line(Text(text), hang=2) for text in _asides(report, verbose, unsafe))


def _asides(report: LintReport, verbose: bool, unsafe: bool) -> Iterator[str]:
    safe = sum(one.fixable() for one in report.findings)
    risky = sum(one.fixable(unsafe=True) for one in report.findings) - safe
    if safe:
        yield f"{count(safe, 'finding')} fixable with --fix; --diff shows the changes."
    if risky and not unsafe:
        yield f"{count(risky, 'finding')} more fixable with --fix --unsafe-fixes: they change the experiment."
    if report.notes and not verbose:
        yield f"{count(len(report.notes), 'note')}; --verbose shows them."
    if report.ignored:
        yield f"{count(report.ignored, 'finding')} ignored by comments or settings."
    if report.not_examined and not verbose:
        codes = listed([one.rule.code for one in report.not_examined], CODES_SHOWN)
        yield f"{count(len(report.not_examined), 'rule')} not examined: {codes}. --verbose says why."


def _everything_not_examined(skipped: Sequence[NotExamined]) -> Iterator[Line]:
    reasons: dict[str, list[NotExamined]] = defaultdict(list)
    for one in skipped:
        reasons[one.missing.why].append(one)
    if reasons:
        yield Line(Text("Not examined", style=HEADING))
    for reason, rules in reasons.items():
        names = ", ".join(f"{one.rule.code} {one.rule.name}" for one in rules)
        yield Line(Text(f"{names}: {one_line(reason).rstrip('.')}."), indent=2, hang=2)


def _files(title: str, files: Sequence[Unread], shown: int) -> Iterator[Line]:
    if files:
        yield Line(Text(title, style=HEADING))
    for one in files[:shown]:
        yield Line(Text(f"{one_line(one.file, 300)}: {one_line(one.reason)}"), indent=2, hang=2)
    if len(files) > shown:
        yield Line(Text(f"and {len(files) - shown:,} more; --verbose lists them"), indent=2)
