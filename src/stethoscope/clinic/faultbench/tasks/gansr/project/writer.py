"""Where the numbers of a run go."""

import csv
import json
import time

FIELDS = [
    "iter", "stage", "l_g_total", "l_g_pix", "l_g_gan", "l_d_total", "l_d_r1", "out_d_real", "out_d_fake",
    "grad_norm_g", "grad_norm_d", "lr_g", "lr_d", "iter_time", "val_psnr", "val_texture_dist", "val_l1",
]  # fmt: skip


def open_writer(folder, kind, total_iter):
    """A function write(stage, it, values) for the kind of log that the options ask for."""
    if kind == "tensorboard":
        return tensorboard_writer(folder / "tb")
    if kind == "csv":
        return csv_writer(folder / "history.csv")
    if kind == "jsonl":
        return jsonl_writer(folder / "history.jsonl")
    if kind == "bar":
        return bar_writer(folder / "progress.log", total_iter)
    return text_writer(folder / "train.log", total_iter)


def tensorboard_writer(folder):
    from torch.utils.tensorboard import SummaryWriter

    board = SummaryWriter(str(folder))

    def write(stage, it, values):
        for name, value in values.items():
            group = "val" if name.startswith("val_") else "losses" if name.startswith("l_") else "misc"
            board.add_scalar(f"{group}/{name.removeprefix('val_')}", value, it)
        board.flush()

    return write


def csv_writer(path):
    if not path.exists():
        path.write_text(",".join(FIELDS) + "\n")

    def write(stage, it, values):
        with path.open("a", newline="") as out:
            csv.DictWriter(out, FIELDS).writerow({"iter": it, "stage": stage, **values})

    return write


def jsonl_writer(path):
    def write(stage, it, values):
        row = {"iter": it, "stage": stage, **{name: round(value, 8) for name, value in values.items()}}
        with path.open("a") as out:
            out.write(json.dumps(row) + "\n")

    return write


def text_writer(path, total_iter):
    def write(stage, it, values):
        now = time.strftime("%y-%m-%d %H:%M:%S")
        told = " ".join(f"{name}: {value:.4e}" for name, value in values.items())
        with path.open("a") as out:
            out.write(f"{now} - INFO: <{stage}, iter: {it:5d}/{total_iter}> {told}\n")

    return write


def bar_writer(path, total_iter):
    begun = time.time()
    first = []

    def write(stage, it, values):
        first.append(it)
        took = time.time() - begun
        rate = (it - first[0] + 1) / max(took, 1e-3)
        left = (total_iter - it) / max(rate, 1e-3)
        share = it / total_iter
        bar = ("#" * int(10 * share)).ljust(10)
        told = ", ".join(f"{name}={value:.4g}" for name, value in values.items())
        clock = f"{clocked(took)}<{clocked(left)}, {rate:.2f}it/s"
        with path.open("a") as out:
            out.write(f"{stage}: {100 * share:3.0f}%|{bar}| {it}/{total_iter} [{clock}, {told}]\n")

    return write


def clocked(seconds):
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"
