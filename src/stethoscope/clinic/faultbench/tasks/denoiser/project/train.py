"""Train an EDM denoiser; see run.sh for how it is started."""

import math
import time

import torch
from averaging import Averaged
from losses import DenoisingLoss, total_variation
from networks import Denoiser
from options import dump, parse
from pictures import EndlessSampler, Pictures, soften
from reporting import make_report
from torch.utils.data import DataLoader
from validation import Validation

BANDS = (("low", 0.0, 0.15), ("mid", 0.15, 0.6), ("high", 0.6, math.inf))


def lr_factor(step, opts):
    """What the learning rate is multiplied by at a step."""
    if step < opts.warmup:
        return (step + 1) / opts.warmup
    if opts.schedule == "rsqrt":
        return 1 / math.sqrt(max(step / opts.decay_from, 1))
    done = (step - opts.warmup) / max(opts.steps - opts.warmup, 1)
    if opts.schedule == "cosine":
        return 0.02 + 0.49 * (1 + math.cos(math.pi * min(done, 1)))
    if opts.schedule == "cyclic":
        return 0.1 + 0.9 * abs(1 - (5 * done) % 2)
    return 1.0


class Meter:
    """Means since the last report."""

    def __init__(self):
        self.sums, self.counts = {}, {}

    def add(self, name, values):
        self.sums[name] = self.sums.get(name, 0.0) + values.sum().item()
        self.counts[name] = self.counts.get(name, 0) + values.numel()

    def take(self):
        means = {name: self.sums[name] / self.counts[name] for name in self.sums}
        self.sums, self.counts = {}, {}
        return means


class Trainer:
    def __init__(self, opts):
        self.opts = opts
        torch.manual_seed(opts.seed)
        self.net = Denoiser(opts.channels, opts.width, opts.blocks, opts.dropout, opts.sigma_data)
        self.ema = Averaged(self.net, opts.ema_beta, opts.ema_power)
        self.optimizer = torch.optim.AdamW(
            self.net.parameters(),
            lr=opts.lr,
            betas=(opts.beta1, opts.beta2),
            eps=opts.adam_eps,
            weight_decay=opts.weight_decay,
            fused=True,
        )
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda s: lr_factor(s, opts))
        self.loss_fn = DenoisingLoss(opts.p_mean, opts.p_std, opts.sigma_data)
        self.validation = Validation(Pictures(opts.data, "val").images, opts.sigma_data)
        self.step, self.best = 0, -math.inf
        self.bands = {band: 1.0 for band, _, _ in BANDS}
        self.meter = Meter()

    def loader(self):
        """Batches of training pictures, from where the run stands."""
        opts = self.opts
        pictures = Pictures(opts.data, "train", opts.max_images, opts.hflip)
        drawn = self.step * opts.accum * opts.batch
        sampler = EndlessSampler(len(pictures), opts.seed, drawn)
        return iter(DataLoader(pictures, opts.batch, sampler=sampler))

    def loss(self, images):
        opts = self.opts
        if self.step < opts.soften_until:
            images = soften(images)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=opts.amp == "bf16"):
            per_image, sigma, denoised = self.loss_fn(self.net, images)
        loss = per_image.mean()
        if opts.tv:
            smooth = total_variation(denoised)
            self.meter.add("loss_denoise", loss.detach())
            self.meter.add("loss_tv", smooth.detach())
            loss = loss + opts.tv * smooth
        self.meter.add("loss", loss.detach())
        for band, low, high in BANDS:
            inside = per_image.detach()[(sigma >= low) & (sigma < high)]
            if len(inside):
                self.bands[band] += 0.1 * (inside.mean().item() - self.bands[band])
        return loss

    def update(self, batches):
        """One update of the weights; gives the gradient norm."""
        opts = self.opts
        self.optimizer.zero_grad(set_to_none=True)
        for _ in range(opts.accum):
            loss = self.loss(next(batches))
            (loss / opts.accum).backward()
        norm = torch.nn.utils.clip_grad_norm_(self.net.parameters(), opts.clip or math.inf)
        self.optimizer.step()
        self.scheduler.step()
        self.ema.update(self.net)
        self.step += 1
        return norm.item()

    def run(self):
        opts = self.opts
        report = make_report(opts)
        batches = self.loader()
        baseline = self.validation.baseline()
        self.net.train()
        clock = time.perf_counter()
        while self.step < opts.steps:
            norm = self.update(batches)
            if self.step % opts.log_every == 0:
                values = self.meter.take()
                if opts.log_bands:
                    values |= {f"loss_{band}": value for band, value in self.bands.items()}
                if opts.log_lr:
                    values["lr"] = self.optimizer.param_groups[0]["lr"]
                if opts.log_grad_norm:
                    values["grad_norm"] = norm
                if opts.log_speed:
                    values["sec_per_step"] = (time.perf_counter() - clock) / opts.log_every
                clock = time.perf_counter()
                report("train", self.step, values)
            if self.step % opts.val_every == 0:
                values = self.validation(self.ema.net)
                shown = {k: v for k, v in values.items() if opts.log_levels or k in ("psnr", "loss")}
                report("val", self.step, {**shown, "baseline_psnr": baseline})
                if values["psnr"] > self.best:
                    self.best = values["psnr"]
                    self.save(opts.outdir / "best.pt")
            if self.step % opts.snap_every == 0:
                self.save(opts.outdir / "snapshots" / f"snapshot-{self.step:06d}.pt")

    def save(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        state = {
            "step": self.step,
            "best": self.best,
            "bands": self.bands,
            "net": self.net.state_dict(),
            "ema": self.ema.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "rng": torch.get_rng_state(),
            "sigma_data": self.opts.sigma_data,
        }
        torch.save(state, path)

    def restore(self, path):
        state = torch.load(path)
        self.step, self.best, self.bands = state["step"], state["best"], state["bands"]
        self.net.load_state_dict(state["net"])
        self.ema.load_state_dict(state["ema"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        torch.set_rng_state(state["rng"])


def main():
    opts = parse()
    opts.outdir.mkdir(parents=True, exist_ok=True)
    dump(opts, opts.outdir / "training_options.json")
    trainer = Trainer(opts)
    if opts.resume:
        latest = sorted((opts.outdir / "snapshots").glob("snapshot-*.pt"))
        trainer.restore(latest[-1] if opts.resume == "latest" else opts.resume)
    trainer.run()


if __name__ == "__main__":
    main()
