"""One run: real processes that end well, crash, hang, fork, eat memory and leave strange logs."""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from pathlib import Path

import pytest

from stethoscope.trials import Ending, Metric, Outcome, Reading, running
from stethoscope.trials.running import Job, perform

PSNR = Metric("val/psnr", "max")
CSV = "step,loss,val/psnr\\n" + "".join(f"{n},{10 - n},{n}\\n" for n in range(10))


def test_the_metric_is_read_from_what_the_run_leaves(tmp_path: Path) -> None:
    outcome = _run(tmp_path, f"open('log.csv', 'w').write('{CSV}')")
    assert (outcome.ending, outcome.score, outcome.steps) == (Ending.SCORED, 9.0, 9)
    assert outcome.curve[0] == (0, 0.0)
    assert outcome.first == 0.0
    assert not (tmp_path / "work").exists() or not list((tmp_path / "work").iterdir())


@pytest.mark.parametrize(("reading", "score"), [(Reading.TAIL, 17.5), (Reading.LAST, 18), (Reading.BEST, 30)])
def test_a_score_is_the_mean_of_the_last_tenth_the_last_or_the_best(
    tmp_path: Path, reading: Reading, score: float
) -> None:
    rows = "".join(f"{n},{30 if n == 4 else n - 1}\\n" for n in range(20))
    metric = Metric("val/psnr", "max", reading)
    assert _run(tmp_path, f"open('log.csv', 'w').write('step,val/psnr\\n{rows}')", metric).score == score


def test_the_metric_may_be_printed(tmp_path: Path) -> None:
    lines = "for n in range(5): print(f'epoch {n}: loss 0.{n} val_psnr {20 + n}')"
    assert _run(tmp_path, lines, Metric("val_psnr", "max", Reading.LAST)).score == 24.0


def test_an_older_log_in_the_project_is_no_result_of_this_run(tmp_path: Path) -> None:
    outcome = _run(tmp_path, "print('nothing')", files={"old.csv": CSV.replace("\\n", "\n")})
    assert outcome.ending is Ending.UNREADABLE


def test_a_metric_that_is_not_there_is_told_with_what_is(tmp_path: Path) -> None:
    outcome = _run(tmp_path, f"open('log.csv', 'w').write('{CSV}')", Metric("val/ssim", "max"))
    assert outcome.ending is Ending.UNREADABLE
    assert set(outcome.names) >= {"loss", "val/psnr"}


def test_a_score_that_is_not_finite_is_a_run_that_diverged(tmp_path: Path) -> None:
    outcome = _run(tmp_path, "open('log.csv', 'w').write('step,val/psnr\\n0,5\\n1,nan\\n')")
    assert outcome.ending is Ending.DIVERGED
    assert outcome.score is None
    assert outcome.first == 5.0


def test_a_crash_after_training_began_is_a_failed_run_with_its_last_lines(tmp_path: Path) -> None:
    outcome = _run(tmp_path, f"open('log.csv', 'w').write('{CSV}'); raise ValueError('loss is NaN')")
    assert outcome.ending is Ending.CRASHED
    assert outcome.ending.failed
    assert outcome.tail[-1] == "ValueError: loss is NaN"


def test_a_crash_before_anything_was_measured_says_nothing_about_the_change(tmp_path: Path) -> None:
    outcome = _run(tmp_path, "import no_such_module")
    assert outcome.ending is Ending.BROKEN
    assert not outcome.ending.failed
    assert "no_such_module" in outcome.tail[-1]


def test_a_command_that_hangs_is_ended_with_all_of_its_processes(tmp_path: Path) -> None:
    """One child has left for a session of its own."""
    script = (
        "import os, signal, subprocess, sys, time\n"
        "far = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        f"open({str(tmp_path / 'pids')!r}, 'w').write(f'{{os.getpid()}} {{far.pid}}')\n"
        "time.sleep(60)"
    )
    outcome = _run(tmp_path, script, seconds=1.0)
    assert outcome.ending is Ending.TIMED_OUT
    assert _all_gone(tmp_path / "pids")


def test_what_a_command_leaves_running_is_ended_with_it(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys\n"
        "left = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        f"open({str(tmp_path / 'pids')!r}, 'w').write(str(left.pid))\n"
        f"open('log.csv', 'w').write('{CSV}')"
    )
    assert _run(tmp_path, script).score == 9.0
    assert _all_gone(tmp_path / "pids")


def test_a_run_is_stopped_when_it_is_told_to(tmp_path: Path) -> None:
    stop = threading.Event()
    script = f"import os, time; open({str(tmp_path / 'pids')!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    threading.Thread(target=_set_when_there, args=(stop, tmp_path / "pids"), daemon=True).start()
    outcome = _run(tmp_path, script, stop=stop)
    assert outcome.ending is Ending.NOT_RUN
    assert _all_gone(tmp_path / "pids")


def test_a_run_that_takes_too_much_memory_is_ended(tmp_path: Path) -> None:
    outcome = _run(tmp_path, "x = bytearray(400 << 20); import time; time.sleep(60)", memory=200 << 20)
    assert outcome.ending is Ending.OVER_MEMORY
    assert "0.4 GB" in outcome.why


def test_a_run_that_is_killed_from_outside_says_nothing(tmp_path: Path) -> None:
    outcome = _run(tmp_path, "import os; os.kill(os.getpid(), 9)")
    assert outcome.ending is Ending.KILLED
    assert "signal 9" in outcome.why


def test_a_command_that_does_not_exist_is_said_to(tmp_path: Path) -> None:
    outcome = _run(tmp_path, "", command=("no-such-command",))
    assert outcome.ending is Ending.BROKEN
    assert "no-such-command: No such file" in outcome.why


def test_a_run_whose_loss_is_no_number_any_more_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "LOOK_SECONDS", 0.2)
    script = (
        "import time\n"
        "with open('log.csv', 'w', buffering=1) as log:\n"
        "    log.write('step,loss,val/psnr\\n')\n"
        "    for n in range(2000):\n"
        "        log.write(f'{n},nan,nan\\n'); time.sleep(0.03)\n"
    )
    outcome = _run(tmp_path, script)
    assert outcome.ending is Ending.DIVERGED
    assert "stopped early" in outcome.why


def test_cores_and_seeds_are_given_by_variables(tmp_path: Path) -> None:
    script = (
        "import os\n"
        "threads, seed = os.environ['OMP_NUM_THREADS'], os.environ['MY_SEED']\n"
        "open('log.csv', 'w').write(f'step,a,b\\n0,{threads},{seed}\\n')"
    )
    job = _job(script, Metric("a", "max"), threads=3, variables={"MY_SEED": "41"})
    assert _performed(tmp_path, job).score == 3.0
    assert _performed(tmp_path, _job(script, Metric("b", "max"), variables={"MY_SEED": "41"})).score == 41.0


def test_the_frozen_evaluator_is_untouched_by_the_arm_and_judges_what_the_run_left(tmp_path: Path) -> None:
    """The arm's own validation counts double; the evaluator reads the weights."""
    files = {"validate.py": "FACTOR = 1\n"}
    script = (
        "import sys; sys.path.insert(0, '.'); import validate\n"
        "open('weights.txt', 'w').write('7')\n"
        "open('log.csv', 'w').write(f'step,val/psnr\\n0,{7 * validate.FACTOR}\\n')"
    )
    evaluate = (
        "import sys, json; sys.path.insert(0, '.'); import validate\n"
        "weight = int(open(sys.argv[1] + '/weights.txt').read())\n"
        "print('looking'); print(json.dumps({'val/psnr': validate.FACTOR * weight}))"
    )
    job = _job(
        script,
        PSNR,
        changed={"validate.py": b"FACTOR = 2\n"},
        evaluate=(sys.executable, "-c", evaluate, "{run}"),
    )
    outcome = _performed(tmp_path, job, files)
    assert (outcome.score, outcome.own) == (7.0, 14.0)


@pytest.mark.parametrize(
    ("printed", "ending", "score"),
    [
        ("print('12.5')", Ending.SCORED, 12.5),
        ("print('{\"psnr\": 3}')", Ending.SCORED, 3.0),
        ("print('nan')", Ending.DIVERGED, None),
        ("print('no score')", Ending.UNREADABLE, None),
        ("raise SystemExit(3)", Ending.BROKEN, None),
    ],
)
def test_an_evaluator_prints_its_score(
    tmp_path: Path, printed: str, ending: Ending, score: float | None
) -> None:
    job = _job(f"open('log.csv', 'w').write('{CSV}')", PSNR, evaluate=(sys.executable, "-c", printed))
    outcome = _performed(tmp_path, job)
    assert (outcome.ending, outcome.score) == (ending, score)


def test_a_disk_that_is_full_is_no_result(tmp_path: Path) -> None:
    (tmp_path / "work").write_text("a file where the folder should be")
    outcome = _run(tmp_path, "")
    assert outcome.ending is Ending.NOT_RUN
    assert "not a directory" in outcome.why


def test_two_runs_that_did_the_same_have_the_same_fingerprint_whatever_time_it_was(tmp_path: Path) -> None:
    script = (
        "import time; now = time.time()\n"
        "open('log.csv', 'w').write(f'step,val/psnr,time\\n0,5,{now}\\n1,6,{now + 1}\\n')"
    )
    first, second = _run(tmp_path, script), _run(tmp_path, script)
    other = _run(tmp_path, script.replace("1,6", "1,7"))
    assert first.fingerprint == second.fingerprint != other.fingerprint
    assert math.isfinite(first.seconds)


def _run(
    tmp_path: Path,
    script: str,
    metric: Metric = PSNR,
    *,
    files: dict[str, str] | None = None,
    stop: threading.Event | None = None,
    command: tuple[str, ...] = (),
    seconds: float | None = 30.0,
    memory: int | None = None,
) -> Outcome:
    job = _job(script, metric, command=command, seconds=seconds, memory_bytes=memory)
    return _performed(tmp_path, job, files, stop)


def _job(script: str, metric: Metric, command: tuple[str, ...] = (), **given: object) -> Job:
    settled: dict[str, object] = {"changed": {}, "seconds": 30.0} | given
    return Job("sick", 1, "0123456789abcdef", command or (sys.executable, "-c", script), metric, **settled)


def _performed(
    tmp_path: Path,
    job: Job,
    files: dict[str, str] | None = None,
    stop: threading.Event | None = None,
) -> Outcome:
    snapshot = tmp_path / "snapshot"
    snapshot.mkdir(exist_ok=True)
    for name, text in (files or {}).items():
        (snapshot / name).write_text(text, encoding="utf-8")
    return perform(job, snapshot, tmp_path / "work", stop or threading.Event())


def _set_when_there(stop: threading.Event, file: Path) -> None:
    while not (file.exists() and file.read_text()):
        time.sleep(0.02)
    stop.set()


def _all_gone(pids: Path) -> bool:
    """Whether the processes have ended; a moment may pass until the system has let go of them."""
    waited = time.monotonic() + 5
    left = [int(pid) for pid in pids.read_text().split()]
    while left and time.monotonic() < waited:
        left = [pid for pid in left if _runs(pid)]
        time.sleep(0.02)
    return not left


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (OSError, IndexError):
        return False
