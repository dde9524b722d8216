"""`stethoscope watch` as people and programs use it: real processes, logs that grow, a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.processes import COMMAND, stethoscope, surroundings
from tests.watching.runs import append, begun, rows
from tests.watching.servers import receiving

PATIENCE = 60.0


@contextmanager
def watching(*arguments: str | Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """The command as it runs, its output to be read line by line."""
    process = subprocess.Popen(
        [*COMMAND, "watch", *map(str, arguments), "--every", "0.1"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=surroundings(**environment),
        preexec_fn=listen_to_interrupts,
    )
    alarm = threading.Timer(PATIENCE, process.kill)
    alarm.start()
    try:
        yield process
    finally:
        alarm.cancel()
        process.kill()
        process.communicate()


def listen_to_interrupts() -> None:
    # A test run that was itself started in the background passes on that interrupts are ignored.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def until(process: subprocess.Popen[str], fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The first object that fits."""
    assert process.stdout is not None
    for line in process.stdout:
        told: dict[str, Any] = json.loads(line)
        assert told["schema"] == 1
        if fits(told):
            return told
    raise AssertionError("the output ended")


def ended(process: subprocess.Popen[str], number: int = signal.SIGINT) -> tuple[int, str, str]:
    process.send_signal(number)
    told, complained = process.communicate(timeout=PATIENCE)
    return process.returncode, told, complained


def test_once_shows_the_state_and_exits_as_diagnose_does(healthy_run: Path, broken_run: Path) -> None:
    for run, status in ((healthy_run, 0), (broken_run, 1)):
        done = stethoscope("watch", run, "--once")
        assert (done.returncode, done.stderr) == (status, b"")
    text = done.stdout.decode()
    assert text.startswith("broken: sick; best guess: ")
    assert "critical NUM101 non-finite-values" in text
    done = stethoscope("watch", broken_run, "--once", "--format", "json")
    told = json.loads(done.stdout)
    assert (told["kind"], told["verdict"], told["step"]) == ("state", "sick", 99)
    done = stethoscope("watch", "no/such/run", "--once")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"no/such/run" in done.stderr


LOGS: dict[str, tuple[str, Callable[[int, str], str]]] = {
    "metrics.csv": ("step,loss\n", lambda step, loss: f"{step},{loss}\n"),
    "metrics.jsonl": ("", lambda step, loss: f'{{"step": {step}, "loss": {loss}}}\n'.replace("nan", "NaN")),
    "train.log": ("training begins\n", lambda step, loss: f"step {step} | loss {loss} | lr 1e-3\n"),
}


@pytest.mark.parametrize("name", LOGS)
def test_a_growing_log_is_judged_live(name: str, tmp_path: Path) -> None:
    """A run that does not exist yet, trains, and loses its loss."""
    run = tmp_path / "run"
    header, line = LOGS[name]
    with watching(run, "--format", "json") as process:
        assert "run" in until(process, lambda told: told["kind"] == "waiting")["reason"]
        run.mkdir()
        append(run / name, header + "".join(line(step, f"{2 / (step + 1):.4f}") for step in range(40)))
        assert until(process, lambda told: told["kind"] == "state")["verdict"] == "healthy"
        append(run / name, "".join(line(step, "nan") for step in range(40, 60)))
        alert = until(process, lambda told: told["kind"] == "alert")
        assert (alert["code"], alert["severity"], alert["why"]) == ("NUM101", "critical", "found")
        status, told, complained = ended(process)
    last = json.loads(told.splitlines()[-1])
    assert (status, complained) == (1, "")
    assert (last["kind"], last["verdict"], last["exit_status"], last["step"]) == ("end", "sick", 1, 59)


def test_plain_lines_tell_what_happens_and_end_with_a_summary(tmp_path: Path) -> None:
    log = begun(tmp_path / "run")
    with watching(log.parent) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "run: healthy so far (very likely, 88%)\n"
        append(log, rows(40, 60, broken_from=40))
        for line in process.stdout:
            if re.match(r"\d\d:\d\d:\d\d critical NUM101 non-finite-values: ", line):
                break
        status, told, complained = ended(process)
    assert (status, complained) == (1, "")
    assert "run: sick; " in told
    assert "\x1b" not in told


def test_until_done_ends_with_the_run(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    append(log, "".join(f"step {step} | loss {2 / (step + 1):.4f}\n" for step in range(40)))
    with watching(tmp_path, "--until-done", "--format", "json") as process:
        until(process, lambda told: told["kind"] == "state")
        append(log, "Traceback (most recent call last):\ntorch.OutOfMemoryError: CUDA out of memory.\n")
        alert = until(process, lambda told: told["kind"] == "alert" and told["name"] == "ended")
        assert "out of memory" in alert["message"]
        last = until(process, lambda told: told["kind"] == "end")
        assert last["ended"]["how"] == "out of memory"
        assert process.wait(PATIENCE) == last["exit_status"]


def test_a_webhook_is_told_and_its_address_never_shown(tmp_path: Path) -> None:
    log = begun(tmp_path / "run")
    with receiving(500, 200) as server, watching(log.parent, "--webhook", server.url) as process:
        assert process.stdout is not None
        process.stdout.readline()
        append(log, rows(40, 60, broken_from=40))
        server.wait_for(1, PATIENCE)
        status, told, complained = ended(process)
    (message,) = server.received
    assert message["text"].startswith("run: sick; ")
    assert [alert["code"] for alert in message["alerts"]] == ["NUM101"]
    assert message["run"]["name"] == "run"
    assert status == 1
    assert "SECRET" not in told + complained


def test_a_webhook_that_hangs_does_not_keep_the_watching_from_ending(tmp_path: Path) -> None:
    log = begun(tmp_path / "run", 100, broken_from=50)
    with receiving(0) as server, watching(log.parent, STETHOSCOPE_WEBHOOK=server.url) as process:
        assert process.stdout is not None
        process.stdout.readline()
        append(log, rows(100, 110))
        time.sleep(0.5)
        began = time.monotonic()
        status, _, complained = ended(process)
        assert time.monotonic() - began < 10
    assert (status, complained) == (1, "")


def test_a_reader_who_leaves_ends_the_watching(tmp_path: Path) -> None:
    log = begun(tmp_path / "run")
    with watching(log.parent, "--format", "json") as process:
        until(process, lambda told: told["kind"] == "state")
        assert process.stdout is not None
        process.stdout.close()
        append(log, rows(40, 60, broken_from=40))
        assert process.wait(PATIENCE) in {0, 1}
        assert process.stderr is not None
        assert process.stderr.read() == ""
        process.stdout = None  # for whoever tidies up


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-"], "standard input cannot be watched"),
        (["/dev/null"], "/dev/null is neither a file nor a folder"),
        ([".", "--webhook", "ftp://example.org/SECRET"], "--webhook must begin with https://"),
        ([".", "--every", "0"], "Invalid value for '--every'"),
    ],
)
def test_a_mistake_is_one_line_on_stderr(arguments: list[str], said: str) -> None:
    done = stethoscope("watch", *arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1
    assert b"SECRET" not in done.stderr


class Terminal:
    """A process on a terminal, and what it wrote there."""

    def __init__(self, *arguments: str | Path, columns: int = 80, rows: int = 24) -> None:
        self.ours, theirs = pty.openpty()
        self.resize(columns, rows)
        self.process = subprocess.Popen(
            [*COMMAND, "watch", *map(str, arguments), "--every", "0.1"],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=surroundings(TERM="xterm-256color"),
            preexec_fn=listen_to_interrupts,
        )
        os.close(theirs)
        self.told = ""
        self.closed = False

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.close()

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            os.close(self.ours)

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def wait_for(self, words: str) -> None:
        """Read until the words were written, since last asked."""
        self.told = ""
        until = time.monotonic() + PATIENCE
        while words not in self.told:
            assert time.monotonic() < until, self.told
            self.read()

    def read(self) -> bool:
        if select.select([self.ours], [], [], 1.0)[0]:
            try:
                self.told += os.read(self.ours, 65536).decode()
            except OSError:  # the other end is closed
                return False
        return True

    def end(self, number: int) -> int:
        """End the process by a signal and read the rest."""
        self.told = ""
        self.process.send_signal(number)
        while self.read() and (self.process.poll() is None or select.select([self.ours], [], [], 0)[0]):
            pass
        return self.process.wait(PATIENCE)


USUAL = "\x1b[?1049l"  # the screen as it was before
SHOWN = "\x1b[?25h"  # the cursor


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_terminal_is_drawn_on_and_left_as_it_was(number: int, tmp_path: Path) -> None:
    log = begun(tmp_path / "run")
    with Terminal(log.parent, "--bell") as terminal:
        terminal.wait_for("healthy so far")
        append(log, rows(40, 60, broken_from=40))
        terminal.wait_for("\a")
        terminal.wait_for("NUM101")
        terminal.resize(20, 5)
        terminal.wait_for("; best guess: A")  # what fits into twenty columns
        assert terminal.end(number) == 1
    assert USUAL in terminal.told
    assert SHOWN in terminal.told
    summary = terminal.told.partition(USUAL)[2]
    assert "sick" in summary
    assert "Traceback" not in summary


def test_a_closed_terminal_ends_the_watching(tmp_path: Path) -> None:
    log = begun(tmp_path / "run")
    with Terminal(log.parent) as terminal:
        terminal.wait_for("healthy so far")
        terminal.close()
        assert terminal.process.wait(PATIENCE) == 0


def test_a_large_log_is_on_the_screen_within_seconds(tmp_path: Path) -> None:
    """20 MB; what takes seconds here takes tens of them for the whole line on a log ten times as large."""
    log = tmp_path / "run" / "train.csv"
    log.parent.mkdir()
    block = "".join(f"{{}}{step:05d},{2 / (1 + step):.6f},0.001,1.25\n" for step in range(100_000))
    with log.open("w") as stream:
        stream.write("step,loss,lr,grad_norm\n")
        for part in range(1, 8):
            stream.write(block.replace("{}", str(part)))
    began = time.monotonic()
    done = stethoscope("watch", log.parent, "--once")
    assert done.returncode in {0, 1}
    assert b"step 799,999" in done.stdout
    assert time.monotonic() - began < 30
