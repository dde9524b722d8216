"""The page about the casebook: what Stethoscope says about real failures, case by case."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.casebook.cases import Answer, answer, stories  # noqa: E402
from tests.casebook.missed import MISSED  # noqa: E402

PAGE = ROOT / "docs" / "science" / "casebook.md"
CASES = "../../tests/casebook"
WHAT_IT_IS = """\
Failures that people met in public, most of them with a cause that was confirmed: by a cure that worked, by
a maintainer who saw the same, by a change that was merged. Each was written again as a run directory, in the
format of its framework, with settings and source where the person had them; the shapes of the curves and the
figures are those of the report, the words and the noise are our own. What would be right to say was written
down before Stethoscope was asked; four cases were corrected after their answer had been seen, one of them in
what counts as right: amp-accelerate-101, amp-fairscale-263, amp-dfine-64 and bn-pl-14085."""
HOW_IT_CAME_ABOUT = """\
When the cases were first shown to Stethoscope it named a right cause in 21 of 63, and in 28 once three slips
in the cases were mended and the sources held the networks that a repository has. Where a rule was blind, it
was mended or written, with cases and healthy twins of its own. So this is no measure of what it does on
failures that nobody here has seen: [the benchmark](../benchmarks.md) is."""
WHAT_IS_LEFT_OUT = """\
Failures whose cause is no more than the version of a library or a bad driver are left out, because nothing
in a run's directory tells them; so are those that show only in what a model generates."""
OF_OUTCOME = {"Silent": "nothing is wrong", "Unknown": "never found out"}


def casebook_pages() -> Iterator[tuple[Path, str]]:
    """The one page there is."""
    answers = [answer(story) for story in stories()]
    yield PAGE, "\n\n".join(_parts(answers)) + "\n"


def _parts(answers: Sequence[Answer]) -> Iterator[str]:
    known = [one for one in answers if one.story.outcome == "Right"]
    right = [one for one in known if one.is_right]
    first = [one for one in known if one.first[:1] and one.first[0] in one.story.right]
    controls = [one for one in answers if one.story.outcome == "Silent"]
    riddles = [one for one in answers if one.story.outcome == "Unknown"]
    yield "# The casebook"
    yield "<!-- Written by scripts/docs from tests/casebook; change the cases instead. -->"
    yield WHAT_IT_IS
    yield (
        f"Of {len(known)} cases with a known cause, a right one is among the first three that are named in "
        f"**{len(right)}** ({len(right) / len(known):.0%}), and is the first in {len(first)}. "
        f"Of {len(controls)} runs with which nothing was wrong, {sum(one.is_right for one in controls)} are "
        f"given no cause that stands. Of {len(riddles)} whose cause was never found, "
        f"{sum(one.is_right for one in riddles)} are left open."
    )
    yield HOW_IT_CAME_ABOUT
    yield WHAT_IS_LEFT_OUT
    for family, members in groupby(answers, key=lambda one: one.story.family):
        yield f"## {family.capitalize()}"
        yield _table(list(members))
    yield "## What is missed, and why"
    yield "\n".join(f"- **{name}**: {why}." for name, why in MISSED.items())


def _table(members: Sequence[Answer]) -> str:
    lines = ["| case | framework | what was seen | right | what is said |", "|---|---|---|---|---|"]
    lines += [_row(one) for one in members]
    return "\n".join(lines)


def _row(one: Answer) -> str:
    story = one.story
    link = f"[{story.name}]({CASES}/{story.family}/{story.name}.md)"
    right = ", ".join(story.right) or OF_OUTCOME[story.outcome]
    said = ", ".join(one.first) or "nothing"
    mark = "" if one.is_right else " (missed)"
    return f"| {link} | {story.framework} | {story.seen} | {right} | {said}; {one.verdict}{mark} |"
