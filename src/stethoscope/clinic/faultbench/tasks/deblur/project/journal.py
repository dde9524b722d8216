"""The journal of a run. Each kind is a function from a folder to a function that writes one entry."""

import csv
import json
import time
from pathlib import Path

COLUMNS = (
    "iteration",
    *("loss", "pixel", "frequency", "structure", "lr", "grad_norm", "loss_scale", "sec_per_it"),
    *("val_loss", "val_psnr"),
)


def opened(kind, folder, total):
    """The function that writes entries of this kind: iteration, split, numbers."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    return KINDS[kind](Path(folder), total)


def named(split, numbers):
    return {f"val_{name}" if split == "val" else name: value for name, value in numbers.items()}


def table(folder, total):
    """One table; what an entry does not have is left empty."""
    path = folder / "history.csv"

    def write(iteration, split, numbers):
        begin = not path.exists()
        with path.open("a", newline="") as file:
            rows = csv.DictWriter(file, COLUMNS)
            if begin:
                rows.writeheader()
            rows.writerow({"iteration": iteration, **named(split, numbers)})

    return write


def lines_of_json(folder, total):
    def write(iteration, split, numbers):
        entry = {"iteration": iteration, "at": round(time.time(), 3), **named(split, numbers)}
        with (folder / "history.jsonl").open("a") as file:
            file.write(json.dumps(entry) + "\n")

    return write


def tensorboard(folder, total):
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(folder / "tb"))

    def write(iteration, split, numbers):
        for name, value in numbers.items():
            writer.add_scalar(f"{split}/{name}", value, iteration)
        writer.flush()

    return write


def prose(folder, total):
    def write(iteration, split, numbers):
        told = " | ".join(f"{name} {value:.4e}" for name, value in numbers.items())
        with (folder / "run.log").open("a") as file:
            file.write(f"[{time.strftime('%m-%d %H:%M:%S')}] {split:<5} | iter {iteration:>4d}/{total} | {told}\n")

    return write


def bar(folder, total):
    begun = time.time()

    def write(iteration, split, numbers):
        passed, done = time.time() - begun, int(10 * iteration / total)
        left = passed / max(1, iteration) * (total - iteration)
        told = ", ".join(f"{name}={value:.4g}" for name, value in named(split, numbers).items())
        clock = f"{minutes(passed)}<{minutes(left)}, {iteration / max(passed, 1e-3):5.2f}it/s"
        shown = f"{100 * iteration // total:3d}%|{'#' * done:<10s}| {iteration}/{total} [{clock}, {told}]"
        with (folder / "progress.txt").open("a") as file:
            file.write(f"deblur: {shown}\n")

    return write


def minutes(seconds):
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"


KINDS = {"csv": table, "jsonl": lines_of_json, "tensorboard": tensorboard, "log": prose, "bar": bar}
