"""Two logs of one run are one run: counted from another number, in micro-steps, or as means."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stethoscope.logs.retelling import tell_the_same
from stethoscope.logs.splice import Spliced, splice
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


def named(form: str, **found: tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]) -> Log:
    file = f"{form}.log"
    series = [Series(n.replace("__", "/"), n, at, values, file) for n, (at, values) in found.items()]
    return Log(file, form, tuple(series))


def test_the_exact_telling_wins_over_the_rounded_one() -> None:
    exact, printed = log("events", STEPS, LOSS), log("stdout", STEPS, LOSS.round(3))
    for logs in ([exact, printed], [printed, exact]):
        loss = splice(logs).series["loss"]
        assert loss.values.tolist() == LOSS.tolist()
        assert loss.file == "events.log"


def test_what_only_the_rounded_telling_has_is_added() -> None:
    exact, printed = (
        log("events", STEPS[STEPS != 200][:-3], LOSS[STEPS != 200][:-3]),
        log("x", STEPS, LOSS.round(3)),
    )
    loss = splice([printed, exact]).series["loss"]
    assert loss.steps.tolist() == STEPS.tolist()
    assert loss.values[200] == LOSS[200].round(3)
    assert loss.values[199] == LOSS[199]
    assert loss.file == "events.log"


def test_a_telling_in_single_precision_is_no_more_exact_for_its_many_digits() -> None:
    rate = np.linspace(1e-3, 1e-4, 400).round(5)
    printed, events = (
        log("a", STEPS, rate, "lr"),
        log("b", STEPS, rate.astype(np.float32).astype(np.float64), "lr"),
    )
    assert splice([printed, events]).series["lr"].values.tolist() == rate.tolist()


def test_the_steps_of_the_exact_telling_count() -> None:
    bar, events = log("bar", STEPS, LOSS.round(2)), log("events", STEPS + 1, LOSS)
    for logs in ([bar, events], [events, bar]):
        assert list(splice(logs).series["loss"]) == list(
            zip((STEPS + 1).tolist(), LOSS.tolist(), strict=True)
        )


def test_a_bar_drawn_twice_at_a_step_is_held_against_its_last_value() -> None:
    late = np.concatenate([LOSS[:1], LOSS[:-1]])  # drawn when the step is done, and again with its loss
    bar = log("bar", np.repeat(STEPS + 1, 2), np.column_stack([late, LOSS]).ravel().round(3))
    spliced = splice([bar, log("events", STEPS + 1, LOSS)])
    assert told_once(spliced)
    assert list(spliced.series["loss"])[:2] == [(1, LOSS[0]), (2, LOSS[1])]


def test_the_last_frame_of_a_bar_is_no_restart() -> None:
    frame = log("frame", STEPS[-1:], LOSS[-1:].round(3), started=9.0)
    spliced = splice([log("events", STEPS, LOSS), frame])
    assert told_once(spliced)
    assert spliced.series["loss"].file == "events.log"


def test_a_telling_that_counts_rows_is_the_same_story() -> None:
    steps = log("stdout", STEPS * 10, LOSS.round(4))
    rows = Series("loss", "loss", STEPS[5:], LOSS[5:].round(4), "output.log", axis="row")
    output = Log("output.log", "stdout", (rows,))
    assert tell_the_same(steps, output)
    spliced = splice([steps, output])
    assert told_once(spliced)
    assert spliced.series["loss"].steps.tolist() == (STEPS * 10).tolist()


def test_rows_of_another_run_are_another_story() -> None:
    rows = Series("loss", "loss", STEPS, LOSS * 1.05, "output.log", axis="row")
    assert not tell_the_same(log("stdout", STEPS * 10, LOSS), Log("output.log", "stdout", (rows,)))


def test_an_evaluation_after_training_is_no_restart() -> None:
    held_out = (STEPS[::100], LOSS[::100])
    training = named("events", loss=(STEPS, LOSS), val__loss=held_out)
    again = named("later", val__loss=(STEPS[300:301], np.array([9.0])), val__f1=(STEPS[-1:], np.array([0.5])))
    spliced = splice([training, again])
    assert told_once(spliced)
    assert list(spliced.series["val/loss"]) == list(zip(*(part.tolist() for part in held_out), strict=True))
    assert list(spliced.series["val/f1"]) == [(399, 0.5)]
    assert spliced.notes == (
        "later.log measures val/loss again at step 300: the value measured in training counts",
    )


def test_the_best_checkpoint_measured_at_the_end_is_no_restart() -> None:
    measured = np.array([100, 200, 300, 200]), np.array([3.0, 1.0, 2.0, 1.0])
    spliced = splice([named("stdout", loss=(STEPS, LOSS), val__loss=measured)])
    assert told_once(spliced)
    assert spliced.series["val/loss"].steps.tolist() == [100, 200, 300]
    assert spliced.notes == ()


def test_a_validation_that_goes_back_with_training_is_a_restart() -> None:
    back = np.concatenate([STEPS[:300], STEPS[100:250]])
    spliced = splice(
        [
            named(
                "a", loss=(back, back * 1.0), val__loss=(np.array([100, 200, 150]), np.array([3.0, 1.0, 2.0]))
            )
        ]
    )
    assert len(spliced.segments) == 2
    assert spliced.series["val/loss"].steps.tolist() == [100, 150]


def side_by_side(file: str, own: str, steps: npt.NDArray[np.int64]) -> Log:
    loss = Series("loss", "train_loss", steps, LOSS[steps], file)
    return Log(file, "CSV table", (loss, Series(own, own, steps, LOSS[steps], file)))


def test_a_table_of_steps_and_one_of_epochs_are_one_run() -> None:
    every, tenth = STEPS[::2], STEPS[9::10]
    blurred = LOSS.copy()
    blurred[tenth] *= 1.15
    epochs = side_by_side("run/epochs.csv", "val/loss", tenth)
    means = Series("loss", "train_loss", tenth, blurred[tenth], "run/epochs.csv")
    epochs = Log(epochs.file, epochs.format, (means, epochs.series[1]))
    assert told_once(splice([side_by_side("run/steps.csv", "grad_norm", every), epochs]))


def test_a_second_table_of_the_same_columns_is_a_second_run() -> None:
    again = Series("loss", "train_loss", STEPS, LOSS * 1.15, "run/b.csv")
    first = Series("loss", "train_loss", STEPS, LOSS, "run/a.csv")
    logs = [Log("run/a.csv", "CSV table", (first,)), Log("run/b.csv", "CSV table", (again,))]
    assert not told_once(splice(logs))
