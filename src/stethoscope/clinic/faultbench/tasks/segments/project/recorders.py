"""Where the numbers of a run go. A recorder is called with an epoch, an iteration, a phase and values."""

import csv
import json
import logging
import os
import sys


def record_csv(workdir, total):
    """One table for each phase."""

    def record(epoch, it, phase, values):
        path = os.path.join(workdir, f"{phase}.csv")
        fresh = not os.path.exists(path)
        with open(path, "a", newline="") as f:
            out = csv.writer(f)
            if fresh:
                out.writerow(["epoch", "iter", *values])
            out.writerow([epoch, it, *(f"{value:.6g}" for value in values.values())])

    return record


def record_jsonl(workdir, total):
    """One object for each record; names carry their phase."""

    def record(epoch, it, phase, values):
        row = {"epoch": epoch, "iter": it, **{f"{phase}_{name}": value for name, value in values.items()}}
        with open(os.path.join(workdir, "metrics.jsonl"), "a") as f:
            print(json.dumps(row), file=f)

    return record


def record_tensorboard(workdir, total):
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(os.path.join(workdir, "events"))

    def record(epoch, it, phase, values):
        for name, value in values.items():
            writer.add_scalar(f"{phase}/{name}", value, it)
        writer.add_scalar("epoch", epoch, it)
        writer.flush()

    return record


def record_text(workdir, total):
    """2024-03-01 10:12:13,456 INFO [train] epoch 3 iter 72/208 loss=0.8123 lr=0.00712"""
    log = logging.getLogger("fit")
    log.setLevel(logging.INFO)
    handler = logging.FileHandler(os.path.join(workdir, "fit.log"))
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    log.addHandler(logging.StreamHandler(sys.stdout))

    def record(epoch, it, phase, values):
        told = " ".join(f"{name}={value:.5g}" for name, value in values.items())
        log.info("[%s] epoch %d iter %d/%d %s", phase, epoch, it, total, told)

    return record


def record_epochs(workdir, total):
    """Epoch 3 (72/208)  train: loss 0.8123, lr 7.1e-03"""

    def record(epoch, it, phase, values):
        told = ", ".join(
            f"{name} {value:.4f}" if abs(value) >= 1e-2 else f"{name} {value:.2e}"
            for name, value in values.items()
        )
        with open(os.path.join(workdir, "log.txt"), "a") as f:
            print(f"Epoch {epoch} ({it}/{total})  {phase}: {told}", file=f)

    return record


RECORDERS = {
    "csv": record_csv,
    "jsonl": record_jsonl,
    "tensorboard": record_tensorboard,
    "text": record_text,
    "epochs": record_epochs,
}
