"""Reading a log in a test, and asking what was read for one of its series."""

from __future__ import annotations

from pathlib import Path

from stethoscope.errors import UnreadableFile
from stethoscope.logs import formats, head_of, read_log
from stethoscope.run import Log, Series
from tests.fixtures.logs.make import HERE

RECORDED, PRINTED = HERE / "recorded", HERE / "printed"


def series(log: Log, name: str) -> Series:
    found = [s for s in log.series if s.name == name]
    assert len(found) == 1, [(s.name, s.logged_as) for s in log.series]
    return found[0]


def points(log: Log, name: str) -> list[tuple[int, float]]:
    return list(series(log, name))


def written(tmp_path: Path, text: str, name: str = "x.log") -> Log:
    (tmp_path / name).write_text(text, newline="", encoding="utf-8")
    return read_log(tmp_path / name)


def read_under_another_name(path: Path, form: str, tmp_path: Path) -> Log:
    """The log under a name that tells nothing: one format alone is surest of it."""
    other = tmp_path / "x.log"
    other.write_bytes(path.read_bytes())
    sureness = {module.FORMAT: module.recognise(head_of(other, "x.log")) for module in formats()}
    assert max(sureness, key=lambda name: sureness[name]) == form
    assert sorted(sureness.values())[-2] < sureness[form]
    log = read_log(other)
    assert log.format == form
    assert log.points > 0
    return log


def assert_read_or_refused(path: Path) -> None:
    try:
        log = read_log(path)
    except UnreadableFile:
        return
    for found in log.series:
        assert len(found.steps) == len(found.values)
