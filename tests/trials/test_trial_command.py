"""`stethoscope trial` as a person types it."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.cli.processes import COMMAND as COMMAND_LINE
from tests.cli.processes import stethoscope
from tests.trials.toy import PYTHON, TRAIN, lay_out

COMMAND = ("--", *PYTHON, "train.py", "{config}", "{seed}", "{steps}")
USUAL = ("--config", "cfg.json", "--metric", "val/psnr", "--steps", "20")


def test_text_for_people_a_picture_and_json_for_programs_say_the_same(tmp_path: Path) -> None:
    project = lay_out(tmp_path / "toy")
    asked = (*USUAL, "--seeds", "6", "--edit", "lr=0.1")
    done = _trial(project, *asked, *COMMAND)
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    text = done.stdout.decode()
    assert re.search(r"^lr=0.1 +necessary and sufficient ", text, re.MULTILINE)
    assert re.search(r"^placebo +no effect ", text, re.MULTILINE)
    assert "The placebo is a blank line in cfg.json." in text
    assert (project / "trial.svg").read_text(encoding="utf-8").startswith("<svg")
    again = _trial(project, *asked, "--format", "json", *COMMAND)
    told = json.loads(again.stdout)
    assert told == json.loads((project / "trial.json").read_text(encoding="utf-8"))
    mean = told["distance"]["mean"]
    assert f"All fixes together: {mean:+.3g} " in text


def test_dry_run_shows_the_arms_and_runs_nothing(tmp_path: Path) -> None:
    project = lay_out(tmp_path / "toy")
    done = _trial(project, *USUAL, "--edit", "lr=0.1", "--dry-run", "--timeout", "60", *COMMAND)
    assert done.returncode == 0
    text = done.stdout.decode()
    assert "3 arms on 8 seeds are 24 runs" in text
    assert "  cured: set lr to 0.1\n" in text
    assert "It takes at most" in text
    assert not (project / "trials").exists()


def test_an_option_of_the_command_is_edited(tmp_path: Path) -> None:
    script = (
        "import random, sys; r = random.Random(sys.argv[2])\n"
        "good = 5 * ('--lr=0.1' in sys.argv)\n"
        "print(f'step 0 val_psnr {good + r.random()}')\nprint(f'step 1 val_psnr {good + r.random()}')\n"
    )
    project = lay_out(tmp_path / "toy", script)
    done = _trial(
        project,
        *("--metric", "val/psnr", "--seeds", "6", "--edit", "--lr=0.1"),
        *("--", *PYTHON, "train.py", "--lr=3", "{seed}"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^lr=0.1 +necessary and sufficient ", done.stdout.decode(), re.MULTILINE)


def test_a_prescribed_edit_is_tried_and_its_diff_applied(tmp_path: Path, root: Path) -> None:
    """The recorded run of nano-sr holds its code: the two remedies for it are planned as arms."""
    done = stethoscope(
        *("trial", "--run", root / "examples/nano-sr", "--project", root / "examples/nano-sr"),
        *("--metric", "val/psnr", "--dry-run", "--", "python3", "code/train.py"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "without return-the-dissimilarity: for validation-not-comparable" in done.stdout.decode()
    assert b"a record: it acts only if COMMAND reads that" in done.stderr


def test_every_mistake_is_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    project = lay_out(tmp_path / "toy")
    edit = ("--edit", "lr=0.1")
    for arguments, said in (
        ((*USUAL, "--edit", "lrr=1", *COMMAND), "cfg.json has no setting lrr"),
        (("--metric", "val/psnr", *edit, *COMMAND), "give it with --config"),
        (("--metric", "val/psnr", "--config", "no.json", *edit, *COMMAND), "no.json does not exist"),
        ((*USUAL[:2], "--metric", "wobble", *edit, *COMMAND), "Give --goal max or --goal min"),
        ((*USUAL, *edit, "--", "no-such-command"), "no-such-command: no such command"),
        ((*USUAL, "--patch", "no.diff", *COMMAND), "no.diff"),
        ((*USUAL, *COMMAND), "Give --edit KEY=VALUE or --patch FILE"),
        ((*USUAL[:2], "--metric", "val/psnr", *edit, *COMMAND), "no number of steps is given"),
    ):
        done = _trial(project, *arguments)
        assert done.returncode == 2, arguments
        assert said in done.stderr.decode(), done.stderr
        assert done.stderr.count(b"\n") == 1
        assert done.stdout == b""


def test_ray_that_is_not_installed_is_named_with_what_installs_it(tmp_path: Path) -> None:
    project = lay_out(tmp_path / "toy")
    (project / "ray.py").write_text("raise ImportError('not here')")
    done = _trial(project, *USUAL, "--edit", "lr=0.1", "--ray", "auto", *COMMAND, PYTHONPATH=str(project))
    assert done.returncode == 2
    assert b"pip install 'stethoscope[ray]'" in done.stderr


def _trial(project: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return stethoscope("trial", *arguments, cwd=project, **environment)


def test_ctrl_c_keeps_what_is_done_and_ends_what_runs(tmp_path: Path) -> None:
    project = lay_out(tmp_path / "toy", "import sys, time\nif sys.argv[2] == '2': time.sleep(60)\n" + TRAIN)
    asked = [*COMMAND_LINE, "trial", *USUAL, "--seeds", "2", "--edit", "lr=0.1", *COMMAND]
    process = subprocess.Popen(asked, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _wait_for(lambda: len(list(project.glob("trials/*.json"))) == 3)
    process.send_signal(signal.SIGINT)
    written, complained = process.communicate(timeout=30)
    assert process.returncode == 130
    assert (written, complained.strip()) == (b"", b"")
    assert len(list(project.glob("trials/*.json"))) == 3
    assert not (project / "trials" / ".work").exists()


def test_a_result_that_does_not_fit_on_the_disk_is_said_and_not_left_in_part(tmp_path: Path) -> None:
    """No file may be longer than one block: what is too long for it cannot be written."""
    project = lay_out(tmp_path / "toy")
    line = shlex.join([*COMMAND_LINE, "trial", *USUAL, "--seeds", "1", "--edit", "lr=0.1", *COMMAND])
    done = subprocess.run(
        ["bash", "-c", f"ulimit -f 1; {line}"], cwd=project, capture_output=True, check=False, timeout=120
    )
    assert done.returncode == 2
    assert b"trial.json could not be written: file too large" in done.stderr
    # The results of the runs are shorter, and whole; nothing is there in part.
    assert {json.loads(file.read_text())["ending"] for file in project.glob("trials/*.json")} == {"scored"}
    assert not (project / "trial.json").exists()
    assert list(project.rglob(".stethoscope-*")) == []


def _wait_for(reached: Callable[[], bool]) -> None:
    waited = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < waited
        time.sleep(0.05)
