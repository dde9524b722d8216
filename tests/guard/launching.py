"""Starts a training in several processes that talk over gloo, and gathers what each of them says."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from typing import Any


def launched(script: str, *arguments: object, size: int = 2, timeout: float = 90.0) -> list[dict[str, Any]]:
    """Run a script once per rank: what each says in its last line, which is JSON, or how it failed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    surroundings = os.environ | {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(size),
        "LOCAL_WORLD_SIZE": str(size),
    }
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, *map(str, arguments)],
            env=surroundings | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]
    outcomes: list[dict[str, Any]] = []
    try:
        for process in processes:
            out, problem = process.communicate(timeout=timeout)
            if out.strip():
                outcomes.append(json.loads(out.strip().splitlines()[-1]))
            else:
                outcomes.append({"status": process.returncode, "problem": problem[-2000:]})
    finally:
        for process in processes:
            process.kill()
    return outcomes
