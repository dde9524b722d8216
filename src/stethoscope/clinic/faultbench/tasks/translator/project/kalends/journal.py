"""Where a run tells what it does."""

from __future__ import annotations

import csv
import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Protocol


class Sink(Protocol):
    def tell(self, split: str, update: int, numbers: dict[str, float]) -> None: ...


class Lines:
    """For people: one line each time, aligned by what it is about."""

    def __init__(self, folder: Path, total: int):
        self.path, self.total = folder / "kalends.log", total

    def tell(self, split: str, update: int, numbers: dict[str, float]) -> None:
        now = datetime.now().strftime("%H:%M:%S")
        told = "  ".join(f"{name} {shown(value)}" for name, value in numbers.items())
        with self.path.open("a") as file:
            file.write(f"{now} {split:<5} [update {update}/{self.total}]  {told}\n")


class Meter:
    """A meter that fills up, as it would stand in a terminal."""

    WIDTH = 24

    def __init__(self, folder: Path, total: int):
        self.path, self.total = folder / "terminal.txt", total

    def tell(self, split: str, update: int, numbers: dict[str, float]) -> None:
        told = " ".join(f"{name}={shown(value)}" for name, value in numbers.items())
        with self.path.open("a") as file:
            if split == "valid":
                file.write(f"valid @ {update}: {told}\n")
                return
            full = round(self.WIDTH * update / self.total)
            file.write(f"{update:>5}/{self.total} [{'=' * full}{'.' * (self.WIDTH - full)}] {told}\n")


class Table:
    """A table for each split; its columns are those of its first row."""

    def __init__(self, folder: Path, total: int):
        self.folder = folder

    def tell(self, split: str, update: int, numbers: dict[str, float]) -> None:
        path = self.folder / f"{split}.csv"
        is_new = not path.exists()
        with path.open("a", newline="") as file:
            rows = csv.writer(file)
            if is_new:
                rows.writerow(["update", *numbers])
            rows.writerow([update, *(f"{value:.6g}" for value in numbers.values())])


class Records:
    """One JSON object each time."""

    def __init__(self, folder: Path, total: int):
        self.path = folder / "journal.jsonl"

    def tell(self, split: str, update: int, numbers: dict[str, float]) -> None:
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        record = {"at": now, "split": split, "update": update, **numbers}
        with self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")


class Board:
    """TensorBoard."""

    def __init__(self, folder: Path, total: int):
        from torch.utils.tensorboard import SummaryWriter

        self.writer = SummaryWriter(str(folder / "board"))

    def tell(self, split: str, update: int, numbers: dict[str, float]) -> None:
        for name, value in numbers.items():
            self.writer.add_scalar(f"{split}/{name}", value, update)
        self.writer.flush()


def shown(value: float) -> str:
    return f"{value:.3e}" if value and abs(value) < 1e-2 else f"{value:.4f}"


SINKS = {"lines": Lines, "meter": Meter, "table": Table, "records": Records, "board": Board}


def open_sink(name: str, folder: Path, total: int) -> Sink:
    return SINKS[name](folder, total)
