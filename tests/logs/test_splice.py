"""Joining the logs of one run."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stethoscope.logs import splice
from stethoscope.run import Log, Segment, Series


def series(
    name: str,
    steps: Iterable[int],
    values: Iterable[float] | None = None,
    file: str = "a",
    axis: str = "step",
) -> Series:
    at = np.array(list(steps), dtype=np.int64)
    held = at * 1.0 if values is None else np.array(list(values), dtype=np.float64)
    return Series(name, name, at, held, file, axis=axis)


def log(file: str, *found: Series, started: float | None = None) -> Log:
    return Log(file, "test", found, started=started)


def test_one_log_is_itself() -> None:
    spliced = splice([log("a", series("loss", [0, 10, 20]))])
    assert spliced.series["loss"].steps.tolist() == [0, 10, 20]
    assert spliced.segments == (Segment(0, 20, "a"),)
    assert spliced.abandoned == ()


def test_a_resumed_file_replaces_what_it_trains_again() -> None:
    first = log("a", series("loss", range(100, 600, 100), [5, 4, 3, 2, 1]), started=1.0)
    second = log("b", series("loss", range(400, 800, 100), [20, 19, 18, 17], file="b"), started=2.0)
    spliced = splice([second, first])
    assert list(spliced.series["loss"]) == [
        (100, 5),
        (200, 4),
        (300, 3),
        (400, 20),
        (500, 19),
        (600, 18),
        (700, 17),
    ]
    (left,) = spliced.abandoned
    assert list(left) == [(400, 2), (500, 1)]
    assert spliced.segments == (Segment(100, 500, "a"), Segment(400, 700, "b"))


def test_a_restart_inside_one_file_is_found() -> None:
    loss = series("loss", [0, 10, 20, 30, 20, 30, 40], [9, 8, 7, 6, 5, 4, 3])
    spliced = splice([log("a", loss)])
    assert list(spliced.series["loss"]) == [(0, 9), (10, 8), (20, 5), (30, 4), (40, 3)]
    assert [list(piece) for piece in spliced.abandoned] == [[(20, 7), (30, 6)]]
    assert len(spliced.segments) == 2


def test_of_a_step_logged_twice_the_last_counts() -> None:
    spliced = splice([log("a", series("loss", [0, 10, 10, 20], [4, 3, 2, 1]))])
    assert list(spliced.series["loss"]) == [(0, 4), (10, 2), (20, 1)]
    assert spliced.abandoned == ()


def test_a_counter_that_begins_again_regularly_counts_rows() -> None:
    spliced = splice([log("a", series("loss", [50, 100, 150] * 5, range(15)))])
    loss = spliced.series["loss"]
    assert (loss.axis, len(loss)) == ("row", 15)


def test_the_rate_of_a_resumed_run_is_spliced_as_its_loss_is() -> None:
    lr = [1e-4] * 5
    first = log("a", series("loss", range(5), [5, 4, 3, 2, 1]), series("lr", range(5), lr), started=1.0)
    second = log(
        "b", series("loss", range(2, 7), [9, 8, 7, 6, 5]), series("lr", range(2, 7), lr), started=2.0
    )
    spliced = splice([first, second])
    assert len(spliced.abandoned) == 2
    assert spliced.series["lr"].steps.tolist() == spliced.series["loss"].steps.tolist()


def test_two_formats_of_one_story_give_the_richer_of_each_name() -> None:
    steps = range(10, 110, 10)
    state = log(
        "trainer_state.json", series("loss", steps), series("grad_norm", steps), series("throughput", [100])
    )
    lines = log("trainer_log.jsonl", series("loss", range(10, 60, 10)), series("throughput", steps))
    spliced = splice([state, lines])
    assert len(spliced.series["loss"]) == len(spliced.series["throughput"]) == 10
    assert spliced.abandoned == ()
    assert len(spliced.segments) == 1


def test_of_histories_in_checkpoints_the_longest_is_kept() -> None:
    logs = [
        log(f"checkpoint-{n}/trainer_state.json", series("loss", range(10, n + 10, 10)))
        for n in (100, 300, 200)
    ]
    spliced = splice(logs)
    assert spliced.series["loss"].steps[-1] == 300
    assert spliced.abandoned == ()


def test_the_logs_of_other_ranks_are_left_aside() -> None:
    logs = [log(f"log_rank{rank}.txt", series("loss", range(5), [rank + 1.0] * 5)) for rank in (0, 1, 2)]
    assert splice(logs).series["loss"].values.tolist() == [1.0] * 5


def test_a_metric_of_an_abandoned_stretch_goes_with_it() -> None:
    first = log(
        "a", series("loss", range(0, 500, 10), range(50)), series("val/psnr", [250, 450]), started=1.0
    )
    second = log("b", series("loss", range(300, 400, 10), range(10)), started=2.0)
    spliced = splice([first, second])
    assert spliced.series["val/psnr"].steps.tolist() == [250]
    assert [p.name for p in spliced.abandoned] == ["loss", "val/psnr"]


def test_training_and_validation_in_two_files_stand_side_by_side() -> None:
    spliced = splice(
        [log("train.csv", series("loss", range(10))), log("val.csv", series("val/loss", [0, 5]))]
    )
    assert set(spliced.series) == {"loss", "val/loss"}
    assert spliced.abandoned == ()


def test_steps_and_epochs_never_stand_in_one_series() -> None:
    spliced = splice([log("a", series("loss", range(100))), log("b", series("loss", range(3), axis="epoch"))])
    assert (spliced.series["loss"].axis, len(spliced.series["loss"])) == ("step", 100)


def test_nothing_gives_nothing() -> None:
    assert splice([]).series == {}
    assert splice([log("a", series("loss", []))]).series == {}


@given(st.lists(st.lists(st.integers(-5, 40), max_size=30), max_size=4))
def test_the_current_branch_always_increases_and_no_point_is_invented(files: list[list[int]]) -> None:
    given_points = {(step, float(n)) for n, steps in enumerate(files) for step in steps}
    logs = [
        log(str(n), series("loss", steps, [n] * len(steps)), started=float(n))
        for n, steps in enumerate(files)
    ]
    spliced = splice(logs)
    for current in spliced.series.values():
        assert (np.diff(current.steps) > 0).all()
        if current.axis == "step":
            assert set(current) <= given_points
