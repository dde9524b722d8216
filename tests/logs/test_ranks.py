"""Logs to which several processes of one run print."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.logs import head_of, read_log, surest
from stethoscope.logs._reading.stream import begun
from stethoscope.run import EventKind, Log


def log_of(tmp_path: Path, text: str) -> Log:
    file = tmp_path / "train.out"
    file.write_text(text)
    return read_log(file, file.name)


def losses(log: Log) -> list[tuple[int, float]]:
    (found,) = [series for series in log.series if series.name == "loss"]
    return list(found)


def printed_by_two(prefix: str, line: str) -> str:
    """Two processes that print in turns, sometimes one and sometimes the other ahead."""
    out = []
    for first in range(0, 40, 5):
        for rank in (1, 0) if first % 10 else (0, 1):
            out += [
                prefix.format(rank) + line.format(step=step, loss=2 - step / 100 + rank / 8)
                for step in range(first, first + 5)
            ]
    return "\n".join(out) + "\n"


@pytest.mark.parametrize(
    "prefix",
    [
        "[default{}]:",
        "[rank{}]: ",
        "[Rank {}] ",
        "{}: ",
        "gpu{} | ",
        "rank{}: ",
        "(rank={}) ",
        "[1,{}]<stdout>:",
    ],
)
@pytest.mark.parametrize(
    ("line", "form"),
    [
        ("iter {step}: loss {loss:.4f}, time 12.00ms, mfu 1.00%", "nanoGPT log"),
        ("step: {step} loss: {loss:.4f} grad_norm: 0.5", "unknown text log"),
        ('{{"step": {step}, "loss": {loss:.4f}}}', "JSON lines"),
    ],
)
def test_the_lowest_of_several_processes_is_read(tmp_path: Path, prefix: str, line: str, form: str) -> None:
    log = log_of(tmp_path, printed_by_two(prefix, line))
    assert log.format == form
    assert losses(log) == [(step, round(2 - step / 100, 4)) for step in range(40)]
    assert any(
        note.startswith("2 ranks print into this log: the lines of rank 0 were read") for note in log.notes
    )


def test_what_only_another_process_says_is_kept(tmp_path: Path) -> None:
    text = printed_by_two("[default{}]:", "iter {step}: loss {loss:.4f}, time 12.00ms, mfu 1.00%")
    failed = ["Traceback (most recent call last):", '  File "a.py", line 1, in <module>', "ValueError: bad"]
    log = log_of(tmp_path, text + "".join(f"[default1]:{line}\n" for line in failed))
    assert [(event.kind, event.line) for event in log.events] == [(EventKind.TRACEBACK, 83)]


def test_the_process_that_prints_the_losses_is_read(tmp_path: Path) -> None:
    lines = [f"[default0]:starting part {at}\n" for at in range(4)]
    lines += [f"[default7]:iter {at}: loss {2 - at / 100:.4f}, time 12.00ms, mfu 1.00%\n" for at in range(30)]
    assert len(losses(log_of(tmp_path, "".join(lines)))) == 30


def test_numbers_that_count_are_no_processes(tmp_path: Path) -> None:
    lines = [f"{epoch}: loss: {2 - epoch / 10 - at / 100:.4f}\n" for epoch in range(4) for at in range(5)]
    log = log_of(tmp_path, "epoch\n" + "".join(f"step {at} {line}" for at, line in enumerate(lines)))
    assert len(losses(log)) == 20
    assert not any("ranks" in note for note in log.notes)


@pytest.mark.parametrize("size", [1, 7, 100, 10_000])
def test_pieces_of_any_size_are_read_alike(tmp_path: Path, size: int) -> None:
    text = printed_by_two("[rank{}]: ", "iter {step}: loss {loss:.4f}, time 12.00ms, mfu 1.00%").encode()
    file = tmp_path / "train.out"
    file.write_bytes(text)
    head = head_of(file, file.name)
    reader = surest(head)
    assert reader is not None
    reading = begun(reader, head)
    done, seen = 0, 0
    while seen < len(text):
        seen = min(seen + size, len(text))
        done += reading.take(text[done:seen], seen == len(text))
    assert losses(reading.log()) == losses(read_log(file, file.name))


def test_lines_of_two_processes_that_say_no_number_are_told_apart(tmp_path: Path) -> None:
    log = log_of(tmp_path, printed_by_two("", "iter {step}: loss {loss:.4f}, time 12.00ms, mfu 1.00%"))
    assert [step for step, _ in losses(log)] == [*range(40)]
    assert any("several processes" in note for note in log.notes)


def test_one_process_a_little_behind_another_is_left_out(tmp_path: Path) -> None:
    lines = []
    for step in range(2, 42):
        for rank, at in ((0, step), (1, step - 2)):
            if at < 40:
                lines.append(f"iter {at}: loss {2 - at / 100 + rank / 8:.4f}, time 12.00ms, mfu 1.00%\n")
    first = "".join(f"iter {at}: loss {2 - at / 100:.4f}, time 12.00ms, mfu 1.00%\n" for at in (0, 1))
    assert losses(log_of(tmp_path, first + "".join(lines))) == [
        (step, round(2 - step / 100, 4)) for step in range(40)
    ]


@pytest.mark.parametrize(
    "steps",
    [
        [*range(20)] * 5,  # folds
        [*range(20), *range(10, 30), *range(20, 40), *range(30, 50)],  # restarts
        [*range(40)],
    ],
)
def test_trainings_one_after_another_are_no_processes(tmp_path: Path, steps: list[int]) -> None:
    lines = [
        f"iter {step}: loss {2 - at / 200:.4f}, time 12.00ms, mfu 1.00%\n" for at, step in enumerate(steps)
    ]
    assert len(losses(log_of(tmp_path, "".join(lines)))) == len(steps)
