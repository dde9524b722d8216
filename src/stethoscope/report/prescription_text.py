"""A prescription for people: what to change, the ways to go on with their price, and what to try next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from stethoscope.diagnose import Diagnosis
from stethoscope.prescription.applying.plan import Plan, Reason
from stethoscope.prescription.cost import Cost
from stethoscope.prescription.course import Course, Option
from stethoscope.prescription.ladder import Rung
from stethoscope.prescription.resuming import Resume
from stethoscope.report.address import address
from stethoscope.report.clean_text import one_line, visible
from stethoscope.report.line import BLANK, Line, printed
from stethoscope.report.palette import HEADING
from stethoscope.report.sections import headline, prescription
from stethoscope.report.words import count, percent

NAME_WIDTH = 8


def render(
    diagnosis: Diagnosis, course: Course, plan: Plan, console: Console, *, verbose: bool = False
) -> str:
    """The prescription as this console would show it."""
    return printed(_report(diagnosis, course, plan, verbose), console)


def _report(diagnosis: Diagnosis, course: Course, plan: Plan, verbose: bool) -> Iterator[Line]:
    advised = diagnosis.prescription
    yield from headline.verdict(diagnosis)
    sections = (
        ("What to change", [*prescription.edits(advised, verbose)]),
        ("What to do", [*prescription.advice(advised)]),
        ("Ways to go on", [*_options(course.options)]),
        ("Resume", [*_resume(course.resume)]),
        ("If it persists", [*_ladder(course.ladder)]),
        ("Considered, not recommended", [*prescription.not_recommended(advised, verbose)]),
        ("Log next time", [*prescription.to_log(advised)]),
    )
    for title, lines in sections:
        if lines:
            yield BLANK
            yield Line(Text(title, style=HEADING))
            yield from lines
    yield BLANK
    yield from _writing(plan)


def _options(options: Sequence[Option]) -> Iterator[Line]:
    said: set[str] = set()
    for option in options:
        bullet = f"{option.name:<{NAME_WIDTH}}"
        if not option.is_open:
            why = "the same holds" if option.why_not in said else one_line(option.why_not)
            said.add(option.why_not)
            yield Line(Text(f"not here: {why}"), indent=2, bullet=bullet)
            continue
        offered = f"{one_line(option.title)}: {cost_in_words(option.cost)}."
        yield Line(Text(offered), indent=2, bullet=bullet)
        if option.effect:
            effect = Text(f"Expect: {one_line(option.effect)}")
            yield Line(effect + address(option.where), indent=2 + NAME_WIDTH, hang=2)
        for proof in option.proof:
            yield Line(Text(f"Proof: {one_line(proof)}"), indent=2 + NAME_WIDTH, hang=2)


def _resume(resume: Resume | None) -> Iterator[Line]:
    if resume is None:
        return
    if resume.first:
        yield Line(Text(one_line(resume.first)), indent=2, hang=2)
    if resume.command is not None:
        yield Line(Text(visible(resume.command)), indent=2, verbatim=True)
    known = "How that is known: " if resume.command is not None else ""
    yield Line(Text(known + one_line(resume.how)) + address(resume.where), indent=2, hang=2)
    if resume.loses:
        yield Line(
            Text(f"A resume loses: {'; '.join(one_line(loss) for loss in resume.loses)}"), indent=2, hang=2
        )


def _ladder(rungs: Sequence[Rung]) -> Iterator[Line]:
    for number, rung in enumerate(rungs, start=1):
        price = "a line of logging" if rung.cost is None else cost_in_words(rung.cost)
        about = f" ({', '.join(rung.decides)}, {percent(rung.probability)}; {price})"
        yield Line(Text(one_line(rung.what) + about) + address(rung.where), indent=2, bullet=f"{number}. ")
        yield Line(Text(f"if it shows, {one_line(rung.if_so)}"), indent=5, hang=2)
        yield Line(Text(f"if not, {one_line(rung.if_not)}"), indent=5, hang=2)


def _writing(plan: Plan) -> Iterator[Line]:
    """What --write would do, and what else would have to be said for the rest."""
    if not plan.made and not plan.left:
        yield Line(Text("No edit is prescribed."))
        return
    if plan.changes:
        files = count(len(plan.changes), "file")
        made = count(len({edit.remedy for edit in plan.made}), "remedy", "remedies")
        yield Line(Text(f"--write applies {made}, in {files}."), hang=2)
    for reason, said in (
        (Reason.UNSAFE, "need --level unsafe"),
        (Reason.RECORD, "are in records of the run: --into DIR writes a mended copy"),
        (Reason.DISPLAY, "are shown only"),
    ):
        names = list(dict.fromkeys(one.edit.remedy for one in plan.left_for(reason)))
        if names:
            yield Line(Text(f"Not written, because they {said}: {', '.join(names)}."), hang=2)
    for one in plan.left_for(Reason.OUTSIDE, Reason.OVERLAP, Reason.REFUSED):
        yield Line(Text(f"Not written: {one.edit.remedy}: {one_line(one.why)}."), hang=2)


def cost_in_words(cost: Cost) -> str:
    """What something costs: steps, the share of the run, and hours where they are known."""
    if cost.steps == 0:
        return "no training"
    if cost.steps is None:
        return "how much training is not known"
    parts = [count(cost.steps, cost.unit)]
    if cost.share is not None:
        parts.append("as much as the whole run" if cost.share >= 1 else f"{percent(cost.share)} of the run")
    if cost.hours is not None:
        parts.append(_hours(cost.hours))
    return ", ".join(parts)


def _hours(hours: float) -> str:
    if hours < 1 / 60:
        return "less than a minute"
    return f"about {60 * hours:.0f} minutes" if hours < 2 else f"about {hours:.0f} hours"
