"""What to do: the edits with their level and proof, the checkpoint, and what the next run should show."""

from __future__ import annotations

from collections.abc import Iterable

from stethoscope.prescription import Edit, Level, NotRecommended, Prescription
from stethoscope.prescription.course import Course
from stethoscope.report.clean_text import one_line
from stethoscope.report.html.anchors import CHECKPOINT
from stethoscope.report.html.diffs import highlighted
from stethoscope.report.html.markup import NOTHING, Child, Markup, element, joined
from stethoscope.report.html.places import Atlas, cause_link, places
from stethoscope.report.html.sections import ways

MEANING = {
    Level.SAFE: "proved, local, undoable",
    Level.UNSAFE: "proved only elsewhere, or changes the experiment",
    Level.DISPLAY: "shown only, never applied",
}


def section(prescription: Prescription, course: Course, atlas: Atlas) -> Markup:
    """Edits, advice, checkpoint, ways to go on, expectations, and what not to do."""
    parts = [
        _edits(prescription.edits, atlas),
        _list("What to do", "ol", prescription.advice),
        _checkpoint(prescription),
        ways.section(course, atlas),
        _list("What the next run should show", "ul", prescription.expect),
        _not_recommended(prescription.not_recommended, atlas),
        _to_log(prescription.log_next_time),
    ]
    if not any(parts):
        return NOTHING
    return element(
        "section", element("h2", "Prescription"), parts, id="prescription", aria_label="Prescription"
    )


def _edits(edits: Iterable[Edit], atlas: Atlas) -> Markup:
    shown = [_edit(edit, atlas) for edit in edits]
    return joined(element("h3", "What to change"), shown) if shown else NOTHING


def _edit(edit: Edit, atlas: Atlas) -> Markup:
    cures: list[Child] = []
    for name in edit.cures:
        cures += [", " if cures else "", cause_link(name, atlas)]
    record = "" if edit.maintained else " This file is a record: mend the one it was copied from."
    return element(
        "div",
        element("p", element("code", edit.file), " ", element("strong", edit.remedy), ", for ", cures),
        element(
            "p",
            element("span", edit.level.value, class_=f"level {edit.level.value}", title=MEANING[edit.level]),
            f" {MEANING[edit.level]}. Proof: {one_line(edit.proof)}.{record}",
            class_="faint",
        ),
        highlighted(edit.diff),
        class_="edit",
    )


def _checkpoint(prescription: Prescription) -> Markup:
    advised, note = prescription.checkpoint, prescription.checkpoint_note
    if advised is None and not note:
        return NOTHING
    parts: list[Child] = [element("h3", "Where to go back to")]
    if advised is not None:
        step = f" (step {advised.step:,})" if advised.step is not None else ""
        parts.append(element("p", element("code", advised.path), f"{step}: {one_line(advised.why)}"))
        if advised.loses:
            lost = [element("li", one) for one in advised.loses]
            parts.append(element("div", element("p", "Resuming from it loses:"), element("ul", lost)))
    if note:
        parts.append(element("p", note))
    return element("div", parts, id=CHECKPOINT, tabindex="-1")


def _not_recommended(considered: Iterable[NotRecommended], atlas: Atlas) -> Markup:
    rows = [
        element("li", element("strong", one.what), f": {one_line(one.why)}", places(one.where, atlas))
        for one in considered
    ]
    if not rows:
        return NOTHING
    return joined(element("h3", "Considered, not recommended"), element("ul", rows))


def _to_log(lines: Iterable[str]) -> Markup:
    rows = [element("li", element("code", line)) for line in lines]
    return joined(element("h3", "Log next time"), element("ul", rows)) if rows else NOTHING


def _list(title: str, kind: str, lines: Iterable[str]) -> Markup:
    rows = [element("li", line) for line in lines]
    return joined(element("h3", title), element(kind, rows)) if rows else NOTHING
