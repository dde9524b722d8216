"""A run held to its trajectory as workflow commands: GitHub shows each departure beside its band."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.report.check_words import headline, sentences
from stethoscope.report.clean_text import one_line
from stethoscope.trajectory.holding import Judgement, not_examined


def render(judgement: Judgement) -> str:
    """One line for each departure and each signal that could not be examined, then the outcome."""
    return "".join(f"{line}\n" for line in _lines(judgement))


def _lines(judgement: Judgement) -> Iterator[str]:
    lines, file = judgement.trajectory.lines, judgement.trajectory.file
    for name, told in sentences(judgement):
        yield _command("error", name, told, file, lines.get(name, 1))
    for name, why, log_this in not_examined(judgement):
        told = f"{why}; log it: {log_this}" if log_this else why
        yield _command("warning", name, told, file, lines.get(name, 1))
    yield one_line(headline(judgement))


def _command(level: str, name: str, told: str, file: str, line: int) -> str:
    place = f"title={_value(name)}"
    place += f",file={_value(file)},line={line}" if file else ""
    return f"::{level} {place}::{_escaped(one_line(f'{name}: {told}'))}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _value(text: str) -> str:
    return _escaped(one_line(text)).replace(":", "%3A").replace(",", "%2C")
