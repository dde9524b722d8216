"""Answer for a peer, in the interpreter that it is installed for: this file imports nothing of ours.

    python peer_process.py PACKAGE MODULE:FUNCTION

writes the version of the package in one line. Then it reads lines of JSON, each with the `arguments` of one
call and the `seconds` that it may take, and writes a line for each: what the program printed, or null where
it was killed or took too long. Each call is a process of its own that begins with the package imported.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import IO

PAUSE = 0.002  # seconds between two looks


def main() -> None:
    """Answer until nobody asks."""
    package, program_name = sys.argv[1:3]
    module, _, name = program_name.partition(":")
    program = getattr(importlib.import_module(module), name)
    print(json.dumps(version(package)), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(answer(program, asked["arguments"], asked["seconds"])), flush=True)


def answer(program: Callable[[], object], arguments: Sequence[str], seconds: float) -> str | None:
    """What the program prints when it is called with these arguments."""
    with tempfile.TemporaryFile() as printed:
        child = os.fork()
        if child == 0:
            _be(program, arguments, printed)
        if not _ends(child, seconds):
            return None
        printed.seek(0)
        return printed.read().decode("utf-8", "replace")


def _be(program: Callable[[], object], arguments: Sequence[str], printed: IO[bytes]) -> None:
    """Be the program: its arguments, its standard output; nothing here goes on afterwards."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(printed.fileno(), 1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    sys.argv = [sys.argv[1], *arguments]
    status = 0
    try:
        program()
    except SystemExit:
        pass
    except BaseException:
        status = 1
    finally:
        sys.stdout.flush()
        os._exit(status)


def _ends(child: int, seconds: float) -> bool:
    """Whether the process ends by itself in time; how it then ended says what it found."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return not os.WIFSIGNALED(status)
        time.sleep(PAUSE)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


if __name__ == "__main__":
    main()
