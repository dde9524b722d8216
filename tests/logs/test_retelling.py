"""Two logs of one run are one run: counted from another number, in micro-steps, or as means."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stethoscope.logs.splice import Spliced, splice, tell_the_same
from stethoscope.run import Log, Series

STEPS = np.arange(0, 400, dtype=np.int64)
LOSS = 3 / (1 + STEPS / 50) + 0.1 * np.random.default_rng(0).standard_normal(400)


def log(
    form: str,
    steps: npt.NDArray[np.int64],
    values: npt.NDArray[np.float64],
    name: str = "loss",
    **more: float,
) -> Log:
    return Log(f"{form}.log", form, (Series(name, name, steps, values, f"{form}.log"),), **more)


def told_once(spliced: Spliced) -> bool:
    return len(spliced.segments) == 1 and spliced.abandoned == ()


def test_a_log_that_counts_from_one_is_no_second_run() -> None:
    stdout, events = log("stdout", STEPS + 1, LOSS.round(4)), log("events", STEPS, LOSS)
    assert tell_the_same(stdout, events)
    spliced = splice([stdout, events])
    assert told_once(spliced)
    assert spliced.series["loss"].steps[0] in (0, 1)
    assert len(spliced.series["loss"]) == 400
    assert spliced.notes == ()


def test_every_tenth_step_printed_is_the_same_story() -> None:
    spliced = splice([log("stdout", STEPS[9::10] + 1, LOSS[9::10].round(3)), log("events", STEPS, LOSS)])
    assert told_once(spliced)
    assert len(spliced.series["loss"]) == 400


def test_micro_steps_are_divided() -> None:
    micro = log("stdout", STEPS * 4 + 3, LOSS.round(4))
    extra = Series("grad_norm", "grad_norm", STEPS, np.abs(LOSS), "events.log")
    events = Log("events.log", "events", (*log("events", STEPS, LOSS).series, extra))
    spliced = splice([micro, events])
    assert told_once(spliced)
    assert int(spliced.series["loss"].steps[-1]) == 399
    assert int(spliced.series["grad_norm"].steps[-1]) == 399
    assert "stdout.log counts 4 to a step of events.log" in spliced.notes[0]


def test_samples_are_divided_whichever_log_comes_first() -> None:
    samples = log("a", (STEPS + 1) * 512, LOSS)
    for logs in ([samples, log("b", STEPS + 1, LOSS)], [log("b", STEPS + 1, LOSS), samples]):
        spliced = splice(logs)
        assert told_once(spliced)
        assert int(spliced.series["loss"].steps[-1]) == 400


def test_means_of_another_program_are_not_taken_for_a_restart() -> None:
    means = np.convolve(LOSS, np.ones(20) / 20, mode="valid")[::20]
    spliced = splice([log("events", STEPS, LOSS), log("printed", STEPS[19::20], means)])
    assert told_once(spliced)
    assert len(spliced.series["loss"]) == 400


def test_the_same_program_beginning_again_is_a_restart() -> None:
    first = log("stdout", STEPS[:300], LOSS[:300], started=1.0)
    again = np.random.default_rng(1).permutation(LOSS[100:])
    spliced = splice([first, log("stdout", STEPS[100:], again, started=2.0)])
    assert len(spliced.segments) == 2
    assert len(spliced.abandoned) == 1


def test_another_program_at_another_time_is_a_restart() -> None:
    first = log("stdout", STEPS[:300], LOSS[:300], started=1.0, last_written=100.0)
    second = log(
        "events", STEPS, np.random.default_rng(1).permutation(LOSS), started=200.0, last_written=300.0
    )
    assert len(splice([first, second]).segments) == 2


def test_a_constant_is_no_story() -> None:
    ones = np.ones(400)
    one = log("a", STEPS, ones, "val/accuracy", started=1.0, last_written=2.0)
    other = log("b", STEPS * 3 + 50, ones, "val/accuracy", started=3.0, last_written=4.0)
    assert not tell_the_same(one, other)
