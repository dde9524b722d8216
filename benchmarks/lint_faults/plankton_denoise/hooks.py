import copy
from contextlib import contextmanager
from pathlib import Path

import torch


def restore(net, noisy):
    """The network estimates the noise."""
    return noisy - net(noisy)


@contextmanager
def frozen(net):
    before = net.training
    net.eval()
    try:
        with torch.no_grad():
            yield net
    finally:
        net.train(before)


class Hook:
    def on_step(self, run):
        pass

    def on_epoch(self, run):
        pass


class Average(Hook):
    """Exponential average of weights and buffers."""

    def __init__(self, net, decay):
        self.net, self.decay = copy.deepcopy(net).eval().requires_grad_(False), decay

    @torch.no_grad()
    def on_step(self, run):
        for kept, new in zip(self.net.parameters(), run.net.parameters()):
            kept.lerp_(new, 1 - self.decay)
        for kept, new in zip(self.net.buffers(), run.net.buffers()):
            kept.copy_(new)


class Ramp(Hook):
    def __init__(self, ramp):
        self.ramp = ramp

    def on_step(self, run):
        self.ramp.advance()


def psnr(pred, target):
    mse = (pred - target).pow(2).flatten(1).mean(1)
    return -10 * torch.log10(mse.clamp(min=1e-10))


class Score(Hook):
    def __init__(self, loader, norm, average, out):
        self.loader, self.norm, self.average, self.out = loader, norm, average, Path(out)
        self.best = float("-inf")
        self.out.mkdir(parents=True, exist_ok=True)

    def measure(self, net):
        scores = []
        with frozen(net):
            for noisy, clean in self.loader:
                pred = self.norm.undo(restore(net, noisy)).clamp(0, 1)
                scores.append(psnr(pred, self.norm.undo(clean)))
        return torch.cat(scores).mean().item()

    def on_epoch(self, run):
        raw, smooth = self.measure(run.net), self.measure(self.average.net)
        print(f"epoch {run.epoch} loss {run.mean_loss:.4f} psnr {raw:.2f} averaged {smooth:.2f}")
        if smooth > self.best:
            self.best = smooth
            torch.save(self.average.net.state_dict(), self.out / "best.pt")
