"""Fixes of many findings, applied to files."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.findings import Finding, RuleEntry, Severity, Subject
from stethoscope.lint.files import gather
from stethoscope.lint.fixing import Fixed, fix, write
from stethoscope.run import Fix, Level, Program, Splice, Where
from stethoscope.run import Run as Examined
from stethoscope.signals import Missing
from stethoscope.signals.settings import Settings
from tests.lint.trainings import HEALTHY, SICK, written

FIXED = SICK.replace("ssim(output, y)", "(1 - ssim(output, y))")


class Sources:
    """A signal: the program as it is."""

    def __init__(self, program: Program) -> None:
        self.program = program


def measure(run: Examined) -> Sources | Missing:
    """Found by the machinery beside the signal's class."""
    return Sources(run.program) if run.program else Missing("no source")


def rule(*words: str, to: str, level: Level = Level.SAFE, wide: int = 0) -> RuleEntry:
    """A rule that finds words in source and replaces them, and as many characters around."""

    def examine(sources: Sources) -> list[Finding]:
        return [
            Finding(
                Where(source.file, line=source.text[: source.text.index(word)].count("\n") + 1),
                f"{word} is there",
                fix=Fix(
                    f"write {to}",
                    level,
                    (
                        Splice(
                            source.file,
                            source.text.index(word) - wide,
                            source.text.index(word) + len(word),
                            to,
                        ),
                    ),
                ),
            )
            for source in sources.program
            for word in words
            if word in source.text
        ]

    examine.__annotations__ = {"sources": Sources}
    return RuleEntry("TST101", "test", "test", "0", Severity.WARNING, Subject.SOURCE, "A.", "A.", examine)


def fixed(folder: Path, *rules: RuleEntry, unsafe: bool = False) -> Fixed:
    return fix(gather([str(folder)]), (str(folder),), rules, unsafe=unsafe)


def test_a_fix_is_made_in_memory_and_then_written(tmp_path: Path) -> None:
    written(tmp_path, {"a.py": "x = 1\n"})
    done = fixed(tmp_path, rule("1", to="2"))
    assert (tmp_path / "a.py").read_text() == "x = 1\n"
    assert done.changes[0].texts == ("x = 1\n", "x = 2\n")
    assert len(done.mended) == 1
    assert done.report.findings == ()
    assert write(done.changes) == (done.changes, ())
    assert (tmp_path / "a.py").read_text() == "x = 2\n"


def test_overlapping_fixes_wait_for_the_next_round(tmp_path: Path) -> None:
    written(tmp_path, {"a.py": "value = alpha + beta\n"})
    done = fixed(tmp_path, rule("alpha + beta", to="gamma + beta"), rule("beta", to="delta"))
    assert done.changes[0].texts[1] == "value = gamma + delta\n"
    assert len(done.mended) == 2


def test_fixes_that_bring_about_others_come_to_an_end(tmp_path: Path) -> None:
    written(tmp_path, {"a.py": "x = a\n"})
    done = fixed(tmp_path, rule("a", to="aa"))
    assert len(done.mended) == 10


def test_a_fix_that_would_break_the_file_is_refused(tmp_path: Path) -> None:
    written(tmp_path, {"a.py": "x = 1\ny = 2\n"})
    done = fixed(tmp_path, rule("1", to="("), rule("2", to="3"))
    assert done.changes[0].texts[1] == "x = 1\ny = 3\n"
    assert ["unparsable" in one for one in done.refused] == [True]
    assert len(done.report.findings) == 1


def test_settings_are_fixed_and_their_comments_stay(tmp_path: Path) -> None:
    def examine(settings: Settings) -> list[Finding]:
        return [
            Finding(
                one.where,
                "too high",
                fix=Fix("lower it", Level.SAFE, (Splice(one.where.file, *one.span, "0.1"),)),
            )
            for one in settings
            if one.value == 9 and one.span
        ]

    examine.__annotations__ = {"settings": Settings}
    lower = RuleEntry("TST102", "lower", "test", "0", Severity.WARNING, Subject.SETTINGS, "A.", "A.", examine)
    written(
        tmp_path, {"a.yaml": b"lr: 9  # high\r\nseed: 9\r\n", "b.toml": "lr = 9 # too\n", "c.py": "x = 1\n"}
    )
    done = fixed(tmp_path, lower, rule("1", to="2"))
    assert {Path(one.file).name: one.after for one in done.changes} == {
        "a.yaml": b"lr: 0.1  # high\r\nseed: 0.1\r\n",
        "b.toml": b"lr = 0.1 # too\n",
        "c.py": b"x = 2\n",
    }
    assert len(done.mended) == 4
    assert done.report.findings == ()


def test_levels_are_kept_apart(tmp_path: Path) -> None:
    written(tmp_path, {"a.py": "x = 1\ny = 2\nz = 3\n"})
    rules = [rule("1", to="a"), rule("2", to="b", level=Level.UNSAFE), rule("3", to="c", level=Level.DISPLAY)]
    assert fixed(tmp_path, *rules).changes[0].texts[1] == "x = a\ny = 2\nz = 3\n"
    assert fixed(tmp_path, *rules, unsafe=True).changes[0].texts[1] == "x = a\ny = b\nz = 3\n"


def test_an_ignored_finding_is_not_fixed(tmp_path: Path) -> None:
    written(tmp_path, {"a.py": "x = 1  # stethoscope: ignore\n"})
    assert fixed(tmp_path, rule("1", to="2")).changes == ()


def test_line_ends_and_marks_survive(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf# \xc3\xa9\r\nx = 1\r\ny = 2\n"
    written(tmp_path, {"a.py": content})
    done = fixed(tmp_path, rule("1", to="5"))
    assert done.changes[0].after == content.replace(b"x = 1", b"x = 5")


def test_a_file_that_changed_in_between_is_left_alone(tmp_path: Path) -> None:
    written(tmp_path, {"a.py": "x = 1\n", "b.py": "x = 1\n"})
    done = fixed(tmp_path, rule("1", to="2"))
    (tmp_path / "a.py").write_text("x = 1  # mine\n")
    ((change,), (problem,)) = write(done.changes)
    assert change.file.endswith("b.py")
    assert problem.endswith("a.py changed since it was read.")
    assert (tmp_path / "a.py").read_text() == "x = 1  # mine\n"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_real_fix_mends_a_real_fault(end: str, tmp_path: Path) -> None:
    from stethoscope.lint.selection import lintable

    written(tmp_path, {"train.py": SICK.replace("\n", end).encode(), "well.py": HEALTHY})
    done = fixed(tmp_path, *lintable())
    (change,) = done.changes
    assert change.after == FIXED.replace("\n", end).encode()
    assert done.report.telling == ()
    assert write(done.changes)[1] == ()
    assert fixed(tmp_path, *lintable()).changes == ()
