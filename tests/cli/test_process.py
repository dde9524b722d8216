"""What only a process of its own can show: imports, streams, signals and terminals."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.processes import COMMAND, stethoscope, surroundings

HEAVY = ("numpy", "yaml", "rich", "torch", "stethoscope.diagnose", "stethoscope.findings", "stethoscope.run")
IMPORTED = f"""
import atexit, sys
heavy = {HEAVY!r}
atexit.register(lambda: print(*[name for name in heavy if name in sys.modules], file=sys.stderr))
from stethoscope.cli import main
main()
"""
BROKEN_LINE = """
import sys, stethoscope.diagnose
sys.modules["stethoscope.diagnose"].read = None
from stethoscope.cli import main
main()
"""


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["diagnose", "--help"], ["completion", "zsh"]]
)
def test_help_version_and_completion_import_nothing_heavy(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env=surroundings(),
    )
    assert done.stdout
    assert done.stderr.strip() == ""


def test_completing_a_word_imports_nothing_heavy() -> None:
    completing = {"_STETHOSCOPE_COMPLETE": "bash_complete", "COMP_WORDS": "stethoscope ru", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED],
        capture_output=True,
        text=True,
        check=False,
        env=surroundings(**completing),
    )
    assert "plain,rules" in done.stdout
    assert "file," in done.stdout
    assert done.stderr.strip() == ""


def test_a_log_may_come_from_standard_input(broken_run: Path) -> None:
    done = stethoscope("-", "--format", "json", stdin=(broken_run / "train.csv").read_bytes())
    assert done.returncode == 1
    assert json.loads(done.stdout)["findings"][0]["onset_step"] == 80


def test_piped_output_is_plain(broken_run: Path) -> None:
    done = stethoscope(broken_run)
    assert b"\x1b" not in done.stdout
    assert done.stderr == b""


def test_colours_can_be_forced(broken_run: Path) -> None:
    assert b"\x1b[" in stethoscope(broken_run, FORCE_COLOR="1").stdout


def test_a_console_that_knows_only_ascii_is_served(broken_run: Path) -> None:
    done = stethoscope(broken_run, PYTHONUTF8="0", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert done.returncode == 1
    assert done.stdout.isascii()
    assert b"*" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no/such/run"], "stethoscope: no/such/run does not exist."),
        (["explain", "XYZ999"], "stethoscope: no rule or cause is called XYZ999;"),
        (["diagnose"], "stethoscope: Missing argument 'RUN...'."),
        ([".", "--format", "xml"], "stethoscope: Invalid value for '--format'"),
    ],
)
def test_a_mistake_is_one_line_on_stderr(arguments: list[str], said: str) -> None:
    done = stethoscope(*arguments)
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.decode().startswith(said)
    assert done.stderr.count(b"\n") == 1


def test_a_fault_of_our_own_is_one_line_and_a_traceback_only_when_asked_for(broken_run: Path) -> None:
    for debug in ("", "1"):
        done = subprocess.run(
            [sys.executable, "-c", BROKEN_LINE, str(broken_run)],
            capture_output=True,
            text=True,
            check=False,
            env=surroundings(STETHOSCOPE_DEBUG=debug),
        )
        assert ("Traceback" in done.stderr) == bool(debug)
        assert bool(debug) or done.stderr.startswith(
            "stethoscope: this is a fault of stethoscope, not of your run"
        )
        assert bool(debug) or (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_a_reader_who_leaves_is_no_problem(broken_run: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*COMMAND, broken_run], stdout=writing, stderr=subprocess.PIPE, check=False, env=surroundings()
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["rules"], ["--help"]])
def test_a_full_disk_is_said(arguments: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, check=False, env=surroundings()
        )
    assert done.returncode == 2
    assert done.stderr == b"stethoscope: could not write the output: No space left on device.\n"


def test_a_closed_output_leaves_the_exit_status(broken_run: Path) -> None:
    words = " ".join(map(str, COMMAND))
    done = subprocess.run(
        ["sh", "-c", f"{words} '{broken_run}' >&-"], capture_output=True, env=surroundings(), check=False
    )
    assert (done.returncode, done.stderr) == (1, b"")


def test_an_interrupt_is_quiet() -> None:
    process = subprocess.Popen(
        [*COMMAND, "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=surroundings(),
        preexec_fn=_listen_to_interrupts,
    )
    assert process.stdin is not None
    # More than a pipe holds: once it is written, the command is up and reading.
    process.stdin.write(b"step,loss\n" * 50_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    told, complained = process.communicate(timeout=30)
    assert (process.returncode, told, complained.strip()) == (130, b"", b"")


def _listen_to_interrupts() -> None:
    # A test run that was itself started in the background passes on that interrupts are ignored.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_a_terminal_gets_colours_unless_it_asks_for_none(broken_run: Path) -> None:
    assert b"\x1b[" in on_a_terminal(broken_run, TERM="xterm-256color")
    assert b"\x1b" not in on_a_terminal(broken_run, TERM="xterm-256color", NO_COLOR="1")
    assert b"\x1b" not in on_a_terminal(broken_run, TERM="dumb")


def on_a_terminal(run: Path, **environment: str) -> bytes:
    """What the command writes to a terminal, standard error not included."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, run],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env=surroundings(**environment),
    )
    os.close(theirs)
    written = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            written += os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
    os.close(ours)
    process.wait(timeout=30)
    return written
