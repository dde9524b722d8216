"""What is said of a run that Guard recorded: by whom steps were skipped, how it ended, and what is no log."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
import torch
from rich.console import Console

from stethoscope.diagnose import Diagnosis, diagnose
from stethoscope.guard.boxes import black_box
from stethoscope.guard.court import Court
from stethoscope.guard.happening import Happening, Kind, Severity
from stethoscope.guard.observation import Observation
from stethoscope.guard.policy import Policy
from stethoscope.guard.record.recorder import Recorder
from stethoscope.inventory import take_stock
from stethoscope.read import read
from stethoscope.report.text_report import render
from stethoscope.run.black_box import STORY, is_black_box

BOX = Path(__file__).parents[2] / "examples" / "overflow" / "blackbox-step000002"
START = 1.78e9


def recorded(home: Path, bad: range | tuple[int, ...] = (), last: int = 300, **more: float) -> Recorder:
    """The record of a run that falls from 2 to 0.1, in which the bad steps were skipped."""
    recorder = Recorder(home)
    recorder.rows([_observed(step, step in bad, more) for step in range(last)])
    return recorder


def _observed(step: int, is_bad: bool, more: dict[str, float]) -> Observation:
    loss = float("nan") if is_bad else 2.0 / (1 + step / 15) + 0.01 * (step % 7)
    values = {"loss": loss, "grad_norm": loss, "skipped": float(is_bad), "lr": 0.01, **more}
    return Observation(step, START + step, values)


def said(diagnosis: Diagnosis) -> str:
    """What NUM101 says."""
    (finding,) = [one.finding for one in diagnosis.examination.found if one.rule.code == "NUM101"]
    return finding.message


# --- black boxes


def test_a_black_box_is_neither_a_log_nor_a_checkpoint_nor_unread(tmp_path: Path) -> None:
    recorded(tmp_path).close()
    shutil.copytree(BOX, tmp_path / BOX.name)
    shutil.copytree(BOX, tmp_path / "boxes" / f"{BOX.name}-rank1")
    run = read(tmp_path)
    assert [log.format for log in run.logs] == ["flight record events", "flight record"]
    assert (run.checkpoints, run.unread) == ((), ())


def test_the_inventory_names_a_black_box_and_lists_nothing_in_it(tmp_path: Path) -> None:
    recorded(tmp_path).close()
    shutil.copytree(BOX, tmp_path / BOX.name)
    inventory = take_stock(tmp_path)
    assert inventory.passed == (str(tmp_path / BOX.name),)
    assert len([met for run in inventory.runs for met in run.files]) == 2
    assert (inventory.files, inventory.unread) == ((), ())


def test_a_black_box_that_guard_writes_is_known_under_any_name(tmp_path: Path) -> None:
    box = black_box.write(tmp_path, 7, model=torch.nn.Linear(2, 2), rank=3)
    assert is_black_box(box)
    assert is_black_box(box.rename(tmp_path / "kept"))
    assert black_box.STORY == STORY


@pytest.mark.parametrize("story", ["", "{}", '{"schema": 1, "loss": 2}', '[{"schema": 1, "step": 2}]'])
def test_a_box_json_of_somebody_else_is_no_black_box(story: str, tmp_path: Path) -> None:
    (tmp_path / STORY).write_text(story)
    assert not is_black_box(tmp_path)


def test_a_pipe_of_that_name_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / STORY)
    assert not is_black_box(tmp_path)
    assert not is_black_box(tmp_path / "nothing")


# --- skipped steps


def test_steps_that_guard_skipped_are_not_laid_on_a_scaler(tmp_path: Path) -> None:
    recorded(tmp_path, bad=(60, 61, 150, 200)).close()
    told = said(diagnose(tmp_path))
    assert (
        told
        == "loss is not finite at 4 of 300 logged steps and recovers each time; Guard skipped those steps"
    )


def test_steps_that_a_scaler_skipped_are_the_scalers(tmp_path: Path) -> None:
    recorded(tmp_path, bad=(60, 61, 150, 200), loss_scale=1024.0).close()
    assert said(diagnose(tmp_path)).endswith("; the scaler skipped those steps")


def test_a_scale_in_another_log_is_no_scaler_of_the_record(tmp_path: Path) -> None:
    recorded(tmp_path, bad=(60, 61, 150, 200)).close()
    lines = [f"{step},{2.0 / (1 + step / 15) + 0.01 * (step % 7):.6f},1.0" for step in range(0, 300, 10)]
    (tmp_path / "metrics.csv").write_text("\n".join(["step,train_loss,loss_scale", *lines, ""]))
    assert "loss_scale" in read(tmp_path).series
    assert said(diagnose(tmp_path)).endswith("; Guard skipped those steps")


def test_guard_that_only_observes_has_skipped_nothing(tmp_path: Path) -> None:
    recorded(tmp_path, bad=(60, 61, 150, 200), skipped=0.0).close()
    assert said(diagnose(tmp_path)).endswith("recovers each time")


def test_values_lost_to_the_end_say_that_guard_skipped_each_step(tmp_path: Path) -> None:
    recorded(tmp_path, bad=range(200, 206), last=206).close()
    told = said(diagnose(tmp_path))
    assert told.startswith("loss is NaN from step 200 to the end (6 of 206 values)")
    assert told.endswith("; Guard skipped those steps")


# --- the end


def stopped(home: Path) -> str:
    """A run that Guard stopped; gives what it said of that."""
    recorder = recorded(home, bad=range(200, 206), last=206)
    spent = Happening(Kind.SKIP_BUDGET, 205, Severity.CRITICAL, "6 steps in a row were skipped.")
    report = Court(Policy(), ()).report(spent)
    recorder.happened(Happening(Kind.STOPPED, 206, Severity.CRITICAL, report))
    recorder.close()
    return report


def test_a_run_that_guard_stopped_is_said_to_be(tmp_path: Path) -> None:
    stopped(tmp_path)
    diagnosis = diagnose(tmp_path)
    assert (diagnosis.ending.how, diagnosis.ending.why) == (
        "stopped by Guard",
        "6 steps in a row were skipped.",
    )
    told = render(diagnosis, Console(width=200))
    assert "How it ended: stopped by Guard; 6 steps in a row were skipped" in told


def test_the_traceback_of_that_stop_in_the_output_is_no_other_end(tmp_path: Path) -> None:
    report = stopped(tmp_path)
    (tmp_path / "console.out").write_text(
        "Traceback (most recent call last):\n"
        '  File "train.py", line 20, in <module>\n'
        "    optimizer.step()\n"
        f"stethoscope.errors.GuardStopped: {report}\n"
    )
    assert diagnose(tmp_path).ending.how == "stopped by Guard"
