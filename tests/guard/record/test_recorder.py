"""The flight record survives what happens to programs and disks, and the training survives the record."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from stethoscope.guard.happening import Answer, Happening, Kind, Severity
from stethoscope.guard.observation import Observation
from stethoscope.guard.record.recorder import MOST_EVENTS, Recorder
from stethoscope.logs import read_log
from stethoscope.logs.following import Follower
from stethoscope.read import read
from stethoscope.run import EventKind, Log
from tests.logs.reading import points, series

BEGINNING = """
import math, os, resource, signal, sys, time
from stethoscope.guard.happening import Happening, Kind, Severity
from stethoscope.guard.observation import Observation
from stethoscope.guard.record.recorder import Recorder

def window(first):
    steps = range(first, first + 16)
    return [Observation(step, time.time(), {"loss": 1.0 + step, "lr": 0.1}) for step in steps]

recorder = Recorder(sys.argv[1])
"""


def program(tmp_path: Path, body: str) -> subprocess.Popen[str]:
    script = tmp_path / "training.py"
    script.write_text(BEGINNING + textwrap.dedent(body))
    command = [sys.executable, str(script), str(tmp_path / "run")]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ran(tmp_path: Path, body: str) -> tuple[int, str, str]:
    process = program(tmp_path, body)
    said, complained = process.communicate(timeout=60)
    return process.returncode, said, complained


def rows_in(home: Path) -> Log:
    (path,) = home.glob("*.frec")
    return read_log(path)


def events_in(home: Path) -> list[dict[str, object]]:
    (path,) = home.glob("*.events.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def window(first: int, size: int = 16) -> list[Observation]:
    return [
        Observation(step, time.time(), {"loss": 1.0 + step, "lr": 0.1}) for step in range(first, first + size)
    ]


def happening(step: int = 3, severity: Severity = Severity.WARNING) -> Happening:
    return Happening(Kind.NON_FINITE_LOSS, step, severity, "The loss is NaN.", facts={"value": math.nan})


# --- what is written ----------------------------------------------------------------------------------


def test_what_was_observed_is_read_back(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, facts={"total_steps": 100})
    values = {"loss": math.nan, "grad_norm": math.inf, "loss_scale": 65536.0, "update_ratio": math.nan}
    recorder.rows(
        [Observation(0, 1.78e9, values), Observation(1, 1.78e9 + 1, {**values, "update_ratio": 0.5})]
    )
    recorder.close()
    log = rows_in(tmp_path)
    assert math.isnan(series(log, "loss").values[0])
    assert points(log, "grad_norm") == [(0, math.inf), (1, math.inf)]
    assert points(log, "loss_scale") == [(0, 65536.0), (1, 65536.0)]
    assert points(log, "update_ratio") == [(1, 0.5)]
    assert (log.total_steps, log.last_written) == (100, 1.78e9 + 1)


def test_what_was_not_measured_is_absent(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.rows(
        [
            Observation(step, 1.78e9, {"loss": 1.0, **({"loss/gan": 2.0} if step % 3 else {})})
            for step in range(9)
        ]
    )
    recorder.close()
    assert [step for step, _ in points(rows_in(tmp_path), "loss/gan")] == [1, 2, 4, 5, 7, 8]
    assert len(series(rows_in(tmp_path), "loss")) == 9


def test_a_window_is_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(tmp_path)
    sizes: list[int] = []
    write = os.write

    def counted(file: int, data: bytes) -> int:
        sizes.append(len(data))
        return write(file, data)

    monkeypatch.setattr(os, "write", counted)
    recorder.rows(window(0))
    assert len(sizes) == 1
    monkeypatch.undo()
    recorder.close()


def test_values_that_a_row_cannot_hold_do_not_end_the_record(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    odd = {"loss": 1e300, "word": "x", "none": None, "whole": 3}
    recorder.rows([Observation(0, 1.78e9, odd), *window(1, 2)])
    recorder.close()
    log = rows_in(tmp_path)
    assert recorder.disabled == "closed"
    assert series(log, "loss").values[0] == pytest.approx(3.4028235e38)
    assert points(log, "whole") == [(0, 3.0)]
    assert len(series(log, "loss")) == 3


def test_hostile_names_come_back_as_they_were(tmp_path: Path) -> None:
    names = [
        "loss/a\nb",
        "loss/\u00fc",
        "loss/\U0001f600",
        'loss/"quoted"',
        "loss/\ud800",
        "",
        "loss/" + "x" * 5000,
    ]
    recorder = Recorder(tmp_path)
    recorder.rows([Observation(step, 1.78e9, dict.fromkeys(names, 1.0)) for step in range(3)])
    recorder.close()
    assert {one.logged_as for one in rows_in(tmp_path).series} == set(names)


def test_more_sets_of_columns_than_numbers_for_them_are_recorded(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    for step in range(700):
        recorder.rows([Observation(step, 1.78e9, {"loss": float(step), f"loss/{step % 300}": 1.0})])
    recorder.close()
    log = rows_in(tmp_path)
    assert points(log, "loss") == [(step, float(step)) for step in range(700)]
    assert [step for step, _ in points(log, "loss/7")] == [7, 307, 607]
    assert log.notes == ()


def test_a_thousand_columns_are_recorded(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.rows(
        [Observation(step, 1.78e9, {f"loss/{n}": float(n) for n in range(1000)}) for step in range(16)]
    )
    recorder.close()
    assert rows_in(tmp_path).points == 16_000


def test_what_happened_is_a_line_for_people_and_programs(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, rank=2, facts={"optimizer": "AdamW"})
    recorder.happened(
        Happening(
            Kind.DIVERGENCE,
            7,
            Severity.CRITICAL,
            "The loss rose from 2 to 40.",
            "It does not come back by itself.",
            "a lower learning rate",
            {"rate": 1e-3},
            Answer.REWIND,
            onset=5,
        )
    )
    recorder.close()
    first, told, last = events_in(tmp_path)
    assert (first["flight_record"], first["rank"], first["facts"]) == (1, 2, {"optimizer": "AdamW"})
    assert (told["kind"], told["step"], told["onset"], told["answer"]) == ("divergence", 7, 5, "rewind")
    assert (told["seen"], told["facts"]) == ("The loss rose from 2 to 40.", {"rate": 1e-3})
    assert last["kind"] == "finished"


def test_a_training_that_is_warned_of_every_step_does_not_fill_the_disk(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    for step in range(MOST_EVENTS + 50):
        recorder.happened(happening(step))
    recorder.happened(Happening(Kind.STOPPED, 99, Severity.CRITICAL, "Stopped."))
    recorder.close()
    kinds = [event["kind"] for event in events_in(tmp_path)]
    assert len(kinds) == MOST_EVENTS + 4
    assert kinds[-3:] == ["events-left-out", "stopped", "stopped"]


def test_facts_that_are_data_do_not_keep_the_record_from_beginning(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, facts={"text": "x" * (10 << 20), "object": object(), "path": tmp_path})
    recorder.rows(window(0))
    recorder.close()
    assert len(series(rows_in(tmp_path), "loss")) == 16


# --- how it ends --------------------------------------------------------------------------------------


def test_a_stop_is_not_called_a_finish(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.rows(window(0))
    recorder.happened(Happening(Kind.STOPPED, 15, Severity.CRITICAL, "Guard stopped the run."))
    recorder.close()
    (path,) = tmp_path.glob("*.events.jsonl")
    assert EventKind.FINISHED not in [event.kind for event in read_log(path).events]


def test_the_exception_on_its_way_is_what_ended_the_run(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.rows(window(0))
    with contextlib.suppress(ValueError):
        try:
            raise ValueError("bad\nthing")
        finally:
            recorder.close()
    assert events_in(tmp_path)[-1]["seen"] == "ValueError: bad thing"
    assert events_in(tmp_path)[-1]["step"] == 15


@pytest.mark.parametrize(
    ("end", "status", "kind"),
    [
        ("", 0, EventKind.FINISHED),
        ("sys.exit(0)", 0, EventKind.FINISHED),
        ("raise RuntimeError('CUDA error')", 1, EventKind.TRACEBACK),
        ("raise MemoryError", 1, EventKind.OUT_OF_MEMORY),
        ("os.kill(os.getpid(), signal.SIGINT); time.sleep(9)", -signal.SIGINT, EventKind.STOPPED_BY_USER),
    ],
)
def test_a_program_that_never_closes_the_record_says_how_it_ended(
    end: str, status: int, kind: EventKind, tmp_path: Path
) -> None:
    code, _, _ = ran(tmp_path, f"recorder.rows(window(0))\n{end}")
    assert code == status
    (path,) = (tmp_path / "run").glob("*.events.jsonl")
    assert read_log(path).events[-1].kind is kind
    assert len(series(rows_in(tmp_path / "run"), "loss")) == 16


def test_a_record_that_nobody_holds_any_more_is_closed(tmp_path: Path) -> None:
    open_before = len(os.listdir("/proc/self/fd"))
    recorder = Recorder(tmp_path)
    recorder.rows(window(0))
    del recorder
    assert events_in(tmp_path)[-1]["kind"] == "finished"
    assert len(os.listdir("/proc/self/fd")) == open_before
    assert not [thread for thread in threading.enumerate() if thread.name == "flight-record"]


def test_nothing_is_written_after_the_end(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.rows(window(0))
    recorder.close()
    recorder.close()
    recorder.rows(window(16))
    recorder.happened(happening())
    assert len(series(rows_in(tmp_path), "loss")) == 16


# --- crashes ------------------------------------------------------------------------------------------


def test_a_program_that_is_killed_loses_nothing_that_was_handed_over(tmp_path: Path) -> None:
    process = program(
        tmp_path,
        """
        for first in range(0, 10_000_000, 16):
            recorder.rows(window(first))
            print(first + 15, flush=True)
        """,
    )
    assert process.stdout is not None
    handed = 0
    for _ in range(200):
        handed = int(process.stdout.readline())
    process.kill()
    rest, _ = process.communicate()
    handed = max([handed, *map(int, rest.split("\n")[:-1])])
    log = rows_in(tmp_path / "run")
    loss = series(log, "loss")
    assert loss.steps.tolist() == list(range(len(loss)))
    assert len(loss) > handed
    assert [event["kind"] for event in events_in(tmp_path / "run")] == ["started"]


def test_a_full_disk_ends_the_record_and_not_the_training(tmp_path: Path) -> None:
    code, said, complained = ran(
        tmp_path,
        """
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
        for first in range(0, 4000, 16):
            recorder.rows(window(first))
        recorder.happened(Happening(Kind.REWOUND, 1, Severity.NOTE, "x"))
        recorder.close()
        print(recorder.disabled)
        """,
    )
    assert (code, said) == (0, "File too large\n")
    assert complained.count("The flight record cannot be written any further") == 1
    log = rows_in(tmp_path / "run")
    assert 100 < len(series(log, "loss")) < 200
    assert len(log.notes) == 1


@pytest.mark.parametrize("obstacle", ["file", "unwritable", "missing name"])
def test_a_folder_that_cannot_be_written_disables_the_record(obstacle: str, tmp_path: Path) -> None:
    said: list[str] = []
    places = {
        "file": tmp_path / "file" / "run",
        "unwritable": Path("/proc/run"),
        "missing name": Path("a" * 300),
    }
    (tmp_path / "file").touch()
    recorder = Recorder(places[obstacle], tell=said.append)
    recorder.rows(window(0))
    recorder.happened(happening())
    recorder.close()
    assert recorder.disabled not in (None, "closed")
    assert len(said) == 1
    assert str(recorder.disabled) in said[0]


def test_a_file_that_was_closed_by_somebody_disables_the_record(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = Recorder(tmp_path)
    assert recorder._files is not None
    os.close(recorder._files.rows)
    with caplog.at_level(logging.WARNING, "stethoscope.guard"):
        recorder.rows(window(0))
        recorder.rows(window(16))
    assert recorder.disabled == "Bad file descriptor"
    assert len(caplog.records) == 1
    recorder.close()


def test_a_worker_that_was_forked_does_not_write(tmp_path: Path) -> None:
    code, said, complained = ran(
        tmp_path,
        """
        import warnings
        warnings.simplefilter("ignore")
        recorder.rows(window(0))
        if os.fork() == 0:
            recorder.rows(window(16))
            recorder.happened(Happening(Kind.REWOUND, 1, Severity.NOTE, "x"))
            recorder.close()
            sys.exit(0)
        os.wait()
        recorder.rows(window(32))
        print(recorder.disabled)
        """,
    )
    assert (code, said, complained) == (0, "None\n", "")
    assert series(rows_in(tmp_path / "run"), "loss").steps.tolist() == [*range(16), *range(32, 48)]
    assert [event["kind"] for event in events_in(tmp_path / "run")] == ["started", "finished"]


def test_the_thread_that_syncs_does_not_keep_a_program_alive(tmp_path: Path) -> None:
    began = time.monotonic()
    code, _, _ = ran(tmp_path, "recorder.rows(window(0)); os._exit(3)")
    assert code == 3
    assert time.monotonic() - began < 30
    assert len(series(rows_in(tmp_path / "run"), "loss")) == 16


def test_two_programs_in_one_folder_write_records_of_their_own(tmp_path: Path) -> None:
    body = "for first in range(0, 3200, 16): recorder.rows(window(first))"
    processes = [program(tmp_path, body) for _ in range(2)]
    for process in processes:
        process.communicate(timeout=60)
    records = sorted((tmp_path / "run").glob("*.frec"))
    assert len(records) == 2
    for path in records:
        log = read_log(path)
        assert series(log, "loss").steps.tolist() == list(range(3200))
        assert log.notes == ()
    assert len(read(tmp_path / "run").series["loss"]) == 3200


def test_two_records_of_one_moment_have_two_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1.78e9)
    recorders = [Recorder(tmp_path) for _ in range(3)]
    for recorder in recorders:
        recorder.rows(window(0))
        recorder.close()
    assert len({recorder.path for recorder in recorders}) == 3
    assert len(list(tmp_path.glob("*.events.jsonl"))) == 3


def test_a_record_is_read_while_it_is_written(tmp_path: Path) -> None:
    process = program(
        tmp_path,
        """
        print(recorder.path, flush=True)
        for first in range(0, 16_000, 16):
            recorder.rows(window(first))
            time.sleep(0.0002)
        """,
    )
    assert process.stdout is not None
    follower, seen = Follower(Path(process.stdout.readline().strip())), [0]
    while process.poll() is None:
        log = follower.poll()
        if log is not None:
            assert log.notes == ()
            seen.append(len(series(log, "loss")))
    process.communicate()
    log = follower.poll() or rows_in(tmp_path / "run")
    assert series(log, "loss").steps.tolist() == list(range(16_000))
    assert seen == sorted(seen)
    assert len(seen) > 3


# --- what it costs ------------------------------------------------------------------------------------


def test_a_row_costs_microseconds(tmp_path: Path) -> None:
    names = (
        "loss",
        "grad_norm",
        "lr",
        "skipped",
        "input",
        "step_time",
        "data_time",
        "loss_scale",
        "loss/a",
        "loss/b",
    )
    windows = [
        [Observation(step, 1.78e9, dict.fromkeys(names, 0.5)) for step in range(first, first + 16)]
        for first in range(0, 32_000, 16)
    ]
    recorder = Recorder(tmp_path)
    began = time.thread_time()
    for some in windows:
        recorder.rows(some)
    spent = time.thread_time() - began
    recorder.close()
    assert spent / 32_000 < 20e-6  # measured: 1.6; the bound leaves room for a slow machine
    assert recorder.path is not None
    assert recorder.path.stat().st_size < 32_000 * 80
