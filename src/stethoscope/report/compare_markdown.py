"""A comparison as Markdown, for an issue or a logbook."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.compare.comparison import Comparison
from stethoscope.report import compare_words as words
from stethoscope.report.clean_text import one_line, visible
from stethoscope.report.words import listed, number


def render(compared: Comparison) -> str:
    """The comparison as Markdown, ended by a newline."""
    return "\n".join(_lines(compared)) + "\n"


def _lines(compared: Comparison) -> Iterator[str]:
    good, bad = words.names(compared)
    yield f"# {_text(bad)} against {_text(good)}"
    yield ""
    for said in (words.headline(compared), words.equality(compared), words.verdict_on_differences(compared)):
        if said:
            yield _text(said)
            yield ""
    yield from _signals(compared)
    yield from _differences(compared)
    yield from _findings(compared)
    for said in (words.folded(compared), words.unknowns(compared), compared.code.note):
        if said:
            yield f"- {_text(said)}"


def _signals(compared: Comparison) -> Iterator[str]:
    parted = compared.signals.parted
    if parted:
        yield "| signal | from step | sure by | good | bad | how |"
        yield "|---|---|---|---|---|---|"
        for one in parted:
            if one.part is not None:
                part = one.part
                cells = (
                    _text(one.name),
                    f"{part.step:,}",
                    f"{part.sure:,}",
                    number(part.good),
                    number(part.bad),
                )
                yield f"| {' | '.join(cells)} | {part.how.value} |"
        yield ""
    alike = [one.name for one in compared.signals.compared if one.part is None]
    if alike:
        yield f"Do not part: {_text(listed(alike, words.LONGEST_LIST))}."
        yield ""


def _differences(compared: Comparison) -> Iterator[str]:
    for title, can_act in (("What differs and can act", True), ("What differs and cannot explain it", False)):
        every = [one for one in compared.suspects if one.can_act is can_act]
        if not every:
            continue
        yield f"## {title}"
        yield ""
        for one in every:
            places = f" ({'; '.join(_text(str(place)) for place in one.where)})" if one.where else ""
            why = f": {_text(words.reasons(one))}" if one.why else ""
            yield f"- {one.kind} **{_text(one.what)}**{places}{why}"
            for code in compared.code.changed:
                if can_act and one.kind == "code" and one.what == f"{code.name} {code.what}" and code.diff:
                    yield ""
                    yield "  ```diff"
                    yield from (f"  {visible(row).replace('```', '` ` `')}" for row in code.diff.splitlines())
                    yield "  ```"
        yield ""


def _findings(compared: Comparison) -> Iterator[str]:
    for title, every in (
        ("Found in the bad run only", compared.findings.only_bad),
        ("Found in the good run only", compared.findings.only_good),
    ):
        if every:
            yield f"## {title}"
            yield ""
            for found in every:
                place = f" ({_text(str(found.finding.places[0]))})" if found.finding.places else ""
                rule = f"{found.severity.value} {found.rule.code} {found.rule.name}"
                yield f"- {rule}: {_text(found.finding.message)}{place}"
            yield ""


def _text(said: str) -> str:
    """Text of strangers, which is not to act as Markdown or HTML."""
    return "".join(f"\\{letter}" if letter in "\\`*_<>[]|#" else letter for letter in one_line(said))
