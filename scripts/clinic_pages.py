"""Pages about the clinic, from its cases and their recorded trials."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from stethoscope.clinic.case import Case, Change, Role
from stethoscope.clinic.catalogue import cases
from stethoscope.clinic.recorded import Finding, Record, recorded
from stethoscope.figures import svg
from stethoscope.figures.chart import Estimate, Estimates, Figure, Tone

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "clinic"
PICTURES = ROOT / "docs" / "pictures" / "clinic"
WRITE_UPS = {
    "000": "TRAINING_DEGRADATION_ANALYSIS",
    "001": "CRITICAL_TRAINING_FIX",
    "002": "training_issues_analysis",
    "003": "TRAINING_LOSS_ANALYSIS_SUMMARY",
    "004": "STABILITY_FIXES",
}
NOT_MEASURED, UNDECIDED, NO_EFFECT = "not measured", "undecided", "no effect"
REFUSED = "cannot be applied"
RARE = 0.8  # of the seeds must fall sick, or the case is called rare
TONES: dict[str, Tone] = {"necessary": "good", "sufficient": "good", "helpful": "good", "harmful": "bad"}
HEADINGS = {
    Role.CURE: "What cures it",
    Role.ADVICE: "What was advised",
    Role.PLACEBO: "What cannot act",
}


def clinic_pages() -> Iterator[tuple[Path, str]]:
    """Every page: one for each case, and the table of what the write-ups proposed."""
    yield PAGES / "README.md", "\n".join(_overview()) + "\n"
    for case in cases():
        yield PAGES / f"{case.name}.md", "\n".join(_case(case)) + "\n"
        if record := recorded(case.name):
            yield PICTURES / f"{case.name}.svg", svg.render(_picture(case, record))


def _picture(case: Case, record: Record) -> Figure:
    """What each change does alone, with its interval."""
    changes = [(change, record.finding(change.name)) for change in case.changes]
    rows = [_row(change, found) for change, found in changes if found and found.low is not None]
    unit = f" ({case.metric.unit})" if case.metric.unit else ""
    margin = (-record.margin, record.margin) if record.margin > 0 else None
    return Figure(
        f"{case.name}: what each change does to {case.metric.name}",
        [Estimates(x_label=f"better by{unit}", rows=rows, reference=0.0, margin=margin)],
        columns=1,
        caption=f"{record.seeds} paired seeds; bars are 95 % intervals of the paired difference, each change "
        f"alone, counted so that more is better. Grey: no effect (+-{record.margin:.3g}).",
    )


def _row(change: Change, found: Finding) -> Estimate:
    mean, low, high = (value or 0.0 for value in (found.mean, found.low, found.high))
    tone = TONES.get(found.classes[0], "muted")
    return Estimate(change.name, mean, low, high, tone=tone, text=found.spoken)


def _overview() -> Iterator[str]:
    yield "# The clinic"
    yield ""
    yield "Small, real trainings in the shape of some that failed in public. `stethoscope clinic list` shows"
    yield "them, `stethoscope clinic run CASE` trains one sick and cured, and `stethoscope clinic trial CASE`"
    yield "puts every change to the test."
    yield ""
    yield "| case | | recorded trial |"
    yield "|---|---|---|"
    for case in cases():
        record = recorded(case.name)
        told = "none yet" if record is None else f"{record.seeds} seeds{_cut_short(record)}"
        benign = " Nothing is wrong with it." if case.benign else ""
        yield f"| [{case.name}]({case.name}.md) | {case.title}.{benign} | {told} |"
    yield from _nulls()
    yield from _surprises()
    for number, name in WRITE_UPS.items():
        yield from _write_up(number, name)


def _nulls() -> Iterator[str]:
    """How often what cannot act is said to do nothing."""
    found = [
        _said(case, change) for case in cases() for change in case.changes if change.role is Role.PLACEBO
    ]
    found += [record.placebo.spoken for case in cases() if (record := recorded(case.name)) and record.placebo]
    measured = [said for said in found if said != NOT_MEASURED]
    if not measured:
        return
    nothing = measured.count(NO_EFFECT)
    yield ""
    yield (
        f"Of {len(measured)} changes that cannot act (comments, settings that nothing reads, denser logs, "
        f'another shuffle), {nothing} were found to have "{NO_EFFECT}": {nothing / len(measured):.1%}.'
    )


def _surprises() -> Iterator[str]:
    """What was measured and not foreseen."""
    every = [(case, change) for case in cases() for change in case.changes if change.role is not Role.PLACEBO]
    surprising = [one for one in every if not _is_foreseen(*one)]
    if not surprising:
        return
    yield ""
    yield "## Where the measurement disagrees with the prediction"
    yield ""
    yield "| case | change | predicted | found | alone (95 % interval) |"
    yield "|---|---|---|---|---|"
    for case, change in surprising:
        effect = _effect(_finding(case, change))
        yield (
            f"| [{case.name}]({case.name}.md) | {change.title} | {_predicted(change)} "
            f"| {_found(case, change)} | {effect} |"
        )


def _is_foreseen(case: Case, change: Change) -> bool:
    said = _said(case, change)
    classes = set(said.split(" and "))
    return said in (NOT_MEASURED, UNDECIDED) or not change.predicted or bool(classes & set(change.predicted))


def _write_up(number: str, name: str) -> Iterator[str]:
    """What one write-up proposed, and what came of it."""
    proposed = [
        (claim, case, change)
        for case in cases()
        for change in case.changes
        for claim in change.claims
        if claim.partition(".")[0] == number
    ]
    if not proposed:
        return
    yield ""
    yield f"## Write-up {number} ({name})"
    yield ""
    yield "| claim | proposed | case | predicted | found |"
    yield "|---|---|---|---|---|"
    for claim, case, change in sorted(proposed, key=lambda one: _claim_order(one[0])):
        yield (
            f"| {claim} | {change.title} | [{case.name}]({case.name}.md) | {_predicted(change)} "
            f"| {_found(case, change)} |"
        )


def _claim_order(claim: str) -> tuple[int, str]:
    number = claim.partition(".")[2]
    return (int(number) if number.isdigit() else 0, claim)


def _case(case: Case) -> Iterator[str]:
    yield f"# {case.name}"
    yield ""
    yield f"{case.title}. {case.story}"
    yield ""
    yield f"    stethoscope clinic run {case.name}"
    record = recorded(case.name)
    if record is not None:
        yield ""
        yield from _record(case, record)
    for role, heading in HEADINGS.items():
        of_role = [change for change in case.changes if change.role is role]
        if of_role:
            yield ""
            yield from _changes(case, heading, of_role)
    if case.exaggerated:
        yield ""
        yield "## What was exaggerated to make it sick in minutes"
        yield ""
        yield from (f"- {line}" for line in case.exaggerated)
    yield ""


def _record(case: Case, record: Record) -> Iterator[str]:
    metric = case.metric
    better = "more is better" if metric.goal == "max" else "less is better"
    yield "## What was measured"
    yield ""
    yield (
        f"{record.seeds} paired seeds{_cut_short(record)}, {metric.name}"
        f"{f' ({metric.unit})' if metric.unit else ''} by a yardstick that no change can reach; {better}. "
        f"No effect means surely less than {record.margin:.3g}: {record.margin_why}."
    )
    yield ""
    yield "| arm | " + " | ".join(f"seed {seed}" for seed in range(record.seeds)) + " |"
    yield "|---|" + "---|" * record.seeds
    for arm, scores in record.scores.items():
        if scores:
            shown = " | ".join("failed" if score is None else f"{score:.4g}" for score in scores)
            yield f"| {arm} | {shown} |"
    if metric.bar is not None:
        yield ""
        yield f"Doing nothing scores {metric.bar:.4g}. " + _sick(case, record)
    yield ""
    yield f"![{case.name}: what each change does](../pictures/clinic/{case.name}.svg)"
    yield ""
    yield f"To repeat it: `stethoscope clinic trial {case.name} --seeds {record.seeds}`."
    for found in record.again:
        seeds = f"--seeds {len(found.seeds)} --first-seed {found.seeds.start}"
        yield (
            f"{found.change} was undecided, and was tried again with further seeds: "
            f"`stethoscope clinic trial {case.name} --only {found.change} {seeds}`."
        )


def _sick(case: Case, record: Record) -> str:
    """How many of the sick runs end below the worst cured one."""
    sick, cured = record.scores["sick"], record.scores["cured"]
    known = [score for score in cured if score is not None]
    if not known or not sick:
        return ""
    sign = 1.0 if case.metric.goal == "max" else -1.0
    worst = min(sign * score for score in known)
    below = sum(score is None or sign * score < worst for score in sick)
    rare = "" if below >= RARE * len(sick) else " **This case is rare**: fewer than 4 of 5 seeds fall sick."
    return f"{below} of {len(sick)} sick runs end worse than every cured one.{rare}"


def _changes(case: Case, heading: str, changes: list[Change]) -> Iterator[str]:
    yield f"## {heading}"
    yield ""
    yield "| change | | write-up | predicted | found | alone (95 % interval) | p |"
    yield "|---|---|---|---|---|---|---|"
    for change in changes:
        finding = _finding(case, change)
        yield (
            f"| {change.name} | {change.title} | {', '.join(change.claims)} | {_predicted(change)} "
            f"| {_found(case, change)} | {_effect(finding)} | {_p(finding)} |"
        )


def _finding(case: Case, change: Change) -> Finding | None:
    record = recorded(case.name)
    return None if record is None else record.finding(change.name)


def _found(case: Case, change: Change) -> str:
    said = _said(case, change)
    return said if said == NOT_MEASURED else f"**{said}**{_tried_again(case, change)}"


def _tried_again(case: Case, change: Change) -> str:
    """That the first trial did not decide, and a second with other seeds did."""
    finding = _finding(case, change)
    return f" ({len(finding.seeds)} further seeds)" if finding and finding.seeds.start else ""


def _said(case: Case, change: Change) -> str:
    record = recorded(case.name)
    if not change.edits:
        return REFUSED
    return NOT_MEASURED if record is None else record.said(change.name) or NOT_MEASURED


def _predicted(change: Change) -> str:
    return " or ".join(change.predicted)


def _effect(finding: Finding | None) -> str:
    if finding is None or finding.mean is None:
        return ""
    if finding.low is None or finding.high is None:
        return f"{finding.mean:+.3g}"
    return f"{finding.mean:+.3g} ({finding.low:+.3g} to {finding.high:+.3g})"


def _p(finding: Finding | None) -> str:
    return "" if finding is None or finding.p is None else f"{finding.p:.2g}"


def _cut_short(record: Record) -> str:
    return "" if record.complete else ", cut short"
