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


def of(form: str, file: str, loss: Series, started: float | None = None) -> Log:
    return Log(file, form, (loss,), started=started)


def test_a_history_over_a_restart_does_not_hide_it() -> None:
    first = {step: 100.0 / step for step in range(10, 330, 10)}
    second = {step: 100.0 / step + 0.5 for step in range(310, 510, 10)}
    logs = [
        of("printed", "1.log", series("loss", first, first.values(), "1.log"), 1.0),
        of("printed", "2.log", series("loss", second, second.values(), "2.log"), 2.0),
        of("state", "state.json", series("loss", first | second, (first | second).values(), "state.json")),
    ]
    spliced = splice(logs)
    assert dict(spliced.series["loss"]) == first | second
    assert [list(left) for left in spliced.abandoned] == [[(310, first[310]), (320, first[320])]]
    assert [(part.first, part.last) for part in spliced.segments] == [(10, 320), (310, 500)]


def test_a_joined_series_names_the_file_that_most_of_it_came_from() -> None:
    first = log("a", series("loss", range(0, 1000, 10), range(100)), started=1.0)
    second = log("b", series("loss", range(1000, 1030, 10), [1, 2, 3], file="b"), started=2.0)
    assert splice([first, second]).series["loss"].file == "a"


def test_trainings_one_after_another_in_one_file_are_no_restarts() -> None:
    steps = list(range(50, 1050, 50))
    for many in (2, 3, 6):
        values = [number / 10 + 1000 / step for number in range(many) for step in steps]
        measured = series("val/loss", [500, 1000] * many, range(2 * many))
        spliced = splice([log("all.log", series("loss", steps * many, values), measured)])
        assert spliced.series["loss"].steps.tolist() == steps
        assert spliced.series["loss"].values.tolist() == values[-len(steps) :]
        assert list(spliced.series["val/loss"]) == [(500, 2 * many - 2), (1000, 2 * many - 1)]
        assert spliced.segments == (Segment(50, 1000, "a"),)
        assert len(spliced.abandoned) == 2 * (many - 1)
        assert spliced.notes == (
            f"all.log tells of {many} trainings one after another, each from the beginning to the end: "
            "the last one counts",
        )


def test_a_counter_of_epochs_is_no_row_of_trainings() -> None:
    values = [100 / (1 + number) for number in range(200)]
    loss = splice([log("a", series("loss", list(range(0, 200, 10)) * 10, values))]).series["loss"]
    assert (loss.axis, len(loss)) == ("row", 200)


def test_of_a_training_that_runs_no_measurement_is_taken_from_one_before() -> None:
    steps = list(range(50, 1050, 50))
    values = [1000 / step for step in [*steps, *steps[:5]]]
    loss, measured = series("loss", [*steps, *steps[:5]], values), series("val/loss", [200, 500, 1000, 200])
    spliced = splice([log("a", loss, measured)])
    assert spliced.series["val/loss"].steps.tolist() == [200]
    assert spliced.series["loss"].steps.tolist() == steps[:5]
