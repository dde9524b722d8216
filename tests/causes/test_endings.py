"""A run that was cut short is diagnosed by what its output says, and one that was not is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope import diagnose
from stethoscope.causes.verdict import Verdict, stands

STEPS = "".join(f"step {10 * k}: loss {2.6 - 0.02 * k:.4f} lr 0.0003\n" for k in range(1, 60))
TRACE = 'Traceback (most recent call last):\n  File "train.py", line 40, in <module>\n    main()\n'
ENDS = {
    "out-of-memory": f"{TRACE}torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n",
    "collective-timeout": "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9)\n",
    "worker-killed": f"{TRACE}RuntimeError: DataLoader worker (pid 9) is killed by signal: Killed.\n",
    "shared-memory-exhausted": f"{TRACE}RuntimeError: unable to write to </torch_9>: /dev/shm, bus error\n",
    "disk-full": f"{TRACE}OSError: [Errno 28] No space left on device\n",
    "index-out-of-range": f"{TRACE}IndexError: Target 10 is out of bounds.\n",
    "device-fault": f"{TRACE}RuntimeError: CUDA error: uncorrectable ECC error encountered\n",
    "crashed-by-exception": f"{TRACE}KeyError: 'boxes'\n",
}


def of(folder: Path, text: str) -> tuple[Verdict, list[str]]:
    (folder / "train.log").write_text(text, encoding="utf-8")
    found = diagnose(folder)
    return found.verdict, [cause.name for cause in found.explanation.causes if stands(cause)]


@pytest.mark.parametrize("cause", ENDS)
def test_a_run_that_died_is_sick_of_what_it_died_of(cause: str, tmp_path: Path) -> None:
    assert of(tmp_path, STEPS + ENDS[cause]) == (Verdict.SICK, [cause])


def test_a_run_that_was_told_to_stop_is_not_sick(tmp_path: Path) -> None:
    said = "slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2025-03-02T13:10:00 DUE TO TIME LIMIT ***\n"
    assert of(tmp_path, STEPS + said) == (Verdict.AT_RISK, ["preempted"])


def test_a_process_that_was_killed_has_no_standing_cause(tmp_path: Path) -> None:
    assert of(tmp_path, f"{STEPS}Killed\n") == (Verdict.UNKNOWN, [])


@pytest.mark.parametrize("end", ["", "KeyboardInterrupt\n", "Training complete\n"])
def test_a_run_that_ended_well_or_goes_on_is_healthy(end: str, tmp_path: Path) -> None:
    assert of(tmp_path, STEPS + end) == (Verdict.HEALTHY, [])


@pytest.mark.parametrize("cause", ENDS)
def test_what_happens_after_the_end_is_only_noted(cause: str, tmp_path: Path) -> None:
    assert of(tmp_path, f"{STEPS}Training complete\n{ENDS[cause]}") == (Verdict.HEALTHY, [])


@pytest.mark.parametrize("cause", ENDS)
def test_what_training_went_on_after_is_no_end(cause: str, tmp_path: Path) -> None:
    more = "".join(f"step {10 * k}: loss {1.4:.4f} lr 0.0003\n" for k in range(60, 90))
    assert of(tmp_path, STEPS + ENDS[cause] + more) == (Verdict.HEALTHY, [])
