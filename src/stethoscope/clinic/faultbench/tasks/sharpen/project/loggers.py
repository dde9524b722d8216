"""Where the numbers of a run go: `logger: use:` names one of the classes at the end."""

import csv
import datetime
import json
import time


class MessageLogger:
    """A text file with one line for each print, and a block for each validation."""

    def __init__(self, root, opt):
        self.path = root / f"train_{opt['name']}.log"
        self.name, self.total = opt["name"], opt["train"]["total_iter"]
        self.start = time.time()

    def train(self, epoch, current_iter, values):
        values = dict(values)
        head = f"[{self.name[:5]}..][epoch:{epoch:3d}, iter:{current_iter:8,d}"
        if "lr" in values:
            head += f", lr:({values.pop('lr'):.3e},)"
        head += "] "
        if "time" in values:
            per_iter = values.pop("time")
            eta = datetime.timedelta(seconds=int(per_iter * (self.total - current_iter)))
            head += f"[eta: {eta}, time: {per_iter:.3f}] "
        self.info(head + " ".join(f"{name}: {value:.4e}" for name, value in values.items()))

    def val(self, current_iter, metrics, best):
        lines = ["Validation textures-val"]
        for name, value in metrics.items():
            line = f"\t # {name}: {value:.4f}"
            if name in best:
                line += f"\tBest: {best[name]:.4f} @ {best['iter']} iter"
            lines.append(line)
        self.info("\n".join(lines))

    def info(self, message):
        stamp = datetime.datetime.now().strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
        with open(self.path, "a") as file:
            file.write(f"{stamp} INFO: {message}\n")


class ProgressLogger:
    """Lines in the manner of a progress bar."""

    def __init__(self, root, opt):
        self.path = root / "progress.log"
        self.total = opt["train"]["total_iter"]
        self.start, self.first = time.time(), None

    def train(self, epoch, current_iter, values):
        self.first = current_iter if self.first is None else self.first
        spent = time.time() - self.start
        speed = max(1, current_iter - self.first) / max(spent, 1e-3)
        left = (self.total - current_iter) / speed
        share = current_iter / self.total
        bar = "█" * int(share * 10)
        shown = ", ".join(f"{name}={value:.4g}" for name, value in values.items() if name != "time")
        self.line(
            f"Epoch {epoch}: {share:4.0%}|{bar:<10}| {current_iter}/{self.total} "
            f"[{clock(spent)}<{clock(left)}, {speed:.2f}it/s, {shown}]"
        )

    def val(self, current_iter, metrics, best):
        shown = ", ".join(f"{name}={value:.4f}" for name, value in metrics.items())
        self.line(f"[val] iter {current_iter}: {shown}")

    def line(self, text):
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(text + "\n")


def clock(seconds):
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"


class TableLogger:
    """One wide table; a cell is empty where nothing was measured."""

    def __init__(self, root, opt):
        self.path = root / "metrics.csv"
        logger, train = opt["logger"], opt["train"]
        terms = ("pixel", "ssim", "edge", "texture")
        used = [f"l_{term[:3] if term == 'pixel' else term}" for term in terms if train[f"{term}_opt"]["loss_weight"]]
        self.columns = ["iter", "epoch", "l_total", *(used if logger["log_parts"] else [])]
        for name in ("grad_norm", "lr", "time"):
            self.columns += [name] if logger[f"log_{name}"] else []
        self.columns += ["psnr", "ssim"]

    def train(self, epoch, current_iter, values):
        self.row({"iter": current_iter, "epoch": epoch, **values})

    def val(self, current_iter, metrics, best):
        self.row({"iter": current_iter, **metrics})

    def row(self, values):
        with open(self.path, "a", newline="") as file:
            rows = csv.DictWriter(file, self.columns, restval="", extrasaction="ignore")
            if file.tell() == 0:
                rows.writeheader()
            rows.writerow({name: f"{value:.6g}" for name, value in values.items()})


class JsonLogger:
    """One JSON object in each line."""

    def __init__(self, root, opt):
        self.path = root / "scalars.json.log"

    def train(self, epoch, current_iter, values):
        self.line({"mode": "train", "epoch": epoch, "iter": current_iter, **values})

    def val(self, current_iter, metrics, best):
        self.line({"mode": "val", "iter": current_iter, **metrics})

    def line(self, record):
        with open(self.path, "a") as file:
            file.write(json.dumps(record) + "\n")


class TensorboardLogger:
    """Event files."""

    def __init__(self, root, opt):
        from torch.utils.tensorboard import SummaryWriter

        self.writer = SummaryWriter(str(root / "tb_logger"))

    def train(self, epoch, current_iter, values):
        for name, value in values.items():
            tag = f"losses/{name}" if name.startswith("l_") else name
            self.writer.add_scalar(tag, value, current_iter)
        self.writer.flush()

    def val(self, current_iter, metrics, best):
        for name, value in metrics.items():
            self.writer.add_scalar(f"metrics/textures-val/{name}", value, current_iter)
        self.writer.flush()


LOGGERS = {
    "text": MessageLogger,
    "progress": ProgressLogger,
    "csv": TableLogger,
    "jsonl": JsonLogger,
    "tensorboard": TensorboardLogger,
}


def build_logger(root, opt):
    return LOGGERS[opt["logger"]["use"]](root, opt)
