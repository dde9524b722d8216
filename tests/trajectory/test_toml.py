"""`stethoscope.toml`: written for people, read back after they edited it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stethoscope.trajectory.toml_reading import BadTrajectory, read, read_file
from stethoscope.trajectory.toml_writing import written
from stethoscope.trajectory.trajectory import (
    Condition,
    Held,
    Look,
    Phase,
    Row,
    Scale,
    Side,
    Trajectory,
    WarningSign,
)

WHOLE = Trajectory(
    name='a "quoted" name',
    steps=1000,
    phases=(Phase("warm-up", 0, 100, "warmup is 100"),),
    signals=(
        Held("loss", (Row(0, 2.0, 2.5, 3.0), Row(1000, 0.5, 1.0, 2.0)), Side.HIGH, Scale.LOG, 0.99, 6.0),
        Held("lr", (Row(0, 0.0, 0.001, 0.0011),), exact=True, log_this='log({"lr": lr})'),
        Held("val/it's odd", (Row(5, low=1.5),), Side.LOW, unit="epoch", source="by hand"),
    ),
    signs=(WarningSign("loss", Condition.ABOVE, 3.0, 20, "too high", 10),),
    look=Look((10, 100), 50),
    unforecast={"val/fid": "too few values"},
)


def test_what_is_written_is_read_back() -> None:
    assert read(written(WHOLE)) == WHOLE


def test_a_file_needs_nothing_but_its_schema() -> None:
    assert read("schema = 1") == Trajectory()


@given(st.text(), st.text(min_size=1))
def test_any_name_survives(name: str, signal: str) -> None:
    made = Trajectory(name=name, signals=(Held(signal, (Row(1, high=2.0),)),))
    safe = read(written(made))
    assert safe.signals[0].rows == made.signals[0].rows
    if name.isprintable() and signal.isprintable():
        assert (safe.name, safe.signals[0].name) == (name, signal)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("schema = 2", "t.toml:1: schema is 2; this version reads schema = 1."),
        ("[run]\nname = 'x'", "t.toml:1: schema is missing; this version reads schema = 1."),
        ("schema = 1\n[runs]\n", "t.toml:2: runs is no key of the file; the nearest is run."),
        (
            "schema = 1\n\n[run]\n# steps\nstep = 5\n",
            "t.toml:5: step is no key in [run]; the nearest is steps.",
        ),
        (
            "schema = 1\n[signal.loss]\nbands = [{ step = 1, high = 2 }]\n[signal.lr]\nworst = 'high'\n",
            "t.toml:5: worst is no key in [signal]; the nearest is worse.",
        ),
        (
            "schema = 1\n[signal.loss]\nbands = [\n  { step = 1, high = 2 },\n  { step = 2, hihg = 2 },\n]\n",
            "t.toml:5: hihg is no key in [bands]; the nearest is high.",
        ),
        (
            "schema = 1\n[[warning]]\nsignal = 'loss'\nwhen = 'above'\nvalue = 1\n[[warning]]\nwhn = 1\n",
            "t.toml:7: whn is no key in [warning]; the nearest is when.",
        ),
        (
            'schema = 1\n[signal.loss]\nworse = "up"\nbands = [{ step = 1, high = 2 }]\n',
            't.toml:3: worse is \'up\'; give one of "high", "low", "both".',
        ),
        (
            "schema = 1\n[signal.loss]\nbands = [{ step = 1, high = nan }]\n",
            "t.toml:3: high is nan; give a finite number.",
        ),
        (
            "schema = 1\n[signal.loss]\nbands = [{ step = 1.5, high = 2 }]\n",
            "t.toml:3: step is 1.5; give a whole number of steps.",
        ),
        (
            "schema = 1\n[signal.loss]\nbands = [{ step = 1, low = 3, high = 2 }]\n",
            "t.toml:3: at step 1 low, expected and high do not rise.",
        ),
        (
            "schema = 1\n[signal.loss]\nbands = [{ step = 1, high = 2 }, { step = 1, high = 3 }]\n",
            "t.toml:3: bands names step 1 twice.",
        ),
        (
            "schema = 1\n[signal.loss]\nworse = 'high'\n",
            "t.toml:2: bands is missing or empty; a signal needs at least one row.",
        ),
        (
            "schema = 1\n[signal.loss]\nscale = 'log'\nbands = [{ step = 1, high = 0 }]\n",
            't.toml:4: high is 0 at step 1; scale = "log" needs values above 0.',
        ),
        ("schema = 1\n[[warning]]\nwhen = 'above'\n", "t.toml:2: a [[warning]] needs the key signal."),
        (
            "schema = 1\n[[warning]]\nsignal = 'loss'\nwhen = 'above'\n",
            't.toml:4: when = "above" needs a value.',
        ),
        (
            "schema = 1\n[[warning]]\nsignal = 'loss'\nwhen = 'falling'\n",
            't.toml:4: when = "falling" is for loss_scale; give other signals a band.',
        ),
        ("schema = 1\n[[phase]]\nfrom = 9\nto = 3\n", "t.toml:4: to is 3, before from, 9."),
        ("schema = 1\nphase = 3\n", "t.toml:2: phase is 3; give tables, each below a line [[phase]]."),
        ("schema = 1\n[run]\nsteps = -1\n", "t.toml:3: steps is -1; give a whole number of steps."),
        ("schema = 1\nnot toml", "t.toml is not TOML: expected '=' after a key in a key/value pair"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, message: str) -> None:
    with pytest.raises(BadTrajectory) as problem:
        read(text, "t.toml")
    assert str(problem.value).startswith(message)


def test_rows_may_stand_in_any_order() -> None:
    text = "schema = 1\n[signal.loss]\nbands = [{ step = 9, high = 2 }, { step = 1, high = 3 }]\n"
    assert [row.step for row in read(text).signals[0].rows] == [1, 9]


@given(st.text(alphabet=st.sampled_from("schema=1[]{}.\"\n#loss'signal0,-einf"), max_size=120))
def test_no_text_is_more_than_an_error(text: str) -> None:
    assert "\n" not in complaint(f"schema = 1\n{text}")


def complaint(text: str) -> str:
    """What is said about a text; nothing where it is a trajectory."""
    try:
        read(text)
    except BadTrajectory as problem:
        return str(problem)
    return ""


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\x80PNG", b""])
def test_a_file_that_is_none_is_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.toml").write_bytes(content)
    with pytest.raises(BadTrajectory):
        read_file(str(tmp_path / "t.toml"))


def test_a_folder_and_a_missing_file_are_errors(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no.toml"):
        with pytest.raises(BadTrajectory, match="could not be read"):
            read_file(str(path))
