import os

import torch
import torch.distributed as dist

from .registry import HOOKS


class Hook:
    def before_run(self, runner): ...

    def after_train_iter(self, runner, outputs): ...

    def after_val_epoch(self, runner, metrics): ...

    def after_train_epoch(self, runner): ...


@HOOKS.register
class LoggerHook(Hook):
    def __init__(self, interval):
        self.interval = interval

    def after_train_iter(self, runner, outputs):
        if runner.rank == 0 and runner.iter % self.interval == 0:
            print(f"epoch {runner.epoch} iter {runner.iter} loss {outputs['loss'].item():.4f}")

    def after_val_epoch(self, runner, metrics):
        if runner.rank == 0:
            print(f"epoch {runner.epoch} " + " ".join(f"{k} {v:.4f}" for k, v in metrics.items()))


@HOOKS.register
class EarlyStoppingHook(Hook):
    def __init__(self, patience, monitor="accuracy"):
        self.patience, self.monitor = patience, monitor

    def after_val_epoch(self, runner, metrics):
        if metrics[self.monitor] > runner.best:
            runner.best, runner.since_best = metrics[self.monitor], 0
        else:
            runner.since_best += 1
        runner.stop = runner.since_best >= self.patience


@HOOKS.register
class CheckpointHook(Hook):
    def __init__(self, out_dir):
        self.out_dir = out_dir

    def after_train_epoch(self, runner):
        if runner.rank == 0:
            os.makedirs(self.out_dir, exist_ok=True)
            torch.save(runner.state_dict(), os.path.join(self.out_dir, "latest.pth"))
            if runner.since_best == 0:
                torch.save(runner.bare_model().state_dict(), os.path.join(self.out_dir, "best.pth"))
        if runner.world > 1:
            dist.barrier()
