"""Where a run writes its numbers: a table, lines of JSON, TensorBoard, or plain text."""

import csv
import json
import time
from pathlib import Path


class Log:
    """One row for each call; the columns of a table are those of its first rows."""

    def __init__(self, folder: Path, kind: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.kind = folder, kind
        self.columns: dict[str, list[str]] = {}
        if kind == "tensorboard":
            from torch.utils.tensorboard import SummaryWriter

            self.writer = SummaryWriter(str(folder))

    def write(self, step: int, group: str, values: dict[str, float]) -> None:
        if self.kind == "tensorboard":
            for name, value in values.items():
                self.writer.add_scalar(f"{group}/{name}", value, step)
            self.writer.flush()
        elif self.kind == "jsonl":
            row = {"step": step, "time": time.time(), **{f"{group}/{k}": v for k, v in values.items()}}
            with open(self.folder / "metrics.jsonl", "a") as file:
                file.write(json.dumps(row) + "\n")
        elif self.kind == "csv":
            self._row(step, group, values)
        else:
            told = " ".join(f"{name}={value:.5g}" for name, value in values.items())
            with open(self.folder / "train.log", "a") as file:
                file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} INFO {group} step {step}: {told}\n")

    def _row(self, step: int, group: str, values: dict[str, float]) -> None:
        path = self.folder / f"{group}.csv"
        with open(path, "a", newline="") as file:
            rows = csv.writer(file)
            if path.stat().st_size == 0:
                rows.writerow(["step", *values])
            rows.writerow([step, *values.values()])
