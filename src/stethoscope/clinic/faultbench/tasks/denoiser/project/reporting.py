"""Where the numbers of a run go."""

import csv
import json
import time


class CsvReport:
    """One table for training and one for validation."""

    def __init__(self, outdir):
        self.outdir = outdir

    def __call__(self, phase, step, values):
        path = self.outdir / f"{phase}_stats.csv"
        fresh = not path.exists()
        with path.open("a", newline="") as f:
            writer = csv.DictWriter(f, ["step", *values])
            if fresh:
                writer.writeheader()
            writer.writerow({"step": step, **{k: f"{v:.6g}" for k, v in values.items()}})


class JsonReport:
    """stats.jsonl, one object for each report."""

    def __init__(self, outdir):
        self.path = outdir / "stats.jsonl"

    def __call__(self, phase, step, values):
        row = {"step": step, **{f"{phase}/{k}": v for k, v in values.items()}, "timestamp": time.time()}
        with self.path.open("a") as f:
            f.write(json.dumps(row) + "\n")


class BoardReport:
    """TensorBoard scalars."""

    def __init__(self, outdir):
        from torch.utils.tensorboard import SummaryWriter

        self.writer = SummaryWriter(str(outdir))

    def __call__(self, phase, step, values):
        for name, value in values.items():
            self.writer.add_scalar(f"{phase}/{name}", value, step)
        self.writer.flush()


class TickReport:
    """Aligned text, one line for each tick."""

    def __init__(self, outdir):
        self.path, self.begun = outdir / "log.txt", time.time()

    def __call__(self, phase, step, values):
        fields = [f"{phase:<5s}", f"step {step:<6d}", f"time {time.time() - self.begun:<7.1f}"]
        fields += [f"{name} {value:<10.5g}" for name, value in values.items()]
        with self.path.open("a") as f:
            f.write(" ".join(fields).rstrip() + "\n")


class BarReport:
    """What a progress bar leaves in a file."""

    def __init__(self, outdir, steps):
        self.path, self.steps, self.begun = outdir / "progress.log", steps, time.time()

    def __call__(self, phase, step, values):
        done, spent = step / self.steps, time.time() - self.begun
        bar = ("#" * int(10 * done)).ljust(10)
        told = ", ".join(f"{name}={value:.4g}" for name, value in values.items())
        head = "Training" if phase == "train" else "Validating"
        clock = f"{int(spent) // 60:02d}:{int(spent) % 60:02d}"
        with self.path.open("a") as f:
            f.write(f"{head}: {100 * done:3.0f}%|{bar}| {step}/{self.steps} [{clock}, {told}]\n")


def make_report(opts):
    if opts.log_format == "bar":
        return BarReport(opts.outdir, opts.steps)
    kinds = {"csv": CsvReport, "jsonl": JsonReport, "tensorboard": BoardReport, "ticks": TickReport}
    return kinds[opts.log_format](opts.outdir)
