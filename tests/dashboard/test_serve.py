"""`stethoscope serve` as a process: it says where it is, answers, ends at once, and leaves nobody behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from stethoscope.cli.serve import command
from stethoscope.dashboard.server import _listening
from stethoscope.errors import StethoscopeError
from tests.cli.processes import surroundings
from tests.dashboard.conftest import run_in

PATIENCE = 180.0  # of a test on a machine that is busy

Start = Callable[..., tuple["subprocess.Popen[str]", str]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start the command, and give the process and the address that it printed."""
    processes = []

    def started(*arguments: str) -> tuple[subprocess.Popen[str], str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "stethoscope", "serve", *arguments, "--no-browser", "--port", "0"],
            cwd=tmp_path,
            env=surroundings(HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "cache")),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        processes.append(process)
        assert process.stdout is not None
        return process, process.stdout.readline().strip()

    yield started
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def asked(address: str, path: str) -> dict[str, object]:
    base, token = address.split("/?token=")
    request = urllib.request.Request(base + path, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        told: dict[str, object] = json.load(answer)
    return told


def test_it_finds_and_examines_the_runs_and_ends_with_all_of_its_processes(
    tmp_path: Path, start: Start
) -> None:
    run_in(tmp_path / "runs", "a")
    process, address = start("runs")
    assert address.startswith("http://127.0.0.1:")
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(address.split("?")[0], timeout=PATIENCE)
    until = time.monotonic() + PATIENCE
    verdicts: list[object] = []
    while verdicts != ["healthy"] and time.monotonic() < until:
        time.sleep(0.3)
        rows = asked(address, "/runs.json")["runs"]
        assert isinstance(rows, list)
        verdicts = [row["verdict"] for row in rows]
    assert verdicts == ["healthy"]
    others = [pid for pid in _group(process.pid) if pid != process.pid]
    assert others
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert err == ""
    until = time.monotonic() + PATIENCE
    while _group(process.pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert _group(process.pid) == []
    assert list((tmp_path / "cache").rglob("*.sqlite3"))


def test_it_ends_by_itself_when_told_to_and_works_without_a_cache(tmp_path: Path, start: Start) -> None:
    run_in(tmp_path / "runs", "a")
    (tmp_path / "cache").write_text("a file where the cache would be")
    process, address = start("runs", "--minutes", "0.02")
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert err == ""
    assert address


def _group(leader: int) -> list[int]:
    """The processes that were started by the one at the head of a session, zombies left out."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                state, _, group = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
            except (OSError, ValueError):
                continue
            if int(group) == leader and state != "Z":
                found.append(int(folder.name))
    return found


# --- what cannot be served


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "no such file"),
        (["file.txt"], "is not a folder"),
        (["."], "lets other machines reach"),
        (["."], "is no address of this machine"),
        (["a\0b"], "embedded null byte"),
    ],
)
def test_what_cannot_be_served_is_said(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.txt").write_text("x")
    more = {
        "lets other": ["--host", "0.0.0.0"],
        "is no addr": ["--host", "no.such.name.invalid", "--exposed"],
    }
    done = CliRunner().invoke(
        command, [*arguments, *more.get(said[:10], []), "--no-browser"], standalone_mode=False
    )
    assert done.exception is not None
    assert said in str(done.exception)


def test_a_port_that_is_taken_is_said_and_the_usual_one_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(StethoscopeError, match=f"port {port} is in use"):
            _listening("127.0.0.1", port)
        monkeypatch.setattr("stethoscope.dashboard.server.USUAL_PORT", port)
        with _listening("127.0.0.1", None) as free:
            assert free.getsockname()[1] != port


def test_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = CliRunner().invoke(command, [str(tmp_path)], standalone_mode=False)
    assert "pip install 'stethoscope[dashboard]'" in str(done.exception)
