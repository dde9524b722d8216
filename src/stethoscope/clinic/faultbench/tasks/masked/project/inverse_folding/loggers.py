"""Where numbers go: a table, lines of JSON, TensorBoard, lines to read, or a progress bar kept in a file."""

import csv
import json
import time


class CsvLogger:
    """One table; a row holds what was measured at its step and leaves the rest empty."""

    columns = (
        "step train_loss train_nats train_b_factor lr grad_norm difficulty step_time val_nats val_accuracy"
    ).split()
    plain = ("lr", "grad_norm", "difficulty", "step_time")

    def __init__(self, folder, total):
        self.path = folder / "metrics.csv"

    def write(self, step, stage, values):
        named = {name if name in self.plain else f"{stage}_{name}": value for name, value in values.items()}
        fresh = not self.path.exists()
        with open(self.path, "a", newline="") as file:
            table = csv.DictWriter(file, self.columns, restval="")
            if fresh:
                table.writeheader()
            table.writerow({"step": step, **named})


class JsonlLogger:
    def __init__(self, folder, total):
        self.path = folder / "history.jsonl"

    def write(self, step, stage, values):
        with open(self.path, "a") as file:
            file.write(json.dumps({"global_step": step, "stage": stage, **values, "wall": time.time()}) + "\n")


class TensorBoardLogger:
    def __init__(self, folder, total):
        from torch.utils.tensorboard import SummaryWriter

        self.writer = SummaryWriter(str(folder / "tb"))

    def write(self, step, stage, values):
        for name, value in values.items():
            self.writer.add_scalar(f"{stage}/{name}", value, step)
        self.writer.flush()


class TextLogger:
    """[  120/400] train | loss 2.1043 | lr 0.0031"""

    def __init__(self, folder, total):
        self.path, self.total = folder / "training.log", total

    def write(self, step, stage, values):
        told = " | ".join(f"{name} {value:.5g}" for name, value in values.items())
        with open(self.path, "a") as file:
            file.write(f"{time.strftime('%H:%M:%S')} [{step:5d}/{self.total}] {stage} | {told}\n")


class BarLogger:
    """Training:  30%|###       | 120/400 [00:02<00:05, 52.10it/s, loss=2.1, lr=0.0031]"""

    def __init__(self, folder, total):
        self.path, self.total = folder / "progress.txt", total
        self.began, self.begun_at = time.time(), None

    def write(self, step, stage, values):
        self.begun_at = step - 1 if self.begun_at is None else self.begun_at
        spent = max(1e-3, time.time() - self.began)
        pace = (step - self.begun_at) / spent
        left = (self.total - step) / pace
        share = step / self.total
        bar = ("#" * round(10 * share)).ljust(10)
        prefix = "" if stage == "train" else f"{stage}_"
        told = ", ".join(f"{prefix}{name}={value:.4g}" for name, value in values.items())
        clock = f"{_clock(spent)}<{_clock(left)}, {pace:.2f}it/s"
        with open(self.path, "a") as file:
            file.write(f"Training: {share:4.0%}|{bar}| {step}/{self.total} [{clock}, {told}]\n")


def _clock(seconds):
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"


LOGGERS = {
    "csv": CsvLogger,
    "jsonl": JsonlLogger,
    "tensorboard": TensorBoardLogger,
    "text": TextLogger,
    "bar": BarLogger,
}
