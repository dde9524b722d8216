"""Train the super-resolution GAN.

python main.py                    a fresh run
python main.py --resume latest    go on from the newest state
"""

import argparse
import copy
import math
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
import yaml
from archs import PatchDiscriminator, SRGenerator
from losses import discriminator_gan_loss, generator_gan_loss, pixel_loss, r1_penalty
from metrics import psnr, texture_distance
from torch.optim.lr_scheduler import LambdaLR
from writer import open_writer

EXPERIMENT = Path("experiments/materials_x2")


# ----------------------------------------------------------------------------------------------- data


def load_pairs(path):
    """Low and high resolution of a split, in 0..1."""
    arrays = np.load(path)
    lr = torch.from_numpy(arrays["lr"]).float().unsqueeze(1) / 255.0
    hr = torch.from_numpy(arrays["hr"]).float().unsqueeze(1) / 255.0
    return lr, hr


class Feeder:
    """Batches without end; knows where it is, so that a resumed run goes on with what is next."""

    def __init__(self, lr, hr, opt, seed):
        self.lr, self.hr = lr, hr
        self.size = opt["batch_size"]
        self.use_shuffle, self.use_flip = opt["use_shuffle"], opt["use_flip"]
        self.random = torch.Generator().manual_seed(seed)
        self.order, self.at = self.new_order(), 0

    def new_order(self):
        if not self.use_shuffle:
            return torch.arange(len(self.lr))
        return torch.randperm(len(self.lr), generator=self.random)

    def next(self):
        if self.at + self.size > len(self.order):
            self.order, self.at = self.new_order(), 0
        index = self.order[self.at : self.at + self.size]
        self.at += self.size
        lr, hr = self.lr[index], self.hr[index]
        if self.use_flip and torch.rand((), generator=self.random) < 0.5:
            lr, hr = lr.flip(-1), hr.flip(-1)
        if self.use_flip and torch.rand((), generator=self.random) < 0.5:
            lr, hr = lr.transpose(-1, -2), hr.transpose(-1, -2)
        return lr, hr

    def state_dict(self):
        return {"order": self.order, "at": self.at, "random": self.random.get_state()}

    def load_state_dict(self, state):
        self.order, self.at = state["order"], state["at"]
        self.random.set_state(state["random"])


# ---------------------------------------------------------------------------------------------- setup


def lr_factor(it, length, opt):
    """Warm-up, then the decay that the options name, over `length` iterations."""
    if it < opt["warmup_iter"]:
        return (it + 1) / opt["warmup_iter"]
    done = min(1.0, it / length)
    if opt["scheduler"] == "cosine":
        return 0.05 + 0.95 * 0.5 * (1.0 + math.cos(math.pi * done))
    if opt["scheduler"] == "multistep":
        return 0.4 ** sum(done >= milestone for milestone in (0.6, 0.85))
    return 1.0


def build(opt, seed):
    """Everything that training moves, in one place."""
    torch.manual_seed(seed)
    train = opt["train"]
    s = SimpleNamespace(it=0, best=-math.inf)
    s.net_g = SRGenerator(opt["network_g"]["num_feat"], opt["network_g"]["num_block"])
    s.net_d = PatchDiscriminator(opt["network_d"]["num_feat"])
    s.ema = copy.deepcopy(s.net_g) if train["ema_decay"] > 0 else None
    adam = {
        "betas": (train["beta1"], train["beta2"]),
        "eps": train["eps"],
        "weight_decay": train["weight_decay"],
    }
    s.optim_g = torch.optim.AdamW(s.net_g.parameters(), lr=train["lr_g"], **adam)
    s.optim_d = torch.optim.AdamW(s.net_d.parameters(), lr=train["lr_d"], **adam)
    gan_iter = train["total_iter"] - train["pretrain_iter"]
    s.sched_g = LambdaLR(s.optim_g, lambda it: lr_factor(it, train["total_iter"], train))
    s.sched_d = LambdaLR(s.optim_d, lambda it: lr_factor(it, gan_iter, train))
    s.feeder = Feeder(*load_pairs("data/train.npz"), opt["datasets"], seed)
    s.val_pairs = load_pairs("data/val.npz")
    s.sums, s.counts, s.since = {}, {}, time.time()
    return s


def save_state(s, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(
        {
            "iter": s.it,
            "best": s.best,
            "net_g": s.net_g.state_dict(),
            "net_d": s.net_d.state_dict(),
            "net_g_ema": s.ema.state_dict() if s.ema is not None else None,
            "optim_g": s.optim_g.state_dict(),
            "optim_d": s.optim_d.state_dict(),
            "sched_g": s.sched_g.state_dict(),
            "sched_d": s.sched_d.state_dict(),
            "feeder": s.feeder.state_dict(),
            "rng": torch.get_rng_state(),
        },
        path,
    )


def load_state(s, path):
    state = torch.load(path)
    s.net_g.load_state_dict(state["net_g"])
    s.net_d.load_state_dict(state["net_d"])
    if s.ema is not None:
        s.ema.load_state_dict(state["net_g_ema"])
    s.optim_g.load_state_dict(state["optim_g"])
    s.optim_d.load_state_dict(state["optim_d"])
    s.sched_g.load_state_dict(state["sched_g"])
    s.sched_d.load_state_dict(state["sched_d"])
    s.feeder.load_state_dict(state["feeder"])
    torch.set_rng_state(state["rng"])
    s.it, s.best = state["iter"], state["best"]


# --------------------------------------------------------------------------------------------- stages


def pretrain(s, opt, write):
    """Stage one: the generator alone, with the pixel loss."""
    train = opt["train"]
    while s.it < train["pretrain_iter"]:
        lr, hr = s.feeder.next()
        with autocast(train):
            fake = s.net_g(lr)
        l_pix = train["pixel_weight"] * pixel_loss(fake.float(), hr)
        s.optim_g.zero_grad()
        l_pix.backward()
        norm_g = clip(s.net_g, train)
        s.optim_g.step()
        s.sched_g.step()
        note(s, l_g_total=l_pix, l_g_pix=l_pix, grad_norm_g=norm_g)
        end_of_iter(s, opt, write, "pretrain")


def adversarial(s, opt, write):
    """Stage two: discriminator and generator in turn."""
    train = opt["train"]
    while s.it < train["total_iter"]:
        lr, hr = s.feeder.next()
        with autocast(train):
            fake = s.net_g(lr)
        fake = fake.float()

        for _ in range(train["net_d_iters"]):
            l_d, parts = discriminator_loss(s, hr, fake.detach(), train)
            s.optim_d.zero_grad()
            l_d.backward()
            norm_d = clip(s.net_d, train)
            s.optim_d.step()

        s.net_d.requires_grad_(False)
        l_pix = train["pixel_weight"] * pixel_loss(fake, hr)
        l_gan = train["gan_weight"] * generator_gan_loss(s.net_d(fake), train["gan_type"])
        l_g = l_pix + l_gan
        s.optim_g.zero_grad()
        l_g.backward()
        norm_g = clip(s.net_g, train)
        s.optim_g.step()
        s.net_d.requires_grad_(True)

        s.sched_g.step()
        s.sched_d.step()
        note(s, l_g_total=l_g, l_g_pix=l_pix, l_g_gan=l_gan, l_d_total=l_d, **parts)
        note(s, grad_norm_g=norm_g, grad_norm_d=norm_d)
        end_of_iter(s, opt, write, "gan")


def discriminator_loss(s, real, fake, train):
    """The loss of the discriminator, and what it is made of."""
    out_real, out_fake = s.net_d(torch.cat([real, fake])).chunk(2)
    loss = discriminator_gan_loss(out_real, out_fake, train["gan_type"])
    parts = {"out_d_real": out_real.mean(), "out_d_fake": out_fake.mean()}
    if train["r1_weight"] > 0 and s.it % train["r1_every"] == 0:
        l_r1 = train["r1_weight"] * train["r1_every"] * r1_penalty(s.net_d, real)
        parts["l_d_r1"] = l_r1
        loss = loss + l_r1
    return loss, parts


def autocast(train):
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=train["precision"] == "bf16")


def clip(net, train):
    """Limit the gradients where the options ask for it; gives their norm."""
    limit = train["grad_clip"] if train["grad_clip"] > 0 else math.inf
    return torch.nn.utils.clip_grad_norm_(net.parameters(), limit)


# ------------------------------------------------------------------------------------- after each step


def end_of_iter(s, opt, write, stage):
    """Average, print, validate, keep."""
    s.it += 1
    if s.ema is not None:
        update_ema(s.ema, s.net_g, opt["train"]["ema_decay"])
    if s.it % opt["logger"]["print_freq"] == 0:
        write(stage, s.it, told(s, opt["logger"]))
    if s.it % opt["val"]["val_freq"] == 0:
        scores = validate(s.ema if s.ema is not None else s.net_g, s.val_pairs)
        write(stage, s.it, scores)
        quality = scores["val_psnr"] - scores["val_texture_dist"]
        if quality > s.best:
            s.best = quality
            save_state(s, EXPERIMENT / "models" / "net_best.pth")
    if s.it % opt["logger"]["save_freq"] == 0:
        save_state(s, EXPERIMENT / "training_states" / f"{s.it:06d}.state")


@torch.no_grad()
def update_ema(ema, net, decay):
    for mean, value in zip(ema.parameters(), net.parameters()):
        mean.mul_(decay).add_(value, alpha=1.0 - decay)
    for mean, value in zip(ema.buffers(), net.buffers()):
        mean.copy_(value)


@torch.no_grad()
def validate(net, pairs):
    """Fidelity and texture on the validation pairs."""
    net.eval()
    psnrs, distances, l1 = [], [], []
    for lr, hr in zip(pairs[0].split(32), pairs[1].split(32)):
        fake = net(lr)
        psnrs.append(psnr(fake, hr))
        distances.append(texture_distance(fake, hr))
        l1.append((fake - hr).abs().flatten(1).mean(1))
    net.train()
    return {
        "val_psnr": torch.cat(psnrs).mean().item(),
        "val_texture_dist": torch.cat(distances).mean().item(),
        "val_l1": torch.cat(l1).mean().item(),
    }


def note(s, **values):
    """Gather numbers until they are printed."""
    for name, value in values.items():
        s.sums[name] = s.sums.get(name, 0.0) + torch.as_tensor(value).item()
        s.counts[name] = s.counts.get(name, 0) + 1


def told(s, logger):
    """The means since the last print, as far as they are wanted."""
    means = {name: total / s.counts[name] for name, total in s.sums.items()}
    wanted = ["l_g_total"]
    wanted += ["l_d_total"] if "l_d_total" in means else []
    if logger["show_parts"]:
        wanted += ["l_g_pix", "l_g_gan", "l_d_r1", "out_d_real", "out_d_fake"]
    if logger["show_grad_norm"]:
        wanted += ["grad_norm_g", "grad_norm_d"]
    shown = {name: means[name] for name in wanted if name in means}
    if logger["show_lr"]:
        shown["lr_g"] = s.sched_g.get_last_lr()[0]
        if "l_d_total" in means:
            shown["lr_d"] = s.sched_d.get_last_lr()[0]
    if logger["show_speed"]:
        shown["iter_time"] = (time.time() - s.since) / logger["print_freq"]
    s.sums, s.counts, s.since = {}, {}, time.time()
    return shown


def newest_state():
    return sorted((EXPERIMENT / "training_states").glob("*.state"))[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--opt", default="options.yml")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--resume", default=None, help="latest, or the path of a state")
    args = parser.parse_args()
    opt = yaml.safe_load(Path(args.opt).read_text())
    if args.seed is not None:
        opt["manual_seed"] = args.seed
    EXPERIMENT.mkdir(parents=True, exist_ok=True)
    (EXPERIMENT / "options.yml").write_text(yaml.safe_dump(opt, sort_keys=False))

    s = build(opt, opt["manual_seed"])
    if args.resume is not None:
        load_state(s, newest_state() if args.resume == "latest" else args.resume)
    write = open_writer(EXPERIMENT, opt["logger"]["kind"], opt["train"]["total_iter"])
    s.net_g.train()
    s.net_d.train()
    pretrain(s, opt, write)
    adversarial(s, opt, write)


if __name__ == "__main__":
    main()
