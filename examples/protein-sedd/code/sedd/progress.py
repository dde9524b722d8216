"""What a person watches: a bar per epoch on the terminal, and the same numbers as JSON lines."""

import json
import sys
import time
from pathlib import Path

WIDTH = 10


class ProgressBar:
    """Rewrites one line per epoch."""

    def __init__(self, title: str, total: int) -> None:
        self.title = title
        self.total = total
        self.started = time.monotonic()

    def show(self, done: int, **values: str) -> None:
        """Draw the bar at `done` of the total, with `values` behind it."""
        elapsed = time.monotonic() - self.started
        speed = done / max(elapsed, 1e-9)
        filled = WIDTH * done // self.total
        bar = "#" * filled + " " * (WIDTH - filled)
        left = (self.total - done) / speed
        tail = ", ".join(f"{name}={value}" for name, value in values.items())
        sys.stderr.write(
            f"\r{self.title}: {100 * done // self.total:3d}%|{bar}| {done}/{self.total} "
            f"[{_clock(elapsed)}<{_clock(left)}, {speed:5.2f}it/s, {tail}]"
        )
        sys.stderr.flush()

    def close(self) -> None:
        """Leave the bar as it is and go to the next line."""
        sys.stderr.write("\n")
        sys.stderr.flush()


class MetricsLog:
    """Appends one JSON object per call."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def log(self, values: dict[str, float], step: int) -> None:
        """Write `values` as measured at `step`."""
        with self.file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"_step": step, **values}) + "\n")


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    return f"{minutes:02d}:{seconds:02d}"
