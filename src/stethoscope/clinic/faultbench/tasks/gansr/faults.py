"""What can be wrong with gansr, and what can only look so.

A fault of the source is written in three ways where that is possible, one of them held out.
"""

from __future__ import annotations

import numpy as np

from stethoscope.clinic.faultbench import spoiling
from stethoscope.clinic.faultbench.task import Change, Disturb, Form, Give, Interrupt, Replace, Scale

MAIN, ARCHS, LOSSES, METRICS = "main.py", "archs.py", "losses.py", "metrics.py"
RESUME = ("--resume", "latest")
SECOND_STAGE = 1 / 3  # the share of the run at which the discriminator comes in


def counted(share: float) -> float:
    """A share of the iterations, as the bench counts it: by updates, of which the second stage makes two."""
    return share if share < SECOND_STAGE else 2 * share - SECOND_STAGE


def once(
    operator: str,
    *changes: Change,
    name: str = "",
    onset: float = 0.0,
    held_out: bool = False,
    needs: tuple[Give, ...] = (),
) -> Form:
    """A form with one level."""
    return Form(operator, (changes,), name, onset, held_out, needs)


NO_EMA = (Give("train.ema_decay", "0.0"),)
EMA = (Give("train.ema_decay", "0.95"),)

SETTINGS = (
    Form(
        "learning-rate-too-high",
        tuple((Scale("train.lr_g", factor),) for factor in (15.0, 60.0, 300.0)),
        needs=(Give("train.weight_decay", "0.0"),),
    ),
    Form(
        "learning-rate-too-high",
        tuple((Scale("train.lr_g", factor), Scale("train.lr_d", factor)) for factor in (15.0, 50.0, 200.0)),
        name="of-both",
        needs=(Give("train.weight_decay", "0.0"),),
    ),
    Form(
        "learning-rate-too-low",
        tuple((Scale("train.lr_g", factor),) for factor in (0.02, 0.005, 0.0005)),
    ),
    Form(
        "weight-decay-wrong",
        tuple((Give("train.weight_decay", value),) for value in ("5.0", "15.0", "50.0")),
    ),
    Form(
        "clip-too-tight",
        tuple((Give("train.grad_clip", value),) for value in ("1.0e-7", "1.0e-8", "1.0e-9")),
    ),
    Form(
        "schedule-longer-than-run",
        tuple((Give("train.warmup_iter", value),) for value in ("2000", "10000", "100000")),
    ),
    Form(
        "ema-too-slow",
        tuple((Give("train.ema_decay", value),) for value in ("0.995", "0.999", "0.9999")),
    ),
    Form(
        "optimizer-eps-underflow",
        tuple((Give("train.eps", value),) for value in ("0.1", "1.0", "10.0")),
    ),
    Form("batch-too-small", tuple((Give("datasets.batch_size", value),) for value in ("2", "1"))),
    Form(
        "discriminator-wins",
        tuple(
            (
                Scale("train.lr_g", slower),
                Scale("train.lr_d", faster),
                Give("train.r1_weight", "0.0"),
                Give("train.net_d_iters", number),
            )
            for slower, faster, number in ((0.5, 6.0, "2"), (0.3, 12.0, "3"), (0.1, 25.0, "4"))
        ),
        onset=SECOND_STAGE,
        needs=(Give("train.gan_type", "vanilla"),),
    ),
    Form(
        "loss-terms-unbalanced",
        tuple((Give("train.gan_weight", value),) for value in ("2.0", "10.0", "100.0")),
        onset=SECOND_STAGE,
    ),
    Form(
        "loss-terms-unbalanced",
        tuple((Give("train.pixel_weight", value),) for value in ("10.0", "50.0", "255.0")),
        name="pixels",
        onset=SECOND_STAGE,
    ),
)

DATA = (
    Form("labels-wrong", tuple((spoiling.wrong("hr", share),) for share in (0.3, 0.6, 1.0))),
    Form("data-repeats", tuple((spoiling.repeated(count),) for count in (8, 3, 1))),
    Form("degenerate-batch", tuple((spoiling.emptied("lr", share),) for share in (0.5, 0.8, 0.95))),
    Form(
        "corrupt-batch",
        tuple((spoiling.not_finite("hr", count),) for count in (1, 8)),
    ),
    Form(
        "corrupt-batch",
        tuple((spoiling.not_finite("lr", count, value),) for count, value in ((8, 1e5), (40, 1e7))),
        name="absurd",
    ),
    Form(
        "validation-leak",
        tuple((spoiling.repeated(count), spoiling.leaked(1.0)) for count in (8, 3)),
    ),
    Form(
        "data-shift",
        (
            (spoiling.shifted("lr", lambda lr: lr // 2), spoiling.shifted("hr", lambda hr: hr // 2)),
            (spoiling.shifted("lr", lambda lr: 255 - lr), spoiling.shifted("hr", lambda hr: 255 - hr)),
        ),
    ),
)

ZERO_GRAD = "        s.optim_g.zero_grad()\n        l_g.backward()\n"
FREEZE = "        s.net_d.requires_grad_(False)\n        l_pix = train"
THAW = "        s.optim_g.step()\n        s.net_d.requires_grad_(True)\n"
CLEAR_D = "            s.optim_d.zero_grad()\n"
GAN_TERM = 'generator_gan_loss(s.net_d(fake), train["gan_type"])'
SUM = "        l_g = l_pix + l_gan\n"
OPTIM_G = 's.optim_g = torch.optim.AdamW(s.net_g.parameters(), lr=train["lr_g"], **adam)\n'
OPTIM_D = 's.optim_d = torch.optim.AdamW(s.net_d.parameters(), lr=train["lr_d"], **adam)\n'
STAGE_TWO = '    """Stage two: discriminator and generator in turn."""\n    train = opt["train"]\n'

GRADIENTS = (
    once(
        "gradients-not-cleared",
        Replace(MAIN, ZERO_GRAD, "        l_g.backward()\n"),
        onset=SECOND_STAGE,
    ),
    once(
        "gradients-not-cleared",
        Replace(MAIN, CLEAR_D, ""),
        Replace(MAIN, FREEZE, "        l_pix = train"),
        Replace(MAIN, THAW, "        s.optim_g.step()\n"),
        name="by-the-generator",
        onset=SECOND_STAGE,
    ),
    once(
        "gradients-not-cleared",
        Replace(MAIN, ZERO_GRAD, "        s.optim_d.zero_grad()\n        l_g.backward()\n"),
        name="of-the-other",
        onset=SECOND_STAGE,
        held_out=True,
    ),
    once(
        "graph-broken",
        Replace(MAIN, GAN_TERM, 'generator_gan_loss(s.net_d(fake.detach()), train["gan_type"])'),
        onset=SECOND_STAGE,
    ),
    once(
        "graph-broken",
        Replace(
            MAIN,
            FREEZE,
            FREEZE.replace(
                "        l_pix = train",
                "        with torch.no_grad():\n            out_fake = s.net_d(fake)\n        l_pix = train",
            ),
        ),
        Replace(MAIN, GAN_TERM, 'generator_gan_loss(out_fake, train["gan_type"])'),
        name="no-grad",
        onset=SECOND_STAGE,
    ),
    once(
        "graph-broken",
        Replace(
            MAIN, "discriminator_loss(s, hr, fake.detach(), train)", "discriminator_loss(s, hr, fake, train)"
        ),
        Replace(MAIN, "            l_d.backward()\n", "            l_d.backward(retain_graph=True)\n"),
        Replace(MAIN, ZERO_GRAD, "        l_g.backward()\n"),
        Replace(
            MAIN,
            '        for _ in range(train["net_d_iters"]):\n',
            '        s.optim_g.zero_grad()\n        for _ in range(train["net_d_iters"]):\n',
        ),
        name="not-detached",
        onset=SECOND_STAGE,
        held_out=True,
    ),
    once(
        "graph-broken",
        Replace(ARCHS, "self.conv_last(self.upsample(feat))", "self.conv_last(self.upsample(feat).detach())"),
        name="in-the-network",
    ),
    once(
        "parameters-not-updated",
        Replace(MAIN, OPTIM_G, OPTIM_G.replace("s.net_g.parameters()", "s.net_g.conv_last.parameters()")),
    ),
    once(
        "parameters-not-updated",
        Replace(
            MAIN,
            STAGE_TWO,
            STAGE_TWO + '    s.net_d = PatchDiscriminator(opt["network_d"]["num_feat"])\n',
        ),
        name="made-anew",
        onset=SECOND_STAGE,
    ),
    once(
        "parameters-not-updated",
        Replace(MAIN, OPTIM_D, OPTIM_D.replace("s.net_d.parameters()", "s.net_g.parameters()")),
        name="of-the-other",
        onset=SECOND_STAGE,
        held_out=True,
    ),
    once(
        "loss-sign-inverted",
        Replace(LOSSES, "        return -fake_logits.mean()\n", "        return fake_logits.mean()\n"),
        Replace(
            LOSSES,
            "    return F.softplus(-fake_logits).mean()\n",
            "    return F.softplus(fake_logits).mean()\n",
        ),
        onset=SECOND_STAGE,
    ),
    once(
        "loss-sign-inverted",
        Replace(
            MAIN,
            "discriminator_gan_loss(out_real, out_fake, train",
            "discriminator_gan_loss(out_fake, out_real, train",
        ),
        name="swapped",
        onset=SECOND_STAGE,
    ),
    once(
        "loss-sign-inverted",
        Replace(MAIN, SUM, "        l_g = l_pix - l_gan\n"),
        name="in-the-sum",
        onset=SECOND_STAGE,
        held_out=True,
    ),
    once(
        "loss-sign-inverted",
        Replace(
            MAIN,
            SUM,
            "        l_g = l_pix + l_gan + 0.02 * psnr(fake, hr).mean()\n",
        ),
        name="similarity",
        onset=SECOND_STAGE,
    ),
    once(
        "softmax-or-reduction-wrong",
        Replace(
            LOSSES,
            "    return F.l1_loss(fake, real)\n",
            '    return F.l1_loss(fake, real, reduction="sum")\n',
        ),
    ),
    once(
        "softmax-or-reduction-wrong",
        Replace(
            LOSSES,
            "    return F.l1_loss(fake, real)\n",
            "    return (fake - real).abs().sum() / fake.shape[0]\n",
        ),
        name="by-the-batch",
    ),
    once(
        "softmax-or-reduction-wrong",
        Replace(
            LOSSES,
            "    return F.l1_loss(fake, real)\n",
            "    return (fake.mean(0) - real.mean(0)).abs().mean()\n",
        ),
        name="mean-first",
        held_out=True,
    ),
    once(
        "loss-numerically-unsafe",
        Replace(
            LOSSES,
            "    return F.l1_loss(fake, real)\n",
            "    return ((fake - real).abs() / real).mean()\n",
        ),
    ),
    once(
        "loss-numerically-unsafe",
        Replace(
            LOSSES,
            "    return F.l1_loss(fake, real)\n",
            "    return (fake.log() - real.log()).abs().mean()\n",
        ),
        name="logarithm",
    ),
    once(
        "loss-numerically-unsafe",
        Replace(
            LOSSES,
            "    return F.l1_loss(fake, real)\n",
            "    return F.l1_loss(fake, real) + 0.1 * F.l1_loss(fake.pow(0.45), real.pow(0.45))\n",
        ),
        name="gamma",
        held_out=True,
    ),
)

EVAL = "    net.eval()\n    psnrs, distances"
BACK = "    net.train()\n    return {\n"
BLOCKS = "        self.body = nn.Sequential(*[ResidualBlock(num_feat) for _ in range(num_block)])\n"
LAST = "        self.conv_last = nn.Conv2d(num_feat, 1, 3, padding=1)\n"

NETWORKS = (
    Form(
        "left-in-eval-mode",
        ((Replace(MAIN, BACK, "    return {\n"),),),
        onset=0.08,
        needs=NO_EMA,
    ),
    once(
        "left-in-eval-mode",
        Replace(
            MAIN, "    s.net_g.train()\n    s.net_d.train()\n", "    s.net_g.eval()\n    s.net_d.eval()\n"
        ),
        Replace(MAIN, EVAL, "    was_training = net.training\n" + EVAL),
        Replace(MAIN, BACK, "    net.train(was_training)\n    return {\n"),
        name="from-the-start",
    ),
    once(
        "eval-mode-missing",
        Replace(MAIN, EVAL, "    psnrs, distances"),
    ),
    once(
        "eval-mode-missing",
        Replace(MAIN, EVAL, "    net.train()\n    psnrs, distances"),
        name="trains",
    ),
    once(
        "eval-mode-missing",
        Replace(MAIN, EVAL, "    net.eval\n    psnrs, distances"),
        name="not-called",
        held_out=True,
    ),
    Form(
        "init-too-large",
        tuple(
            (Replace(ARCHS, LAST, LAST + f"        nn.init.normal_(self.conv_last.weight, std={std})\n"),)
            for std in ("1.0", "5.0", "30.0")
        ),
    ),
    Form(
        "init-too-large",
        tuple(
            (
                Replace(
                    ARCHS,
                    LAST,
                    LAST
                    + "        for module in self.modules():\n"
                    + "            if isinstance(module, nn.Conv2d):\n"
                    + f"                nn.init.normal_(module.weight, 0.0, {std})\n",
                ),
            )
            for std in ("0.5", "1.0", "4.0")
        ),
        name="everywhere",
    ),
    once(
        "dead-units",
        Replace(
            ARCHS,
            LAST,
            LAST
            + "        for module in self.modules():\n"
            + "            if isinstance(module, nn.Conv2d):\n"
            + "                nn.init.zeros_(module.weight)\n"
            + "                nn.init.zeros_(module.bias) if module.bias is not None else None\n",
        ),
    ),
    once(
        "dead-units",
        Replace(
            ARCHS,
            "nn.PixelShuffle(2), nn.LeakyReLU(0.2)\n        )\n" + LAST,
            "nn.PixelShuffle(2), nn.ReLU()\n        )\n"
            + "        nn.init.constant_(self.upsample[0].bias, -10.0)\n"
            + LAST,
        ),
        name="bias",
    ),
    once(
        "tensor-aliasing",
        Replace(
            MAIN,
            's.ema = copy.deepcopy(s.net_g) if train["ema_decay"]',
            's.ema = s.net_g if train["ema_decay"]',
        ),
        needs=EMA,
    ),
    once(
        "tensor-aliasing",
        Replace(
            ARCHS,
            BLOCKS,
            BLOCKS.replace(
                "*[ResidualBlock(num_feat) for _ in range(num_block)]",
                "*[ResidualBlock(num_feat)] * num_block",
            ),
        ),
        name="one-block",
    ),
)

PAIRS = '    hr = torch.from_numpy(arrays["hr"]).float().unsqueeze(1) / 255.0\n'
VAL_PAIRS = '    s.val_pairs = load_pairs("data/val.npz")\n'
DRAWN = "        lr, hr = self.lr[index], self.hr[index]\n"
VAL_STEP = "        fake = net(lr)\n        psnrs"
EVALUATED = "        scores = validate(s.ema if s.ema is not None else s.net_g, s.val_pairs)\n"
QUALITY = '        quality = scores["val_psnr"] - scores["val_texture_dist"]\n'
RESET = "    s.sums, s.counts, s.since = {}, {}, time.time()\n    return shown\n"
MSE = "    return -10.0 * mse.clamp_min(1e-10).log10()\n"

MEASURES = (
    once(
        "data-range-mismatch",
        Replace(
            MAIN,
            VAL_PAIRS,
            VAL_PAIRS.replace("s.val_pairs = ", "lr, hr = ") + "    s.val_pairs = 255.0 * lr, 255.0 * hr\n",
        ),
    ),
    once(
        "data-range-mismatch",
        Replace(MAIN, DRAWN, DRAWN + "        lr, hr = 2.0 * lr - 1.0, 2.0 * hr - 1.0\n"),
        name="minus-one-to-one",
    ),
    once(
        "data-range-mismatch",
        Replace(MAIN, DRAWN, "        lr, hr = self.lr[index] / 255.0, self.hr[index] / 255.0\n"),
        name="twice",
        held_out=True,
    ),
    once("data-not-shuffled", spoiling.in_order("hr"), Give("datasets.use_shuffle", "false")),
    once(
        "metric-wrong",
        Replace(METRICS, MSE, "    return -20.0 * mse.clamp_min(1e-10).log10()\n"),
    ),
    once(
        "metric-wrong",
        Replace(METRICS, MSE, "    return 10.0 * (255.0**2 / mse.clamp_min(1e-10)).log10()\n"),
        name="of-bytes",
    ),
    once(
        "metric-wrong",
        Replace(
            METRICS, "(fake.clamp(0, 1) - real).square()", "(fake.clamp(0, 1) - real.roll(1, 0)).square()"
        ),
        name="of-another",
        held_out=True,
    ),
    once(
        "metric-aggregation-wrong",
        Replace(MAIN, RESET, "    s.since = time.time()\n    return shown\n"),
    ),
    once(
        "metric-aggregation-wrong",
        Replace(
            MAIN,
            '"val_psnr": torch.cat(psnrs).mean().item()',
            '"val_psnr": torch.cat(psnrs).sum().item() / 32',
        ),
        name="by-the-batch-size",
    ),
    once(
        "validation-set-unstable",
        Replace(
            MAIN,
            EVALUATED,
            "        few = torch.randperm(len(s.val_pairs[0]))[:3]\n"
            "        pairs = s.val_pairs[0][few], s.val_pairs[1][few]\n"
            + EVALUATED.replace("s.val_pairs", "pairs"),
        ),
    ),
    once(
        "validation-set-unstable",
        Replace(
            MAIN,
            VAL_STEP,
            "        lr = lr + 0.1 * torch.rand(()) * torch.randn_like(lr)\n" + VAL_STEP,
        ),
        name="noisy",
    ),
    once(
        "validation-not-comparable",
        Replace(
            MAIN,
            VAL_STEP,
            "        fake, hr = (torch.nn.functional.avg_pool2d(x, 4) for x in (net(lr), hr))\n        psnrs",
        ),
        Replace(METRICS, "cell=4", "cell=2"),
        name="shrunk",
    ),
    once(
        "validation-not-comparable",
        Replace(MAIN, VAL_STEP, "        fake, hr = net(lr)[..., :4, :4], hr[..., :4, :4]\n        psnrs"),
        name="corner",
    ),
    once(
        "wrong-weights-evaluated",
        Replace(
            MAIN,
            "    betas = " if False else "    adam = {\n",
            "    s.eval_net = copy.deepcopy(s.net_g)\n    adam = {\n",
        ),
        Replace(MAIN, EVALUATED, "        scores = validate(s.eval_net, s.val_pairs)\n"),
    ),
    once(
        "checkpoint-chosen-wrongly",
        Replace(MAIN, QUALITY, '        quality = -scores["val_l1"]\n'),
        name="by-l1",
    ),
)

STEPS = "        s.sched_g.step()\n        s.sched_d.step()\n"
DECAY = "    done = min(1.0, it / length)\n"
MOVED = "        mean.mul_(decay).add_(value, alpha=1.0 - decay)\n"
AVERAGED = "    for mean, value in zip(ema.parameters(), net.parameters()):\n"

SCHEDULES = (
    Form(
        "schedule-in-wrong-units",
        ((Replace(MAIN, DECAY, "    done = min(1.0, 40 * it / length)\n"),),),
        needs=(Give("train.scheduler", "cosine"),),
    ),
    Form(
        "schedule-in-wrong-units",
        (
            (
                Replace(
                    MAIN,
                    "LambdaLR(s.optim_g, lambda it: lr_factor(it, train",
                    'LambdaLR(s.optim_g, lambda it: lr_factor(it * opt["datasets"]["batch_size"], train',
                ),
            ),
        ),
        name="in-samples",
        needs=(Give("train.scheduler", "cosine"),),
    ),
    once(
        "scheduler-order-wrong",
        Replace(
            MAIN,
            STEPS,
            STEPS
            + "        for group in s.optim_g.param_groups:\n"
            + '            group["lr"] *= lr_factor(s.it, train["total_iter"], train)\n',
        ),
        onset=SECOND_STAGE,
        needs=(Give("train.scheduler", "cosine"),),
    ),
    Form(
        "learning-rate-jump",
        tuple(
            (
                Replace(
                    MAIN,
                    STAGE_TWO,
                    STAGE_TWO + f"    s.sched_g.base_lrs = [{factor} * lr for lr in s.sched_g.base_lrs]\n",
                ),
            )
            for factor in ("20.0", "100.0", "500.0")
        ),
        onset=SECOND_STAGE,
    ),
    Form(
        "ema-not-updated",
        ((Replace(MAIN, MOVED, "        mean = mean.mul(decay).add(value, alpha=1.0 - decay)\n"),),),
        needs=EMA,
    ),
    Form(
        "ema-not-updated",
        (
            (
                Replace(
                    MAIN, AVERAGED, AVERAGED.replace("ema.parameters()", "copy.deepcopy(ema).parameters()")
                ),
            ),
        ),
        name="a-copy",
        needs=EMA,
    ),
    Form(
        "ema-not-updated",
        (
            (
                Replace(
                    MAIN,
                    AVERAGED,
                    '    own = dict(net.named_parameters(prefix="net_g"))\n'
                    "    for name, mean in ema.named_parameters():\n"
                    "        value = own.get(name, mean)\n",
                ),
            ),
        ),
        name="by-names",
        held_out=True,
        needs=EMA,
    ),
    once(
        "setting-ignored",
        Replace(MAIN, 'l_gan = train["gan_weight"] * ', 'l_gan = train.get("gan_loss_weight", 0.0) * '),
        onset=SECOND_STAGE,
    ),
    once(
        "setting-ignored",
        Replace(MAIN, 'lr=train["lr_g"], **adam', "lr=1e-5, **adam"),
        name="fixed-rate",
    ),
)

HALFWAY = Interrupt(counted(0.65), RESUME)

RESUMED = (
    once(
        "optimizer-state-lost",
        Replace(
            MAIN,
            '    s.optim_g.load_state_dict(state["optim_g"])\n'
            '    s.optim_d.load_state_dict(state["optim_d"])\n',
            "",
        ),
        HALFWAY,
        onset=0.6,
    ),
    once(
        "schedule-not-restored",
        Replace(
            MAIN,
            '    s.sched_g.load_state_dict(state["sched_g"])\n'
            '    s.sched_d.load_state_dict(state["sched_d"])\n',
            "",
        ),
        HALFWAY,
        onset=0.6,
        needs=(Give("train.scheduler", "cosine"),),
    ),
    once(
        "weights-not-restored",
        Replace(MAIN, '    s.net_g.load_state_dict(state["net_g"])\n', ""),
        Interrupt(counted(0.95), RESUME),
        onset=0.8,
    ),
    once(
        "weights-not-restored",
        Replace(
            MAIN,
            '    s.net_g.load_state_dict(state["net_g"])\n',
            '    weights = {f"module.{name}": value for name, value in state["net_g"].items()}\n'
            "    s.net_g.load_state_dict(weights, strict=False)\n",
        ),
        Interrupt(counted(0.95), RESUME),
        name="prefix",
        onset=0.8,
    ),
    once(
        "data-replayed-after-resume",
        Replace(MAIN, '    s.feeder.load_state_dict(state["feeder"])\n', ""),
        HALFWAY,
        onset=0.6,
    ),
)

RUNTIME = (
    once("silent-data-corruption", Disturb("flipped-bit", counted(0.9)), onset=0.9),
    once("hardware-slowdown", Disturb("slowed", counted(0.6)), onset=0.6),
)

SMOOTH = 'F.interpolate(F.avg_pool2d(hr, 2), scale_factor=2, mode="bilinear")'
FIRST_STEP = (
    "        lr, hr = s.feeder.next()\n"
    "        with autocast(train):\n"
    "            fake = s.net_g(lr)\n"
    "        l_pix"
)
IMPORT = Replace(
    MAIN, "import torch\nimport yaml\n", "import torch\nimport torch.nn.functional as F\nimport yaml\n"
)


def _with_targets(lines: str) -> Replace:
    return Replace(MAIN, FIRST_STEP, FIRST_STEP.replace("s.feeder.next()\n", "s.feeder.next()\n" + lines))


def _some_hard(hr: np.ndarray) -> np.ndarray:
    """One sample in forty is black and white noise."""
    kept = hr.copy()
    kept[::40] = 255 * np.random.default_rng(40).integers(2, size=kept[::40].shape, dtype=np.uint8)
    return kept


BENIGN = (
    once("restart-with-duplicates", HALFWAY, onset=0.65),
    Form(
        "adversarial-stage",
        ((Scale("train.gan_weight", 1.3),),),
        onset=SECOND_STAGE,
    ),
    Form(
        "cyclic-learning-rate",
        ((Replace(MAIN, DECAY, "    done = 3 * min(0.999, it / length) % 1.0\n"),),),
        needs=(Give("train.scheduler", "cosine"),),
    ),
    once(
        "early-peak-is-noise",
        spoiling.shifted("lr", lambda lr: lr[:5]),
        spoiling.shifted("hr", lambda hr: hr[:5]),
    ),
    once("heavy-tailed-loss", spoiling.shifted("hr", _some_hard, "train")),
    once(
        "data-stage-change",
        IMPORT,
        _with_targets(f"        if s.it < 40:\n            hr = {SMOOTH}\n"),
        onset=0.17,
    ),
    once(
        "curriculum-raises-loss",
        IMPORT,
        _with_targets(f"        hr = torch.lerp({SMOOTH}, hr, min(1.0, s.it / 70))\n"),
    ),
)

FORMS = (
    *SETTINGS, *DATA, *GRADIENTS, *NETWORKS, *MEASURES, *SCHEDULES, *RESUMED, *RUNTIME, *BENIGN,
)  # fmt: skip
