"""Whole trials on a training of milliseconds: verdicts, going on after a kill, and what is never lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from stethoscope.errors import StethoscopeError
from stethoscope.trials import (
    Change,
    Class,
    Ending,
    Flag,
    Limits,
    LocalProcesses,
    Metric,
    NewValue,
    Patch,
    Progress,
    Replacement,
    Trial,
    TrialResult,
    Variable,
    proofs,
    run_trial,
)
from stethoscope.trials.conducting import prepare
from tests.trials.toy import PYTHON, SETTINGS, TRAIN, lay_out, toy_trial


def test_a_trial_tells_the_cure_from_what_does_nothing(tmp_path: Path) -> None:
    project = lay_out(tmp_path / "toy")
    before = _listing(project)
    told: list[Progress] = []
    result = _run(toy_trial(project, "lr", "note"), told)
    assert _classes(result) == {"lr": (Class.NECESSARY, Class.SUFFICIENT), "note": (Class.NO_EFFECT,)}
    assert result.placebo is not None
    assert result.placebo.classes == (Class.NO_EFFECT,)
    assert result.placebo.alone is not None
    assert set(result.placebo.alone.differences) == {0.0}
    assert result.complete
    assert (told[-1].done, told[-1].total) == (30, 30)
    # Nothing of the project was touched but for the results beside it.
    assert {name: text for name, text in _listing(project).items() if not name.startswith("trial")} == before
    lr, note = proofs(project)
    assert (lr.change, lr.classes, lr.cures, lr.refuted) == ("lr", ("necessary", "sufficient"), True, False)
    assert lr.settings == (("lr", "0.1"),)
    assert (note.cures, note.refuted) == (False, True)
    assert (note.metric, note.seeds, note.complete) == ("val/psnr", 6, True)
    written = json.loads((project / "trial.json").read_text())
    assert [change["classes"] for change in written["changes"]] == [
        ["necessary", "sufficient"],
        ["no effect"],
    ]
    assert {run["score"] for run in written["runs"] if run["arm"] == "placebo"} == {
        run["score"] for run in written["runs"] if run["arm"] == "sick"
    }


def test_what_is_stored_is_not_run_again_and_what_changed_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, counted = lay_out(tmp_path / "toy"), tmp_path / "counted"
    monkeypatch.setenv("COUNTED", str(counted))
    first = _run(toy_trial(project, "lr", seeds=2))
    assert _count(counted) == 6
    assert _run(toy_trial(project, "lr", seeds=2)).outcomes == first.outcomes
    assert _count(counted) == 6
    _run(toy_trial(project, "lr", seeds=3))  # one more seed: one more run for each arm
    assert _count(counted) == 9
    _run(toy_trial(project, "lr", "note", seeds=3))  # sick, only lr and the placebo are known already
    assert _count(counted) == 9 + 6
    settings = SETTINGS | {"colour": "green"}
    (project / "cfg.json").write_text(json.dumps(settings), encoding="utf-8")
    _run(toy_trial(project, "lr", seeds=2))
    assert _count(counted) == 9 + 6 + 6


def test_a_trial_that_is_killed_goes_on_and_leaves_no_process(tmp_path: Path) -> None:
    """The whole program is killed with kill -9 in the middle of a run."""
    counted, pids = tmp_path / "counted", tmp_path / "pids"
    slow = f"import os, time\nopen({str(pids)!r}, 'a').write(f'{{os.getpid()}} ')\ntime.sleep(0.1)\n" + TRAIN
    project = lay_out(tmp_path / "toy", slow)
    code = (
        "from pathlib import Path\n"
        "from tests.trials.toy import toy_trial\n"
        "from stethoscope.trials import run_trial\n"
        f"run_trial(toy_trial(Path({str(project)!r}), 'lr', seeds=3))"
    )
    environment = os.environ | {"COUNTED": str(counted)}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment)
    _wait_for(lambda: _count(counted) >= 3)
    process.send_signal(signal.SIGKILL)
    process.wait()
    _wait_for(lambda: not any(_runs(int(pid)) for pid in pids.read_text().split()))
    stored = len(list((project / "trials").glob("*.json")))
    assert 1 <= stored < 9
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert done.returncode == 0
    assert len(list((project / "trials").glob("*.json"))) == 9
    # Only the runs that were going on when the program died were made twice.
    assert 9 <= _count(counted) <= 10
    assert not (project / "trials" / ".work").exists()


def test_one_arm_that_crashes_loses_no_other_result(tmp_path: Path) -> None:
    project = lay_out(tmp_path / "toy")
    broken = Change(
        "broken",
        (Replacement("train.py", "import json", "print('no way'); raise SystemExit(7)\nimport json"),),
    )
    trial = toy_trial(project, "lr", seeds=6)
    result = _run(replace(trial, changes=(*trial.changes, replace(broken, in_cure=False))))
    # What breaks the program on every seed, where others run, is the change's doing.
    assert _classes(result) == {
        "lr": (Class.NECESSARY, Class.SUFFICIENT),
        "broken": (Class.CANNOT_BE_APPLIED,),
    }
    assert {one.ending for one in result.outcomes if one.arm == "only broken"} == {Ending.BROKEN}
    assert any("'only broken' broke: exit status 7; it said: no way" in note for note in result.notes)


def test_one_run_that_breaks_is_left_out_and_made_again(tmp_path: Path) -> None:
    flag = tmp_path / "already"
    once = (
        "import os, sys\n"
        f"if sys.argv[2] == '2' and not os.path.exists({str(flag)!r}):\n"
        f"    open({str(flag)!r}, 'w'); sys.exit('no space left')\n"
    )
    trial = toy_trial(lay_out(tmp_path / "toy", once + TRAIN), "lr", seeds=3)
    first = _run(trial)
    assert [one.ending for one in first.outcomes].count(Ending.BROKEN) == 1
    assert any("1 of 9 runs say nothing and are left out: broken" in note for note in first.notes)
    assert {one.ending for one in _run(trial).outcomes} == {Ending.SCORED}


def test_an_arm_that_only_takes_too_long_is_given_up(tmp_path: Path) -> None:
    project = lay_out(tmp_path / "toy", "import sys, time\nif '--slow' in sys.argv: time.sleep(60)\n" + TRAIN)
    trial = toy_trial(project, seeds=5, limits=Limits(run_seconds=1.0))
    slow = Change("slow", (Flag("--slow"),), in_cure=False)
    result = _run(replace(trial, changes=(slow,)))
    endings = [one.ending for one in result.outcomes if one.arm == "only slow"]
    assert endings[:3] == [Ending.TIMED_OUT] * 3
    assert endings[-1] is Ending.NOT_RUN
    assert _classes(result) == {"slow": (Class.UNDECIDED,)}


def test_a_sick_program_that_breaks_at_its_first_step_is_cured_by_what_lets_it_run(tmp_path: Path) -> None:
    project = lay_out(tmp_path / "toy")
    (project / "cfg.json").write_text(json.dumps(SETTINGS | {"lr": 1e200}), encoding="utf-8")
    trial = replace(toy_trial(project, "lr"), metric=Metric("val/psnr", "max", bar=0.0))
    result = _run(trial)
    assert {one.ending for one in result.outcomes if one.arm == "sick"} == {Ending.BROKEN}
    assert _classes(result) == {"lr": (Class.NECESSARY, Class.SUFFICIENT)}


def test_a_patch_a_flag_and_a_variable_are_changes_too(tmp_path: Path) -> None:
    script = (
        "import os, random, sys\n"
        "rng = random.Random(int(sys.argv[1]))\n"
        "score = 1.0\n"
        "score += 4 * ('--good' in sys.argv) + 4 * (os.environ.get('GOOD') == 'yes')\n"
        "open('log.csv', 'w').write(f'step,val/psnr\\n0,{score + 0.1 * rng.gauss(0, 1)}\\n')\n"
    )
    project = lay_out(tmp_path / "toy", script)
    diff = "--- a/train.py\n+++ b/train.py\n@@ -3,1 +3,1 @@\n-score = 1.0\n+score = 5.0\n"
    trial = Trial(
        "three kinds",
        project,
        (*PYTHON, "train.py", "{seed}"),
        Metric("val/psnr", "max"),
        (
            Change("patch", (Patch(diff),)),
            Change("flag", (Flag("--good"),)),
            Change("variable", (Variable("GOOD", "yes"),)),
        ),
        project,
        seeds=(1,),
    )
    result = _run(trial)
    for verdict in result.verdicts:
        assert verdict.alone is not None
        assert verdict.alone.mean == pytest.approx(4.0)
    assert result.distance is not None
    assert result.distance.mean == pytest.approx(12.0)


def test_a_command_without_a_seed_is_one_run_however_often_it_is_made(tmp_path: Path) -> None:
    trial = replace(
        toy_trial(lay_out(tmp_path / "toy"), "lr"), command=(*PYTHON, "train.py", "{config}", "1", "30")
    )
    result = _run(trial)
    assert _classes(result) == {"lr": (Class.UNDECIDED,)}
    assert any("paired only in name" in note for note in result.notes)
    assert any("does not use the seed" in note for note in result.notes)


def test_time_that_is_over_leaves_whole_pairs_and_another_call_goes_on(tmp_path: Path) -> None:
    project = lay_out(tmp_path / "toy", "import time; time.sleep(0.2)\n" + TRAIN)
    trial = toy_trial(project, "lr", seeds=6)
    short = _run(replace(trial, limits=Limits(minutes=1.5 / 60)))
    assert not short.complete
    assert any("call again" in note for note in short.notes)
    assert {one.seed for one in short.outcomes} < set(trial.seeds)
    assert _run(trial).complete


def test_a_metric_that_no_run_has_ends_the_trial_at_once_with_what_there_is(tmp_path: Path) -> None:
    trial = replace(toy_trial(lay_out(tmp_path / "toy"), "lr"), metric=Metric("val/ssim", "max"))
    with pytest.raises(StethoscopeError, match=r"val/ssim.*has: loss, val/psnr"):
        _run(trial)


def test_a_command_that_never_works_ends_the_trial_with_what_it_said(tmp_path: Path) -> None:
    project = lay_out(tmp_path / "toy", "import no_such_module")
    with pytest.raises(StethoscopeError, match=r"no run works.*no_such_module"):
        _run(toy_trial(project, "lr"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"command": ("no-such-command",)}, "no-such-command: no such command"),
        ({"changes": ()}, "nothing to try"),
        ({"command": (*PYTHON, "{steps}")}, "no number of steps"),
        ({"config": "", "command": (*PYTHON, "{config}")}, "no settings file"),
        ({"changes": (Change("a", ()),)}, "the change a changes nothing"),
        ({"changes": (Change("a", (NewValue("nope", "1"),)),)}, "has no setting nope"),
        ({"config": "none.json"}, "none.json does not exist"),
    ],
)
def test_what_cannot_be_tried_is_said_before_anything_runs(
    tmp_path: Path, given: dict[str, object], said: str
) -> None:
    trial = replace(toy_trial(lay_out(tmp_path / "toy"), "lr"), **given)
    with pytest.raises(StethoscopeError, match=said):
        _run(trial)
    assert not (tmp_path / "toy" / "trials").exists()


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    trial = toy_trial(lay_out(tmp_path / "toy"), "lr")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StethoscopeError, match="cannot be written"):
        _run(replace(trial, folder=tmp_path / "file"))


def test_two_trials_in_one_folder_do_not_mix(tmp_path: Path) -> None:
    from stethoscope.trials.store import opened

    project = lay_out(tmp_path / "toy")
    with opened(project), pytest.raises(StethoscopeError, match=r"running in .* already"):
        _run(toy_trial(project, "lr"))


def test_a_result_that_was_cut_off_is_made_again(tmp_path: Path) -> None:
    project = lay_out(tmp_path / "toy")
    trial = toy_trial(project, "lr", seeds=2)
    first = _run(trial)
    cut = next((project / "trials").glob("sick-1-*.json"))
    cut.write_text(cut.read_text()[:100])
    assert [one.score for one in _run(trial).outcomes] == [one.score for one in first.outcomes]


def test_arms_are_run_seed_by_seed_and_equal_arms_once(tmp_path: Path) -> None:
    project = lay_out(tmp_path / "toy")
    prepared = prepare(toy_trial(project, "lr", "scale", seeds=2))
    names = ["sick", "cured", "without lr", "without scale", "placebo"]
    assert [arm.name for arm in prepared.arms] == names
    assert [seed for _, seed in prepared.keys] == [1] * 5 + [2] * 5
    assert len(set(prepared.keys.values())) == 10


def _run(trial: Trial, told: list[Progress] | None = None) -> TrialResult:
    slots = LocalProcesses(2, trial.folder / "trials" / ".work")
    return run_trial(trial, slots, told.append if told is not None else lambda _: None)


def _classes(result: TrialResult) -> dict[str, tuple[Class, ...]]:
    return {verdict.change: verdict.classes for verdict in result.verdicts}


def _listing(project: Path) -> dict[str, str]:
    return {str(p.relative_to(project)): p.read_text() for p in project.rglob("*") if p.is_file()}


def _count(counted: Path) -> int:
    return len(counted.read_text().split()) if counted.exists() else 0


def _wait_for(reached) -> None:
    waited = time.monotonic() + 20
    while not reached():
        assert time.monotonic() < waited
        time.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (OSError, IndexError):
        return False
