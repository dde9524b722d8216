"""The log file: settings first, then one line per print window and one record per validation."""

import logging
import time
from datetime import datetime, timedelta
from pathlib import Path

import torch
from torch import nn

from .options import Options

FORMAT = "%(asctime)s %(levelname)s: %(message)s"

logger = logging.getLogger("nano_sr")


def open_log(experiment: Path, name: str) -> None:
    """Send everything to the experiment's log file, and what people watch to the terminal."""
    stamp = datetime.now().strftime("%Y%m%d_%H%M%S")
    file = logging.FileHandler(experiment / f"train_{name}_{stamp}.log", encoding="utf-8")
    terminal = logging.StreamHandler()
    terminal.setLevel(logging.INFO)
    for handler in (*logger.handlers,):
        logger.removeHandler(handler)
        handler.close()
    for handler in (file, terminal):
        handler.setFormatter(logging.Formatter(FORMAT))
        logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False


def describe_start(opt: Options, yaml_text: str, network: nn.Module, iters_per_epoch: int) -> None:
    """Write down what is about to run."""
    train = opt.datasets.train
    parameters = sum(parameter.numel() for parameter in network.parameters())
    logger.info("Version Information:\n\tPyTorch: %s\n\tDevice: cpu", torch.__version__)
    logger.debug("%s", yaml_text)
    logger.info("Training with manual_seed=%d.", opt.manual_seed)
    logger.info(
        "Training statistics for %s:\n"
        "\tNumber of train image pairs: %11s\tBatch size per gpu:     %8s\n"
        "\tHR crop size:                %11s\tLR crop size:           %8s\n"
        "\tRequire iter per epoch:      %11s\tTotal iters:            %8s",
        opt.name,
        f"{train.num_images:,}",
        f"{train.batch_size_per_gpu:,}",
        f"{train.lq_size * opt.scale:,}",
        f"{train.lq_size:,}",
        f"{iters_per_epoch:,}",
        f"{opt.train.total_iter:,}",
    )
    logger.info("Network %s is created, with parameters: %s.", type(network).__name__, f"{parameters:,}")
    for loss in opt.train.losses:
        logger.info("Loss %s (loss_weight: %g) is created.", loss.type, loss.loss_weight)


class IterationLog:
    """Writes one line per print window."""

    def __init__(self, total_iter: int, start_iter: int) -> None:
        self.total_iter = total_iter
        self.last_iter = start_iter
        self.last_time = time.monotonic()

    def write(self, epoch: int, current_iter: int, rates: list[float], means: dict[str, float]) -> None:
        """Log the means of the window that ends at `current_iter`."""
        clock = time.monotonic()
        speed = (current_iter - self.last_iter) / max(clock - self.last_time, 1e-9)
        self.last_iter, self.last_time = current_iter, clock
        eta = timedelta(seconds=int((self.total_iter - current_iter) / speed))
        lr = ", ".join(f"{rate:.3e}" for rate in rates)
        # On a machine without a GPU this is 0.
        vram = torch.cuda.max_memory_allocated() / 1024**3
        line = f"[epoch:{epoch:4,d}, iter:{current_iter:8,d}, lr:({lr})] "
        line += f"[performance: {speed:.3f} it/s] [eta: {eta}] [peak VRAM: {vram:.2f} GB] "
        line += "".join(f"{label}: {value:.4e} " for label, value in means.items())
        logger.info("%s", line)


def log_validation(dataset: str, results: dict[str, float], best: dict[str, tuple[float, int]]) -> None:
    """Write one validation as one record of several lines."""
    lines = [f"Validation {dataset}"]
    for name, value in results.items():
        best_value, best_iter = best[name]
        lines.append(f"\t # {name} : {value:7.4f}\tBest: {best_value:7.4f} @ {best_iter:9,d} iter")
    logger.info("%s", "\n".join(lines) + "\n")
