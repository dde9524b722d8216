import os

import torch

HOOKS = {}


def register(cls):
    HOOKS[cls.__name__] = cls
    return cls


def build_hook(cfg):
    cfg = dict(cfg)
    return HOOKS[cfg.pop("type")](**cfg)


class Hook:
    def before_run(self, runner): ...
    def before_train_epoch(self, runner): ...
    def after_backward(self, runner): ...
    def after_train_iter(self, runner): ...
    def after_train_epoch(self, runner): ...


@register
class GradClipHook(Hook):
    def __init__(self, max_norm):
        self.max_norm = max_norm

    def after_backward(self, runner):
        torch.nn.utils.clip_grad_norm_(runner.model.parameters(), self.max_norm)


@register
class SchedulerHook(Hook):
    def after_train_epoch(self, runner):
        runner.scheduler.step()


@register
class LoggerHook(Hook):
    def __init__(self, interval=5):
        self.interval = interval

    def after_train_iter(self, runner):
        if runner.iter % self.interval == 0:
            print(f"epoch {runner.epoch} iter {runner.iter} loss {runner.outputs['loss'].item():.4f}")


@register
class EvalHook(Hook):
    def __init__(self, interval=1, save_best=True):
        self.interval, self.save_best, self.best = interval, save_best, 0.0

    def after_train_epoch(self, runner):
        if (runner.epoch + 1) % self.interval:
            return
        runner.model.eval()
        hits = torch.zeros((), device=runner.device)
        with torch.no_grad():
            for x, y in runner.val_loader:
                hits += (runner.model(x.to(runner.device)).argmax(1) == y.to(runner.device)).sum()
        accuracy = hits.item() / len(runner.val_loader.dataset)
        print(f"epoch {runner.epoch}: accuracy {accuracy:.3f}")
        if self.save_best and accuracy > self.best:
            self.best = accuracy
            torch.save(runner.model.state_dict(), os.path.join(runner.work_dir, "best.pth"))


@register
class CheckpointHook(Hook):
    def before_run(self, runner):
        path = os.path.join(runner.work_dir, "latest.pth")
        if runner.cfg["resume"] and os.path.exists(path):
            runner.load_checkpoint(path)

    def after_train_epoch(self, runner):
        runner.save_checkpoint(os.path.join(runner.work_dir, "latest.pth"))
