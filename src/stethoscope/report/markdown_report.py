"""The report for issues and pull requests: what is wrong and what to change first, the rest folded.

It stays below the length that GitHub accepts. Names and messages from files are text there: they make no
heading, no link, no picture, and call nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set

from stethoscope import __version__
from stethoscope.causes import Argument, RankedCause, Standing, speaks_against
from stethoscope.causes.verdict import Verdict
from stethoscope.diagnose import Diagnosis
from stethoscope.findings import Finding, Severity
from stethoscope.prescription import Edit
from stethoscope.report.address import brief
from stethoscope.report.clean_text import one_line, shortened, visible
from stethoscope.report.html.sections.headline import BADGE, how_sure
from stethoscope.report.sections import headline, reading
from stethoscope.report.sections.causes import heading, is_probable, title_of
from stethoscope.report.sections.findings import by_reason, left_over
from stethoscope.report.sparkline import sparkline
from stethoscope.report.telling_series import telling_series
from stethoscope.report.timeline import timeline
from stethoscope.report.words import certainty, count, listed, number
from stethoscope.run import Where

LONGEST = 65_000  # characters; GitHub refuses more than 65,536
LONGEST_TEXT = 600  # of one message
LONGEST_NAME = 120
LONGEST_DIFF_LINES, LONGEST_DIFF_LINE = 120, 300
MOST_PLACES = 3
MOST_ARGUMENTS = 6
MOST_ROWS = 30  # of a folded list
CURVE = 32  # letters of a sparkline
RULES_NAMED = 6


def render(diagnosis: Diagnosis) -> str:
    """The report as Markdown in GitHub's dialect, ended by a newline."""
    kept: list[str] = []
    left: list[str] = []
    room = LONGEST - 500  # for the line that names what was left out
    for title, part in _parts(diagnosis):
        if len(part) + 2 <= room:
            kept.append(part)
            room -= len(part) + 2
        else:
            left.append(title)
    if left:
        kept.append(f"*Left out, being too long: {', '.join(left)}.*")
    return "\n\n".join([*kept, f"<sub>Stethoscope {__version__}</sub>"]) + "\n"


def _parts(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    """The sections with their titles, the most important first; empty ones are not given."""
    explanation, advised = diagnosis.explanation, diagnosis.prescription
    yield "verdict", _verdict(diagnosis)
    if curve := _curve(diagnosis):
        yield "curve", curve
    sections = [
        (heading(explanation), _causes(diagnosis), False),
        (
            "Found, and explained by no cause",
            [_finding(one.finding) for one in left_over(explanation)],
            False,
        ),
        ("What to change", [_edit(edit) for edit in advised.edits], False),
        ("What to do", _bullets(advised.advice), False),
        ("Where to go back to", _checkpoint(diagnosis), False),
        ("What the next run should show", _bullets(advised.expect), False),
        ("Looks alarming, is not", _benign(diagnosis), True),
        ("Considered, not recommended", _not_recommended(diagnosis), True),
        ("What happened", _happenings(diagnosis), True),
        ("What would tell most", _questions(diagnosis), True),
        ("Noted", _notes(diagnosis), True),
        ("Not examined", _not_examined(diagnosis), True),
        ("Read", _bullets(reading.files(diagnosis.run)), True),
    ]
    for title, lines, folded in sections:
        if lines:
            yield title, _folded(title, lines) if folded else "\n".join([f"### {title}", "", *lines])


def _verdict(diagnosis: Diagnosis) -> str:
    name = text(one_line(diagnosis.run.name, LONGEST_NAME)) or "This run"
    lines = [f"## {name}: {BADGE[diagnosis.verdict]} ({how_sure(diagnosis)})", ""]
    lines += [f"- {text(said)}" for said in headline.sentences(diagnosis)]
    if diagnosis.verdict is not Verdict.HEALTHY:
        lines += [f"- {text(said)}" for said in headline.baseline(diagnosis)]
    ended = f"{headline.extent(diagnosis.run)} {headline.ended(diagnosis.ending)}"
    return "\n".join([*lines, "", f"{text(ended)}."])


def _curve(diagnosis: Diagnosis) -> str:
    telling = telling_series(diagnosis)
    drawn = sparkline(telling.series, CURVE) if telling else ""
    if telling is None or not drawn:
        return ""
    series, told = telling.series, []
    if telling.best is not None:
        value, step = float(series.values[telling.best]), int(series.steps[telling.best])
        told.append(f"best {number(value)} at {series.axis} {step:,}")
    if telling.onset is not None:
        told.append(f"trouble begins at {series.axis} {telling.onset:,}")
    if len(telling.non_finite):
        told.append(f"{count(len(telling.non_finite), 'value')} not finite")
    return f"{code(series.name)} {code(drawn)} {text('; '.join(told))}".rstrip()


def _causes(diagnosis: Diagnosis) -> list[str]:
    lines: list[str] = []
    told: set[Finding] = set()
    probable = [cause for cause in diagnosis.explanation.causes if is_probable(cause)]
    for at, cause in enumerate(probable, start=1):
        lines += _cause(at, cause, told)
        told.update(f for a in (*cause.arguments_for, *cause.arguments_against) for f in a.findings)
    return lines


def _cause(at: int, cause: RankedCause, told: Set[Finding]) -> Iterator[str]:
    sure = certainty(cause.standing, cause.probability)
    root = f", a consequence of {code(cause.consequence_of)}" if cause.consequence_of else ""
    yield f"{at}. **{text(title_of(cause))}** ({sure}; {code(cause.name)}{root})"
    arguments = (*cause.arguments_for, *cause.arguments_against)
    yield from (f"   - {_argument(argument, told)}" for argument in arguments[:MOST_ARGUMENTS])
    if len(arguments) > MOST_ARGUMENTS:
        yield f"   - and {len(arguments) - MOST_ARGUMENTS} more"
    if cause.standing is not Standing.PROVED:
        yield f"   - to confirm: {text(cause.entry.cause.confirm_by)}"
        if against := speaks_against(cause):
            yield f"   - refuted if: {text(against)}"


def _argument(argument: Argument, told: Set[Finding]) -> str:
    """What speaks for or against a cause; a finding that was told above only by its address."""
    side = "for" if argument.weight > 0 else "against"
    finding = argument.finding if argument.finding not in told else None
    seen = f": {text(finding.message)}" if finding else ""
    proof = f" Proof: {text(finding.proof)}." if finding and finding.proof else ""
    return f"{side}: {text(argument.reason)}{seen}{_places(argument.where)}{proof}"


def _finding(finding: Finding) -> str:
    return f"- {text(finding.message)}{_places(finding.places)}"


def _places(places: Sequence[Where]) -> str:
    unique = list(dict.fromkeys(places))
    more = f" and {len(unique) - MOST_PLACES:,} more" if len(unique) > MOST_PLACES else ""
    shown = ", ".join(code(one_line(brief(place), LONGEST_TEXT)) for place in unique[:MOST_PLACES])
    return f" ({shown}{more})" if shown else ""


def _edit(edit: Edit) -> str:
    cures = ", ".join(code(name) for name in edit.cures)
    record = "; this file is a record: mend the one it was copied from" if not edit.maintained else ""
    lines = [visible(shortened(line, LONGEST_DIFF_LINE)) for line in edit.diff.splitlines()]
    if len(lines) > LONGEST_DIFF_LINES:
        lines = [*lines[:LONGEST_DIFF_LINES], f"... {len(lines) - LONGEST_DIFF_LINES:,} more lines"]
    trust = f"{edit.level.value}; {text(edit.proof)}{record}"
    return f"{code(edit.file)}: {text(edit.remedy)}, for {cures} ({trust})\n\n{fenced(lines, 'diff')}\n"


def _checkpoint(diagnosis: Diagnosis) -> list[str]:
    advised, note = diagnosis.prescription.checkpoint, diagnosis.prescription.checkpoint_note
    lines = []
    if advised is not None:
        step = f" (step {advised.step:,})" if advised.step is not None else ""
        lost = f" Resuming from it loses: {text('; '.join(advised.loses))}." if advised.loses else ""
        lines.append(f"{code(advised.path)}{step}: {text(advised.why)}.{lost}")
    return [*lines, text(note)] if note else lines


def _benign(diagnosis: Diagnosis) -> list[str]:
    return [f"- **{text(b.entry.cause.title)}**: {text(b.why)}" for b in diagnosis.explanation.benign]


def _not_recommended(diagnosis: Diagnosis) -> list[str]:
    return [
        f"- **{text(one.what)}**: {text(one.why)}{_places(one.where)}"
        for one in diagnosis.prescription.not_recommended
    ]


def _happenings(diagnosis: Diagnosis) -> list[str]:
    rows = [
        f"- {one.axis} {one.step:,}: {text(one.title)}" if one.step is not None else f"- {text(one.title)}"
        for one in timeline(diagnosis)
    ]
    return _few(rows)


def _questions(diagnosis: Diagnosis) -> list[str]:
    return [
        f"- {one.means.value}: {text(one.what)} ({one.bits:.2g} bits, about "
        f"{text(listed(list(one.decides), RULES_NAMED))})"
        for one in diagnosis.explanation.ask
    ]


def _notes(diagnosis: Diagnosis) -> list[str]:
    noted = [found for found in diagnosis.examination.found if found.severity is Severity.NOTE]
    return _few([_finding(found.finding) for found in noted])


def _not_examined(diagnosis: Diagnosis) -> list[str]:
    rows = []
    for (why, log_this), rules in by_reason(diagnosis.examination.not_examined).items():
        names = listed([one.rule.code for one in rules], RULES_NAMED)
        log = f" To log it: {code(one_line(log_this, LONGEST_TEXT))}" if log_this else ""
        rows.append(f"- {text(why.rstrip('.'))} ({names}).{log}")
    return _few(rows)


def _bullets(lines: Iterable[str]) -> list[str]:
    return _few([f"- {text(line)}" for line in lines])


def _few(rows: list[str]) -> list[str]:
    return rows if len(rows) <= MOST_ROWS else [*rows[:MOST_ROWS], f"- and {len(rows) - MOST_ROWS:,} more"]


def _folded(title: str, lines: Sequence[str]) -> str:
    body = "\n".join(lines)
    return f"<details><summary>{title} ({len(lines)})</summary>\n\n{body}\n\n</details>"


# --- escaping

_ACTS = re.compile(r"[\\`*_\[\]|~$]")
_CALLS = re.compile(r"([@#])(?=\w)")
_BEGINS_A_BLOCK = re.compile(r"^([-+=>]|\d{1,9}[.)])")


def text(said: str) -> str:
    """Words that Markdown shows as they are, on one line."""
    shown = _encodable(one_line(said, LONGEST_TEXT)).replace("&", "&amp;").replace("<", "&lt;")
    shown = _ACTS.sub(lambda found: f"\\{found[0]}", shown.replace(">", "&gt;"))
    shown = _CALLS.sub(r"\1<!-- -->", shown)  # a mention or an issue's number would call somebody
    return _BEGINS_A_BLOCK.sub(lambda found: found[0][:-1] + f"\\{found[0][-1]}", shown)


def code(said: str) -> str:
    """A name as code, whatever it holds."""
    shown = _encodable(one_line(said, LONGEST_TEXT))
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    space = " " if shown.startswith("`") or shown.endswith("`") or not shown else ""
    return f"{ticks}{space}{shown}{space}{ticks}"


def fenced(lines: Sequence[str], language: str) -> str:
    """Lines as a block of code that none of them can end."""
    body = _encodable("\n".join(lines))
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", body)), default=0))
    return f"{fence}{language}\n{body}\n{fence}"


def _encodable(said: str) -> str:
    return said.encode("utf-8", errors="replace").decode("utf-8")
