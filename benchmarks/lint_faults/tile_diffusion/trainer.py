from contextlib import contextmanager

import torch

from process import PREDICTIONS, ddim, signal_noise


def spectral_distance(a, b):
    return (torch.fft.fft2(a, norm="ortho") - torch.fft.fft2(b, norm="ortho")).abs().square().mean()


def psnr(a, b, data_range=1.0):
    return 10 * torch.log10(data_range ** 2 / (a - b).square().mean((1, 2, 3)))


class WeightAverage:
    def __init__(self, net, decay):
        self.decay = decay
        self.values = {k: p.detach().clone() for k, p in net.named_parameters()}

    @torch.no_grad()
    def update(self, net):
        for k, p in net.named_parameters():
            self.values[k].mul_(self.decay).add_(p, alpha=1 - self.decay)

    @contextmanager
    def lent_to(self, net):
        own = {k: p.detach().clone() for k, p in net.named_parameters()}
        net.load_state_dict(self.values, strict=False)
        try:
            yield net
        finally:
            net.load_state_dict(own, strict=False)


class BaseTrainer:
    """The loop; subclasses say what a loss and a validation are."""

    def __init__(self, net, cfg):
        self.net, self.cfg = net, cfg
        self.optimizer = torch.optim.AdamW(net.parameters(), lr=cfg["lr"])
        self.average = WeightAverage(net, cfg["ema_decay"])
        self.step, self.best = 0, float("inf")

    def loss(self, x0):
        raise NotImplementedError

    def validate(self):
        raise NotImplementedError

    def fit(self, stream):
        self.net.train()
        recent = []
        while self.step < self.cfg["steps"]:
            loss = self.loss(next(stream))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.average.update(self.net)
            recent.append(loss.detach())
            self.step += 1
            if self.step % self.cfg["eval_every"] == 0:
                self.report({"train/loss": torch.stack(recent).mean().item(), **self.validate()})
                recent.clear()

    def report(self, log):
        print(self.step, " ".join(f"{k} {v:.4f}" for k, v in log.items()))
        if log[self.cfg["monitor"]] >= self.best:
            return
        self.best = log[self.cfg["monitor"]]
        with self.average.lent_to(self.net):
            torch.save(self.net.state_dict(), self.cfg["checkpoint"])


class DiffusionTrainer(BaseTrainer):
    def __init__(self, net, cfg, val_tiles):
        super().__init__(net, cfg)
        self.val_tiles = val_tiles
        self.prediction = PREDICTIONS[cfg["prediction"]]()

    def ceiling(self):
        """Training begins with little noise and reaches pure noise after some steps."""
        start = self.cfg["ceiling_start"]
        return start + (1 - start) * min(1.0, self.step / self.cfg["ceiling_steps"])

    def terms(self, x0, t, eps):
        a, s = signal_noise(t)
        xt = a * x0 + s * eps
        out = self.net(xt, t)
        guess = self.prediction.clean(out, xt, a, s)
        return {
            "denoise": (out - self.prediction.target(x0, eps, a, s)).square().mean(),
            "spectral": spectral_distance(a * guess, a * x0),
        }

    def total(self, terms):
        return sum(self.cfg["weights"][k] * v for k, v in terms.items())

    def loss(self, x0):
        t = torch.rand(len(x0)) * self.ceiling()
        return self.total(self.terms(x0, t, torch.randn_like(x0)))

    @torch.no_grad()
    def validate(self):
        g = torch.Generator().manual_seed(0)
        losses, quality = [], []
        self.net.eval()
        with self.average.lent_to(self.net):
            for x0 in self.val_tiles.centre(self.cfg["batch"]):
                eps = torch.randn(x0.shape, generator=g)
                t = torch.linspace(0.05, 0.95, len(x0))
                losses.append(self.total(self.terms(x0, t, eps)) * len(x0))
                a, s = signal_noise(torch.full((len(x0),), 0.5))
                quality.append(psnr(ddim(self.net, self.prediction, a * x0 + s * eps, 0.5), x0, data_range=2.0))
        self.net.train()
        count = len(torch.cat(quality))
        return {"val/loss": torch.stack(losses).sum().item() / count, "val/psnr": torch.cat(quality).mean().item()}
