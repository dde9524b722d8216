"""The review as Markdown, for an issue or a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stethoscope.report.clean_text import one_line
from stethoscope.report.review_words import ORDER, SPOKEN, change_in_words, summary
from stethoscope.review import Claim, Review
from stethoscope.run import Where

LONGEST = 400
_ACTIVE = re.compile(r"([\\`*_{}\[\]<>#|!~@$])")


def render(review: Review) -> str:
    """The review as one Markdown text."""
    return "\n".join(_lines(review)) + "\n"


def _lines(review: Review) -> Iterator[str]:
    yield "# Review of " + ", ".join(_text(one) for one in review.documents)
    yield ""
    against = (
        f"Held to {_code(review.run)}, which is {review.verdict}. " if review.run else "No run was given. "
    )
    yield against + summary(review)
    if review.claims:
        yield from ("", "| ruling | claim | why | where |", "| --- | --- | --- | --- |")
        for claim in sorted(review.claims, key=lambda one: ORDER.index(one.ruling)):
            yield _row(claim)
    if review.missed:
        yield from ("", "## Not mentioned, and found in the run", "")
        for one in review.missed:
            yield f"- **{_text(one.title)}** ({one.standing}): {_text(one.why)}{_places(one.where)}"
    if review.contradictions:
        yield from (
            "",
            "## The documents contradict each other",
            "",
            "| key | document | wants |",
            "| --- | --- | --- |",
        )
        for found in review.contradictions:
            for _, value, where in found.sides:
                yield f"| {_code(found.key)} | {_code(str(where))} | {_code(value)} |"
    settled = [claim for claim in review.claims if claim.settle_by]
    if settled:
        yield from ("", "## To settle it", "")
        for command in dict.fromkeys(claim.settle_by for claim in settled):
            yield from ("```sh", one_line(command).replace("```", "'''"), "```")
    if review.unparsed:
        number = len(review.unparsed)
        said = "1 sentence was" if number == 1 else f"{number:,} sentences were"
        yield from ("", f"{said} not judged: no change of a setting, no figure of a series.")


def _row(claim: Claim) -> str:
    cells = (
        f"**{SPOKEN[claim.ruling]}**",
        _code(change_in_words(claim.change)),
        _text(claim.judgement.why)
        + _places(tuple(p for f in claim.judgement.evidence for p in f.where if f.source == "run")[:2]),
        ", ".join(_code(str(place)) for place in claim.where[:3]),
    )
    return "| " + " | ".join(cells) + " |"


def _places(places: tuple[Where, ...]) -> str:
    return f" ({', '.join(_code(str(place)) for place in dict.fromkeys(places))})" if places else ""


def _text(text: object) -> str:
    """Text from a stranger: whatever it holds is shown and never acts."""
    return _ACTIVE.sub(r"\\\1", one_line(text, LONGEST))


def _code(text: object) -> str:
    return "`" + one_line(text, 200).replace("`", "'").replace("|", "\\|") + "`"
