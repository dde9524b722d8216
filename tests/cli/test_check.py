"""`stethoscope trajectory` and `stethoscope check`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

from stethoscope.cli.check import command as check
from stethoscope.cli.trajectory import command as trajectory
from tests.cli.processes import surroundings


def log(folder: Path, seed: int, factor: float = 1.0, last: int = 1000, extra: str = "") -> str:
    """A run whose loss is `factor` times as high from step 400 on."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    rows = ["step,loss,lr,val/accuracy"]
    for step in range(5, last + 1, 5):
        level = (0.3 + 2.0 * (1 + step / 10) ** -0.5) * (factor if step > 400 else 1.0)
        loss = level * float(np.exp(0.05 * rng.standard_normal()))
        accuracy = f"{0.9 - 0.5 * np.exp(-step / 200):.4f}" if step % 50 == 0 else ""
        rows.append(f"{step},{loss:.5f},{1e-3 * (1 - step / 1000):.6g},{accuracy}")
    (folder / "metrics.csv").write_text("\n".join(rows) + "\n" + extra)
    then = time.time() - 86400
    os.utime(folder / "metrics.csv", (then, then))
    return str(folder)


def called(command: click.Command, *arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments), standalone_mode=False)


@pytest.fixture(scope="module")
def healthy_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("healthy")
    out = str(folder / "stethoscope.toml")
    good = [log(folder / f"seed{seed}", seed) for seed in range(2)]
    done = called(trajectory, good[0], "--from", good[0], "--from", good[1], "--out", out)
    assert done.exception is None
    assert done.return_value == 0
    return out


def test_a_healthy_run_is_held(healthy_file: str, tmp_path: Path) -> None:
    done = called(check, log(tmp_path / "next", 7), "--against", healthy_file)
    assert done.return_value == 0
    assert "next: held; 3 signals in their bands" in done.output
    assert "Not examined" not in done.output


def test_a_departure_says_which_since_when_and_by_how_much(healthy_file: str, tmp_path: Path) -> None:
    done = called(check, log(tmp_path / "next", 7, factor=3.0), "--against", healthy_file)
    assert done.return_value == 1
    told = " ".join(done.output.split())
    assert "next: 1 signal left its band" in told
    assert re.search(
        r"loss: above its band from step 4\d\d to the end; at step [\d,]+ it is [\d.]+, expected", told
    )
    assert "times" in told
    assert "\N{BOX DRAWINGS LIGHT VERTICAL}" in told  # the picture


def test_json_says_the_same(healthy_file: str, tmp_path: Path) -> None:
    run = log(tmp_path / "next", 7, factor=3.0)
    told = json.loads(called(check, run, "--against", healthy_file, "--format", "json").output)
    assert (told["schema"], told["verdict"]) == (1, "left")
    loss = next(one for one in told["signals"] if one["signal"] == "loss")
    assert loss["outcome"] == "left"
    assert loss["departure"]["side"] == "above"
    assert loss["where"]["file"].endswith("metrics.csv")
    line = Path(healthy_file).read_text().splitlines()[loss["line"] - 1]
    assert line == "[signal.loss]"


def test_markdown_and_annotations_name_the_signal(healthy_file: str, tmp_path: Path) -> None:
    run = log(tmp_path / "next", 7, factor=3.0)
    page = called(check, run, "--against", healthy_file, "--format", "markdown").output
    assert page.startswith("## next: 1 signal left its band\n")
    assert "| lr | held |" in page
    noted = called(check, run, "--against", healthy_file, "--format", "github").output
    assert re.match(r"::error title=loss,file=.*stethoscope\.toml,line=\d+::loss: above its band", noted)


def test_what_was_not_logged_is_told_and_strict_minds(healthy_file: str, tmp_path: Path) -> None:
    folder = tmp_path / "short"
    folder.mkdir()
    rows = [f"{step},{0.3 + 2.0 * (1 + step / 10) ** -0.5}" for step in range(5, 1001, 5)]
    (folder / "m.csv").write_text("step,loss\n" + "\n".join(rows) + "\n")
    done = called(check, str(folder), "--against", healthy_file)
    assert done.return_value == 0
    assert 'log it: log({"lr": optimizer.param_groups[0]["lr"]})' in done.output
    assert called(check, str(folder), "--against", healthy_file, "--strict").return_value == 1


def test_a_run_with_none_of_the_signals_is_not_examined(healthy_file: str, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("step,throughput\n" + "".join(f"{s},5\n" for s in range(20)))
    done = called(check, str(tmp_path), "--against", healthy_file)
    assert done.return_value == 2
    assert "nothing could be examined" in done.output


@pytest.mark.parametrize("ending", [".svg", ".html"])
def test_the_picture_is_written(healthy_file: str, tmp_path: Path, ending: str) -> None:
    run, plot = log(tmp_path / "next", 7, factor=3.0), tmp_path / f"plot{ending}"
    assert called(check, run, "--against", healthy_file, "--plot", str(plot)).return_value == 1
    assert "val/accuracy" in plot.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "--against", "FILE"], "nowhere does not exist."),
        (["RUN", "--against", "no.toml"], "no.toml could not be read: no such file or directory."),
        (["RUN", "--against", "RUN"], "could not be read: is a directory."),
        (["RUN", "--against", "FILE", "--plot", "x.gif"], "pictures are written as .svg, .png or .html"),
        (["-", "--against", "FILE", "--follow"], "standard input cannot be watched"),
        (["RUN", "RUN", "--against", "FILE", "--follow"], "--follow takes one run."),
    ],
)
def test_a_problem_is_one_sentence_and_status_2(
    healthy_file: str, tmp_path: Path, arguments: list[str], message: str
) -> None:
    run = log(tmp_path / "next", 7)
    given = [{"FILE": healthy_file, "RUN": run}.get(one, one) for one in arguments]
    done = subprocess.run(
        [sys.executable, "-m", "stethoscope", "check", *given],
        cwd=tmp_path,
        env=surroundings(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_edit_that_is_wrong_is_named_with_its_line(healthy_file: str, tmp_path: Path) -> None:
    edited = tmp_path / "edited.toml"
    text = Path(healthy_file).read_text().replace("false_alarms", "false_alarm")
    edited.write_text(text)
    line = next(n for n, one in enumerate(text.splitlines(), 1) if "false_alarm" in one)
    done = called(check, log(tmp_path / "next", 7), "--against", str(edited))
    assert (
        str(done.exception)
        == f"{edited}:{line}: false_alarm is no key in [run]; the nearest is false_alarms."
    )


def test_a_file_is_not_overwritten_unasked(healthy_file: str, tmp_path: Path) -> None:
    done = called(trajectory, log(tmp_path / "next", 7), "--out", healthy_file)
    assert "exists; --force overwrites it." in str(done.exception)


def test_a_sick_run_is_trusted_up_to_its_trouble(tmp_path: Path) -> None:
    run = log(tmp_path / "sick", 3)
    rows = (tmp_path / "sick" / "metrics.csv").read_text().splitlines()
    lost = [",".join([row.split(",")[0], "nan", *row.split(",")[2:]]) for row in rows[101:]]
    (tmp_path / "sick" / "metrics.csv").write_text("\n".join([*rows[:101], *lost]) + "\n")
    out = str(tmp_path / "next.toml")
    assert called(trajectory, run, "--out", out).return_value == 0
    assert re.search(r"the run itself before step 50\d, where it was healthy", Path(out).read_text())
    assert called(check, run, "--against", out).return_value == 1
    assert called(check, log(tmp_path / "mended", 4), "--against", out).return_value == 0


def test_follow_ends_at_the_first_departure(healthy_file: str, tmp_path: Path) -> None:
    run = Path(log(tmp_path / "live", 7, last=300)) / "metrics.csv"
    whole = (Path(log(tmp_path / "whole", 7, factor=4.0)) / "metrics.csv").read_text().splitlines(True)

    def goes_on() -> None:
        time.sleep(0.5)
        with run.open("a") as stream:
            stream.writelines(whole[61:160])

    os.utime(run)
    writer = threading.Thread(target=goes_on)
    writer.start()
    done = called(check, str(run.parent), "--against", healthy_file, "--follow", "--every", "0.1")
    writer.join()
    assert done.return_value == 1
    assert "loss: above its band from step 4" in " ".join(done.output.split())


def test_follow_ends_with_the_run(healthy_file: str, tmp_path: Path) -> None:
    run = Path(log(tmp_path / "live", 7))
    (run / "train.log").write_text("step 1000: loss 0.5\nTraining finished.\n")
    (run / "config.yml").write_text("max_steps: 1000\n")
    done = called(check, str(run), "--against", healthy_file, "--follow", "--every", "0.1")
    assert done.return_value == 0


def test_follow_ends_where_the_log_grows_no_more(healthy_file: str, tmp_path: Path) -> None:
    run = log(tmp_path / "killed", 7, last=500)
    done = called(check, run, "--against", healthy_file, "--follow", "--every", "0.1")
    assert done.return_value == 0
    assert "grows no more" in done.stderr
