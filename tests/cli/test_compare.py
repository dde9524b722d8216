"""`stethoscope compare` as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from stethoscope.cli import stethoscope
from stethoscope.errors import NothingToRead, StethoscopeError, UnwritableFile
from tests.compare.runs import losses, write


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compared")
    bad = losses(2)
    bad[100:] *= np.linspace(1, 3, len(bad) - 100)
    write(folder / "good", losses(1), "lr: 0.001\nclip: 1.0\n")
    write(folder / "seed", losses(3), "lr: 0.001\nclip: 1.0\n")
    write(folder / "bad", bad, "lr: 0.001\nclip: 0.0\n")
    return folder


def run(*arguments: str | Path) -> tuple[object, str]:
    result = CliRunner().invoke(
        stethoscope, ["compare", *map(str, arguments)], standalone_mode=False, catch_exceptions=False
    )
    if result.exception:
        raise result.exception
    return result.return_value, result.stdout


def test_runs_that_part_are_told_with_the_step_and_the_difference(runs: Path) -> None:
    status, told = run(runs / "good", runs / "bad")
    assert status == 1
    assert told.startswith("bad parts from good at step 1,")
    assert "loss lies higher, which is worse" in told
    assert "setting clip: 1.0 -> 0.0" in told
    assert "config.yaml:2" in told


def test_runs_that_differ_in_their_seeds_do_not_part(runs: Path) -> None:
    status, told = run(runs / "good", runs / "seed")
    assert status == 0
    assert "seed does not part from good over steps 0 to 1,990" in told


def test_several_good_runs_stand_before_the_bad_one(runs: Path) -> None:
    status, told = run(runs / "good", runs / "seed", runs / "bad", "--format", "json")
    report = json.loads(told)
    assert status == 1
    assert [Path(one["path"]).name for one in report["good"]] == ["good", "seed"]
    assert report["first_signal"] == "loss"
    assert report["part"] is True
    assert report["settings"]["changed"][0]["where"]["bad"]["line"] == 2


def test_every_format_and_width_says_the_same_step(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = json.loads(run(runs / "good", runs / "bad", "--format", "json")[1])["parts_at"]
    assert f"| loss | {at:,} |" in run(runs / "good", runs / "bad", "--format", "markdown")[1]
    for width in ("40", "100"):
        monkeypatch.setenv("COLUMNS", width)
        told = run(runs / "good", runs / "bad")[1]
        assert f"{at:,}" in told
        assert max(
            len(line) for line in told.splitlines() if "config" not in line and "/" not in line
        ) <= int(width)


def test_a_picture_is_drawn_and_not_overwritten(runs: Path, tmp_path: Path) -> None:
    picture = tmp_path / "parting.svg"
    run(runs / "good", runs / "bad", "--plot", picture)
    assert picture.read_text().startswith("<svg")
    with pytest.raises(UnwritableFile, match="--force"):
        run(runs / "good", runs / "bad", "--plot", picture)
    with pytest.raises(UnwritableFile, match="change the ending"):
        run(runs / "good", runs / "bad", "--plot", tmp_path / "parting.gif")


def test_runs_without_a_common_signal_cannot_be_compared(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("epoch,val_accuracy\n" + "".join(f"{n},0.{n}\n" for n in range(1, 9)))
    with pytest.raises(NothingToRead, match="share no signal that could be compared"):
        run(runs / "good", tmp_path / "other.csv")


@pytest.mark.parametrize("content", [b"", b"\x00\xff" * 500, b"step,loss\n"])
def test_what_cannot_be_read_is_one_sentence(content: bytes, runs: Path, tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_bytes(content)
    with pytest.raises(StethoscopeError) as problem:
        run(runs / "good", tmp_path / "train.csv")
    assert "\n" not in str(problem.value)


def test_a_redacted_comparison_names_no_folder(runs: Path) -> None:
    for format_ in ("text", "json", "markdown"):
        told = run(runs / "good", runs / "bad", "--redact", "--format", format_)[1]
        assert str(runs) not in told
        assert "path-" in told
