"""Where the numbers of a run go."""

import csv
import json
import logging
import sys
import time


def reporter(folder, kind, updates):
    kinds = {
        "text": TextReporter,
        "bar": BarReporter,
        "csv": CsvReporter,
        "jsonl": JsonReporter,
        "tensorboard": TensorBoardReporter,
    }
    return kinds[kind](folder, updates)


class TextReporter:
    def __init__(self, folder, updates):
        self.updates = updates
        handler = logging.FileHandler(folder / "springs.log")
        handler.setFormatter(logging.Formatter("%(asctime)s %(name)-16s %(levelname)-7s %(message)s"))
        self.logger = logging.getLogger("springs.trainer")
        self.logger.setLevel(logging.INFO)
        self.logger.addHandler(handler)

    def report(self, update, stage, values):
        told = " | ".join(f"{name} {value:.4e}" for name, value in values.items())
        if stage == "val":
            self.logger.info("validation after update %d | %s", update, told)
        else:
            self.logger.info("update %4d/%d | %s", update, self.updates, told)


class BarReporter:
    """A progress bar, of which every state is kept in a file."""

    def __init__(self, folder, updates):
        self.updates, self.began, self.first = updates, time.monotonic(), None
        self.file = open(folder / "progress.log", "a", buffering=1)

    def report(self, update, stage, values):
        told = ", ".join(f"{name}={value:.4g}" for name, value in values.items())
        if stage == "val":
            self.file.write(f"\nval: step {update}: {told}\n")
            return
        if self.first is None:
            self.first = update
        seconds = time.monotonic() - self.began
        speed = max(1, update - self.first) / max(seconds, 1e-6)
        left = (self.updates - update) / speed
        share = update / self.updates
        bar = "#" * int(10 * share)
        self.file.write(
            f"\rtrain: {share:4.0%}|{bar:<10}| {update}/{self.updates} "
            f"[{clock(seconds)}<{clock(left)}, {speed:.2f}it/s, {told}]"
        )


def clock(seconds):
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"


class CsvReporter:
    """One table for both stages; a column that a row does not have is empty."""

    def __init__(self, folder, updates):
        self.path = folder / "metrics.csv"
        self.columns = None

    def report(self, update, stage, values):
        row = {"update": update, **{f"{stage}_{name}": value for name, value in values.items()}}
        if self.columns is None:
            self.columns = self.known() or ["update", "val_loss", "val_rmse", "val_r2", *list(row)[1:]]
        with open(self.path, "a", newline="") as file:
            table = csv.DictWriter(file, self.columns, restval="", extrasaction="ignore")
            if file.tell() == 0:
                table.writeheader()
            table.writerow(row)

    def known(self):
        if not self.path.exists():
            return None
        with open(self.path, newline="") as file:
            return next(csv.reader(file), None)


class JsonReporter:
    def __init__(self, folder, updates):
        self.path = folder / "history.jsonl"

    def report(self, update, stage, values):
        row = {"update": update, "stage": stage, **values, "wall": round(time.time(), 3)}
        with open(self.path, "a") as file:
            print(json.dumps(row), file=file)


class TensorBoardReporter:
    def __init__(self, folder, updates):
        from torch.utils.tensorboard import SummaryWriter

        self.writer = SummaryWriter(str(folder / "events"))

    def report(self, update, stage, values):
        for name, value in values.items():
            self.writer.add_scalar(f"{stage}/{name}", value, update)
        self.writer.flush()


def say(text):
    print(text, file=sys.stderr)
