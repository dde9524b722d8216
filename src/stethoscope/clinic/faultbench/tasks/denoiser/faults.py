"""What can be wrong with denoiser, and what can only look so.

A fault of the source is written in three ways where that is possible, one of them held out.
"""

from __future__ import annotations

import numpy as np

from stethoscope.clinic.faultbench import spoiling
from stethoscope.clinic.faultbench.task import Change, Disturb, Form, Give, Interrupt, Replace, Scale

TRAIN, NETWORKS, LOSSES = "train.py", "networks.py", "losses.py"
AVERAGING, VALIDATION, PICTURES, OPTIONS = "averaging.py", "validation.py", "pictures.py", "options.py"
RESUMED_AT = Interrupt(0.55, ("--resume", "latest"))


def _interleaved(images: np.ndarray) -> np.ndarray:
    """Pictures whose rows are dealt out in turn: finer than anything that is trained with."""
    return images[:, np.arange(images.shape[1]).reshape(2, -1).T.ravel()]


def _with_highlights(images: np.ndarray) -> np.ndarray:
    """Every sixtieth picture has thrice the contrast of the others."""
    kept = images.astype(np.float32)
    kept[::60] = 127.5 + 3 * (kept[::60] - 127.5)
    return kept


def _few(images: np.ndarray) -> np.ndarray:
    return images[:6]


def _given(key: str, *values: str) -> tuple[tuple[Change, ...], ...]:
    return tuple((Give(key, value),) for value in values)


def _scaled(key: str, *factors: float) -> tuple[tuple[Change, ...], ...]:
    return tuple((Scale(key, factor),) for factor in factors)


def _written(file: str, old: str, to: str) -> tuple[tuple[Change, ...], ...]:
    return ((Replace(file, old, to),),)


SETTINGS = (
    Form("learning-rate-too-high", _scaled("lr", 15.0, 60.0, 300.0), needs=(Give("clip", "0.0"),)),
    Form("learning-rate-too-low", _scaled("lr", 0.03, 0.006, 0.001)),
    Form("weight-decay-wrong", _given("weight_decay", "8.0", "25.0", "80.0")),
    Form("optimizer-eps-underflow", _given("adam_eps", "0.3", "3.0", "30.0")),
    Form("batch-too-small", _given("batch", "3", "2", "1"), needs=(Give("schedule", "constant"),)),
    Form("schedule-longer-than-run", _given("warmup", "3000", "10000", "50000")),
    Form(
        "ema-too-slow",
        tuple((Give("ema_beta", beta), Give("ema_power", "0.0")) for beta in ("0.995", "0.999", "0.9999")),
    ),
    Form(
        "learning-rate-not-decayed",
        _scaled("lr", 1.6, 2.0, 2.5),
        needs=(Give("schedule", "constant"), Give("ema_beta", "0.0"), Give("clip", "0.0")),
    ),
    Form("overfitting", _given("max_images", "24", "12", "6")),
    Form("loss-terms-unbalanced", _given("tv", "1.0", "4.0", "20.0")),
    Form("noise-levels-mismatch", _given("p_mean", "1.5", "2.5", "4.0"), name="centre"),
    Form("preconditioning-wrong", _given("sigma_data", "0.05", "0.02", "0.005"), name="data-scale"),
)

DATA = (
    Form("data-repeats", tuple((spoiling.repeated(count),) for count in (24, 12, 6))),
    Form("degenerate-batch", tuple((spoiling.emptied("images", share),) for share in (0.9, 0.97, 0.995))),
    Form(
        "validation-leak",
        (
            (spoiling.leaked(1.0),),
            (spoiling.repeated(96), spoiling.leaked(1.0)),
            (spoiling.repeated(24), spoiling.leaked(1.0)),
        ),
    ),
    Form(
        "corrupt-batch",
        (
            (spoiling.not_finite("images", 6, 3e5),),
            (spoiling.not_finite("images", 3),),
        ),
    ),
    Form(
        "data-shift",
        (
            (spoiling.shifted("images", lambda images: images // 4),),
            (spoiling.shifted("images", _interleaved),),
        ),
    ),
    Form(
        "data-not-shuffled",
        (
            (
                spoiling.in_order("images"),
                Replace(
                    PICTURES,
                    "            order = np.random.default_rng((self.seed, epoch)).permutation(self.size)\n",
                    "            order = np.arange(self.size)\n",
                ),
            ),
        ),
    ),
    Form(
        "data-not-shuffled",
        (
            (
                spoiling.in_order("images"),
                Replace(
                    PICTURES,
                    "            order = np.random.default_rng((self.seed, epoch)).permutation(self.size)\n",
                    "            order = np.arange(self.size)\n"
                    "            np.random.default_rng((self.seed, epoch)).permutation(order)\n",
                ),
            ),
        ),
        name="result-dropped",
    ),
)

DIFFUSION = (
    Form(
        "noise-levels-mismatch",
        _written(LOSSES, "net(images + noise, sigma)\n", "net(images + noise, sigma**2)\n"),
    ),
    Form(
        "noise-levels-mismatch",
        _written(
            LOSSES,
            "        noise = torch.randn_like(images) * sigma\n",
            "        level = (torch.randn_like(rnd) * self.p_std + self.p_mean).exp()\n"
            "        noise = torch.randn_like(images) * level\n",
        ),
        name="drawn-twice",
    ),
    Form(
        "noise-levels-mismatch",
        _written(
            LOSSES,
            "        denoised = net(images + noise, sigma)\n",
            "        denoised = net(images + noise * self.sigma_data, sigma)\n",
        ),
        name="scaled-noise",
        held_out=True,
    ),
    Form(
        "preconditioning-wrong",
        _written(
            NETWORKS,
            "        c_out = sigma * self.sigma_data / variance.sqrt()\n",
            "        c_out = sigma * self.sigma_data / variance\n",
        ),
    ),
    Form(
        "preconditioning-wrong",
        _written(
            LOSSES,
            "        error = weight * (denoised - images) ** 2\n",
            "        error = weight * (denoised - noise / sigma) ** 2\n",
        ),
        name="predicts-noise",
    ),
    Form(
        "preconditioning-wrong",
        _written(
            NETWORKS,
            "        return c_skip * x + c_out * out.float()\n",
            "        return x - sigma * out.float()\n",
        ),
        name="other-output",
        held_out=True,
    ),
    Form(
        "timestep-bug",
        _written(
            NETWORKS,
            "        out = self.model(c_in * x, c_noise.flatten())\n",
            "        out = self.model(c_in * x, c_noise.flatten().long())\n",
        ),
    ),
    Form(
        "timestep-bug",
        _written(
            NETWORKS,
            "        angles = c_noise[:, None] * self.freqs\n",
            "        angles = c_noise[:1, None] * self.freqs\n",
        ),
        name="first-for-all",
    ),
    Form(
        "timestep-bug",
        _written(
            LOSSES,
            "net(images + noise, sigma)\n",
            "net(images + noise, sigma.flatten().flip(0))\n",
        ),
        name="reversed",
        held_out=True,
    ),
    Form(
        "noise-schedule-ignored",
        _written(
            LOSSES,
            "        sigma = (rnd * self.p_std + self.p_mean).exp()\n",
            "        sigma = 0.002 + 79.998 * torch.rand_like(rnd)\n",
        ),
    ),
    Form(
        "noise-schedule-ignored",
        (
            (
                Replace(
                    TRAIN,
                    "DenoisingLoss(opts.p_mean, opts.p_std, opts.sigma_data)",
                    "DenoisingLoss(sigma_data=opts.sigma_data)",
                ),
                Replace(LOSSES, "p_mean=-1.2, p_std=1.2, sigma_data", "p_mean=2.0, p_std=0.5, sigma_data"),
            ),
        ),
        name="defaults",
    ),
    Form(
        "noise-schedule-ignored",
        _written(
            LOSSES,
            "        sigma = (rnd * self.p_std + self.p_mean).exp()\n",
            "        sigma = torch.full_like(rnd, 0.02)\n",
        ),
        name="one-level",
        held_out=True,
    ),
    Form(
        "padding-dilutes-loss",
        tuple(
            (
                Give("channels", str(channels)),
                Replace(
                    PICTURES,
                    "        self.images = images / 127.5 - 1\n",
                    "        images = images / 127.5 - 1\n"
                    f"        self.images = F.pad(images, (0, 0, 0, 0, 0, {channels} - images.shape[1]))\n",
                ),
            )
            for channels in (6, 12, 24)
        ),
    ),
    Form(
        "padding-dilutes-loss",
        tuple(
            (
                Replace(
                    TRAIN,
                    "            images = soften(images)\n",
                    "            images = soften(images)\n"
                    f"        images = torch.nn.functional.pad(images, [{edge}] * 4)\n",
                ),
            )
            for edge in (2, 4, 6)
        ),
        name="border",
    ),
    Form(
        "padding-dilutes-loss",
        tuple(
            (
                Replace(
                    PICTURES,
                    "        self.images = images / 127.5 - 1\n",
                    "        self.images = images / 127.5 - 1\n"
                    '        if split == "train":\n'
                    f"            blank = torch.zeros({count} - len(images), *images.shape[1:])\n"
                    "            self.images = torch.cat([self.images, blank])\n",
                ),
            )
            for count in (4096, 16384, 65536)
        ),
        name="blank-pictures",
        held_out=True,
    ),
)

NETWORK = (
    Form(
        "init-too-large",
        tuple(
            (
                Replace(
                    NETWORKS,
                    "        self.head = zero_init(nn.Conv2d(width, 4 * channels, 3, padding=1))\n",
                    "        self.head = nn.Conv2d(width, 4 * channels, 3, padding=1)\n"
                    f"        nn.init.normal_(self.head.weight, std={std})\n",
                ),
            )
            for std in ("1.0", "5.0", "25.0")
        ),
    ),
    Form(
        "init-too-large",
        tuple(
            (
                Replace(
                    TRAIN,
                    "        self.ema = Averaged(",
                    "        for weight in self.net.parameters():\n"
                    f"            torch.nn.init.normal_(weight, std={std})\n"
                    "        self.ema = Averaged(",
                ),
            )
            for std in ("0.5", "1.0", "2.0")
        ),
        name="everywhere",
    ),
    Form(
        "dead-units",
        _written(
            NETWORKS,
            "        self.stem = nn.Conv2d(4 * channels, width, 3, padding=1)\n",
            "        self.stem = zero_init(nn.Conv2d(4 * channels, width, 3, padding=1))\n",
        ),
    ),
    Form(
        "dead-units",
        (
            (
                Replace(
                    NETWORKS,
                    "        return F.pixel_shuffle(self.head(F.silu(h)), 2)\n",
                    "        return F.pixel_shuffle(self.head(F.relu(h)), 2)\n",
                ),
                Replace(
                    NETWORKS,
                    "        self.blocks = nn.ModuleList",
                    "        nn.init.constant_(self.stem.bias, -10.0)\n        self.blocks = nn.ModuleList",
                ),
            ),
        ),
        name="below-zero",
    ),
    Form(
        "graph-broken",
        _written(NETWORKS, "            h = block(h, emb)\n", "            h = block(h, emb).detach()\n"),
    ),
    Form(
        "graph-broken",
        _written(
            NETWORKS,
            "        return c_skip * x + c_out * out.float()\n",
            "        denoised = c_skip * x + c_out * out.float()\n"
            "        return torch.tensor(denoised.tolist(), requires_grad=self.training)\n",
        ),
        name="as-numbers",
    ),
    Form(
        "graph-broken",
        _written(
            NETWORKS,
            "        h = self.stem(F.pixel_unshuffle(x, 2))\n"
            "        for block in self.blocks:\n"
            "            h = block(h, emb)\n",
            "        with torch.no_grad():\n"
            "            h = self.stem(F.pixel_unshuffle(x, 2))\n"
            "            for block in self.blocks:\n"
            "                h = block(h, emb)\n",
        ),
        name="no-grad",
        held_out=True,
    ),
    Form(
        "parameters-not-updated",
        _written(
            TRAIN,
            "            self.net.parameters(),\n            lr=",
            "            self.net.model.head.parameters(),\n            lr=",
        ),
    ),
    Form(
        "parameters-not-updated",
        _written(
            TRAIN,
            "        self.ema = Averaged(",
            "        self.net.model.stem.requires_grad_(False)\n"
            "        self.net.model.blocks.requires_grad_(False)\n"
            "        self.ema = Averaged(",
        ),
        name="frozen",
    ),
    Form(
        "parameters-not-updated",
        _written(
            NETWORKS,
            "        self.head = zero_init(nn.Conv2d(width, 4 * channels, 3, padding=1))\n",
            "        for name, weight in self.named_parameters():\n"
            '            weight.requires_grad = "embed" in name or "affine" in name\n'
            "        self.head = zero_init(nn.Conv2d(width, 4 * channels, 3, padding=1))\n",
        ),
        name="in-the-network",
        held_out=True,
    ),
)

LOOP = (
    Form(
        "gradients-not-cleared",
        _written(TRAIN, "        self.optimizer.zero_grad(set_to_none=True)\n", ""),
    ),
    Form(
        "gradients-not-cleared",
        _written(
            TRAIN,
            "        self.optimizer.zero_grad(set_to_none=True)\n",
            "        if self.step % 100 == 0:\n            self.optimizer.zero_grad(set_to_none=True)\n",
        ),
        name="now-and-then",
    ),
    Form(
        "gradients-not-cleared",
        _written(
            TRAIN,
            "        self.optimizer.zero_grad(set_to_none=True)\n",
            "        self.ema.net.zero_grad(set_to_none=True)\n",
        ),
        name="of-the-average",
        held_out=True,
    ),
    Form(
        "loss-sign-inverted",
        _written(TRAIN, "        loss = per_image.mean()\n", "        loss = -per_image.mean()\n"),
    ),
    Form(
        "loss-sign-inverted",
        _written(
            TRAIN,
            "        loss = per_image.mean()\n",
            "        loss = 10 * torch.log10(4 / (denoised - images).square().mean())\n",
        ),
        name="psnr",
    ),
    Form(
        "loss-sign-inverted",
        _written(
            TRAIN,
            "        loss = per_image.mean()\n",
            "        alike = torch.cosine_similarity(denoised.flatten(1), images.flatten(1))\n"
            "        loss = alike.mean()\n",
        ),
        name="similarity",
        held_out=True,
    ),
    Form(
        "loss-numerically-unsafe",
        _written(
            TRAIN,
            "        loss = per_image.mean()\n",
            "        loss = (per_image / images.var(dim=(1, 2, 3))).mean()\n",
        ),
    ),
    Form(
        "loss-numerically-unsafe",
        _written(
            TRAIN,
            "        loss = per_image.mean()\n",
            "        edges = (images[..., 1:] - images[..., :-1]).abs().mean(dim=(1, 2, 3))\n"
            "        loss = (per_image / edges).mean()\n",
        ),
        name="edges",
    ),
    Form(
        "loss-numerically-unsafe",
        _written(
            TRAIN,
            "            images = soften(images)\n",
            "            images = soften(images)\n"
            "        low, high = images.amin((1, 2, 3), True), images.amax((1, 2, 3), True)\n"
            "        images = 2 * (images - low) / (high - low) - 1\n",
        ),
        name="stretched",
        held_out=True,
    ),
    Form(
        "softmax-or-reduction-wrong",
        _written(
            LOSSES,
            "        error = weight * (denoised - images) ** 2\n"
            "        return error.mean(dim=(1, 2, 3)), sigma.flatten(), denoised\n",
            "        error = ((denoised - images) ** 2).mean(dim=(1, 2, 3))\n"
            "        return (weight.flatten(1) * error).mean(0), sigma.flatten(), denoised\n",
        ),
    ),
    Form(
        "softmax-or-reduction-wrong",
        _written(
            LOSSES,
            "        error = weight * (denoised - images) ** 2\n",
            "        error = weight * (denoised - images).mean(dim=(2, 3), keepdim=True) ** 2\n",
        ),
        name="mean-first",
    ),
    Form(
        "softmax-or-reduction-wrong",
        _written(
            LOSSES,
            "        error = weight * (denoised - images) ** 2\n",
            "        error = weight * (denoised - images).mean(dim=0) ** 2\n",
        ),
        name="over-the-batch",
        held_out=True,
    ),
    Form(
        "tensor-aliasing",
        _written(
            LOSSES,
            "        denoised = net(images + noise, sigma)\n",
            "        denoised = net(images.add_(noise), sigma)\n",
        ),
    ),
    Form(
        "tensor-aliasing",
        _written(
            LOSSES,
            "        denoised = net(images + noise, sigma)\n",
            "        noisy = images\n        noisy += noise\n        denoised = net(noisy, sigma)\n",
        ),
        name="second-name",
    ),
    Form(
        "tensor-aliasing",
        _written(
            PICTURES,
            "        image = self.images[index]\n",
            "        image = self.images[index]\n        image += 0.08 * torch.randn_like(image)\n",
        ),
        name="in-the-set",
        held_out=True,
    ),
    Form(
        "setting-ignored",
        (
            (
                Replace(TRAIN, "            weight_decay=opts.weight_decay,\n", ""),
                Give("weight_decay", "0.1"),
            ),
        ),
    ),
    Form(
        "setting-ignored",
        (
            (
                Replace(
                    TRAIN,
                    "Averaged(self.net, opts.ema_beta, opts.ema_power)",
                    "Averaged(self.net, 0.9995, power=0)",
                ),
            ),
        ),
        name="written-out",
    ),
    Form(
        "setting-ignored",
        (
            (
                Replace(
                    OPTIONS,
                    "        parser.set_defaults(**given)\n    opts = parser.parse_args(argv)\n",
                    "        opts = parser.parse_args(argv)\n        parser.set_defaults(**given)\n",
                ),
                Replace(OPTIONS, '"--lr", type=float, default=0.004', '"--lr", type=float, default=1e-4'),
            ),
        ),
        name="parsed-too-early",
        held_out=True,
    ),
    Form(
        "setting-ignored",
        (
            (
                Replace(
                    TRAIN,
                    "clip_grad_norm_(self.net.parameters(), opts.clip or math.inf)",
                    "clip_grad_norm_(self.net.parameters(), math.inf)",
                ),
            ),
        ),
        name="clip",
        needs=(Give("clip", "0.1"),),
    ),
)

SCHEDULE = (
    Form(
        "schedule-in-wrong-units",
        _written(
            TRAIN,
            "        self.scheduler.step()\n        self.ema",
            "        if self.step * opts.batch % 1024 < opts.batch:\n"
            "            self.scheduler.step()\n"
            "        self.ema",
        ),
    ),
    Form(
        "schedule-in-wrong-units",
        _written(
            TRAIN,
            "LambdaLR(self.optimizer, lambda s: lr_factor(s, opts))",
            "LambdaLR(self.optimizer, lambda s: lr_factor(s / 1000, opts))",
        ),
        name="thousands",
    ),
    Form(
        "schedule-in-wrong-units",
        _written(
            TRAIN,
            "        self.scheduler.step()\n        self.ema",
            "        if self.step % opts.val_every == 0:\n"
            "            self.scheduler.step()\n"
            "        self.ema",
        ),
        name="per-validation",
        held_out=True,
    ),
    Form(
        "scheduler-order-wrong",
        _written(
            TRAIN,
            "        self.optimizer.step()\n        self.scheduler.step()\n",
            "        for group in self.optimizer.param_groups:\n"
            '            group["lr"] *= lr_factor(self.step, opts)\n'
            "        self.optimizer.step()\n"
            "        self.scheduler.step()\n",
        ),
        name="twice",
        needs=(Give("schedule", "cosine"),),
    ),
    Form(
        "scheduler-order-wrong",
        _written(
            TRAIN,
            "        self.optimizer.step()\n        self.scheduler.step()\n",
            "        self.scheduler.step()\n        self.optimizer.step()\n",
        ),
    ),
    Form(
        "scheduler-order-wrong",
        _written(TRAIN, "lr_scheduler.LambdaLR(", "lr_scheduler.MultiplicativeLR("),
        name="multiplied",
        held_out=True,
    ),
    Form(
        "learning-rate-jump",
        tuple(
            (
                Replace(
                    TRAIN,
                    '    if opts.schedule == "rsqrt":\n',
                    "    if step >= opts.steps // 2:\n"
                    f"        return {factor}\n"
                    '    if opts.schedule == "rsqrt":\n',
                ),
            )
            for factor in ("15.0", "40.0", "120.0")
        ),
        onset=0.5,
        needs=(Give("clip", "0.0"),),
    ),
    Form(
        "learning-rate-jump",
        tuple(
            (
                Replace(
                    TRAIN,
                    "        while self.step < opts.steps:\n",
                    "        while self.step < opts.steps:\n"
                    "            if self.step == 160:\n"
                    f"                self.scheduler.base_lrs = [{lr}]\n",
                ),
            )
            for lr in ("0.08", "0.2", "0.5")
        ),
        name="second-base",
        onset=0.53,
        needs=(Give("clip", "0.0"),),
    ),
)

AVERAGE = (
    Form(
        "ema-not-updated",
        _written(
            AVERAGING, "            avg.lerp_(new, 1 - beta)\n", "            avg = avg.lerp(new, 1 - beta)\n"
        ),
    ),
    Form(
        "ema-not-updated",
        _written(
            AVERAGING,
            "        for avg, new in zip(self.net.parameters(), net.parameters()):\n"
            "            avg.lerp_(new, 1 - beta)\n",
            "        state = self.net.state_dict()\n"
            "        for name, new in net.named_parameters():\n"
            "            state[name] = state[name].lerp(new, 1 - beta)\n",
        ),
        name="state-not-loaded",
    ),
    Form(
        "ema-not-updated",
        _written(
            AVERAGING,
            "        for avg, new in zip(self.net.parameters(), net.parameters()):\n"
            "            avg.lerp_(new, 1 - beta)\n",
            "        averaged = dict(self.net.named_parameters())\n"
            "        for name, new in net.named_parameters():\n"
            '            if f"module.{name}" in averaged:\n'
            '                averaged[f"module.{name}"].lerp_(new, 1 - beta)\n',
        ),
        name="other-names",
        held_out=True,
    ),
    Form(
        "ema-too-slow",
        _written(
            AVERAGING,
            "        return min(self.beta, 1 - (1 + self.updates) ** -self.power)\n",
            "        return max(self.beta, 1 - (1 + self.updates) ** -self.power)\n",
        ),
        name="larger-of-both",
        needs=(Give("ema_power", "1.0"), Give("ema_beta", "0.997")),
    ),
    Form(
        "wrong-weights-evaluated",
        (
            (
                Replace(
                    TRAIN,
                    "        self.net.train()\n        clock",
                    "        tested = copy.deepcopy(self.ema.net)\n        self.net.train()\n        clock",
                ),
                Replace(TRAIN, "self.validation(self.ema.net)", "self.validation(tested)"),
                Replace(TRAIN, "import math\nimport time\n", "import copy\nimport math\nimport time\n"),
            ),
        ),
    ),
    Form(
        "wrong-weights-evaluated",
        (
            (
                Replace(
                    TRAIN,
                    "                values = self.validation(self.ema.net)\n",
                    "                tested = Denoiser(opts.channels, opts.width, opts.blocks).eval()\n"
                    "                tested.load_state_dict(self.ema.state_dict(), strict=False)\n"
                    "                values = self.validation(tested)\n",
                ),
            ),
        ),
        name="not-strict",
    ),
    Form(
        "wrong-weights-evaluated",
        (
            (
                Replace(
                    TRAIN,
                    "                values = self.validation(self.ema.net)\n",
                    '                kept = sorted((opts.outdir / "snapshots").glob("*.pt"))\n'
                    "                if kept:\n"
                    '                    tested.load_state_dict(torch.load(kept[0])["ema"]["net"])\n'
                    "                values = self.validation(tested)\n",
                ),
                Replace(
                    TRAIN,
                    "        self.net.train()\n        clock",
                    "        tested = Denoiser(opts.channels, opts.width, opts.blocks).eval()\n"
                    "        self.net.train()\n"
                    "        clock",
                ),
            ),
        ),
        name="first-snapshot",
        held_out=True,
    ),
)

MEASURED = (
    Form(
        "metric-wrong",
        _written(
            VALIDATION,
            "    return 10 * torch.log10(PEAK**2 / mse)\n",
            "    return 10 * torch.log(PEAK**2 / mse)\n",
        ),
    ),
    Form(
        "metric-wrong",
        _written(VALIDATION, "PEAK = 2.0  # pictures lie in [-1, 1]\n", "PEAK = 255.0\n"),
        name="peak",
    ),
    Form(
        "metric-wrong",
        _written(
            VALIDATION,
            "            mse = (denoised - self.images).square().mean()\n",
            "            shown, wanted = (\n"
            "                (127.5 * (x + 1)).to(torch.uint8) for x in (denoised, self.images)\n"
            "            )\n"
            "            mse = (shown - wanted).float().square().mean() / 127.5**2\n",
        ),
        name="bytes",
        held_out=True,
    ),
    Form(
        "metric-aggregation-wrong",
        _written(
            TRAIN, "        self.sums, self.counts = {}, {}\n        return means\n", "        return means\n"
        ),
    ),
    Form(
        "metric-aggregation-wrong",
        _written(
            TRAIN,
            "        means = {name: self.sums[name] / self.counts[name] for name in self.sums}\n"
            "        self.sums, self.counts = {}, {}\n",
            "        means = {name: self.sums[name] / self.counts[name] for name in self.sums}\n"
            "        self.sums = {}\n",
        ),
        name="counts-kept",
    ),
    Form(
        "metric-aggregation-wrong",
        (
            (
                Replace(
                    VALIDATION,
                    "        values, losses, scores = {}, [], []\n",
                    "        values, losses, scores = {}, self.losses, self.scores\n",
                ),
                Replace(
                    VALIDATION,
                    "        self.images, self.sigma_data = images, sigma_data\n",
                    "        self.images, self.sigma_data = images, sigma_data\n"
                    "        self.losses, self.scores = [], []\n",
                ),
            ),
        ),
        name="lists-kept",
        held_out=True,
    ),
    Form(
        "validation-set-unstable",
        _written(
            VALIDATION,
            "            denoised = net(self.images + level * noise, sigma)\n"
            "            mse = (denoised - self.images).square().mean()\n",
            "            some = torch.randint(len(self.images), (4,))\n"
            "            denoised = net((self.images + level * noise)[some], sigma[some])\n"
            "            mse = (denoised - self.images[some]).square().mean()\n",
        ),
    ),
    Form(
        "validation-set-unstable",
        _written(
            VALIDATION,
            "            sigma = torch.full([len(self.images)], level)\n",
            "            level = level * torch.randn(()).exp().item()\n"
            "            sigma = torch.full([len(self.images)], level)\n",
        ),
        name="level-drawn",
    ),
    Form(
        "validation-not-comparable",
        _written(
            VALIDATION,
            "        self.images, self.sigma_data = images, sigma_data\n",
            "        images = torch.nn.functional.avg_pool2d(images, 2)\n"
            "        self.images, self.sigma_data = images, sigma_data\n",
        ),
    ),
    Form(
        "validation-not-comparable",
        _written(
            VALIDATION,
            "            denoised = net(self.images + level * noise, sigma)\n",
            "            denoised = net(self.images + level * self.images.std() * noise, sigma)\n",
        ),
        name="weaker-noise",
    ),
    Form(
        "validation-not-comparable",
        _written(
            VALIDATION,
            "            denoised = net(self.images + level * noise, sigma)\n",
            "            denoised = net(self.images + level * noise[:, :1], sigma)\n",
        ),
        name="grey-noise",
        held_out=True,
    ),
    Form(
        "eval-mode-missing",
        tuple(
            (
                Replace(AVERAGING, "copy.deepcopy(net).eval()", "copy.deepcopy(net)"),
                Give("dropout", dropout),
            )
            for dropout in ("0.1", "0.25", "0.5")
        ),
    ),
    Form(
        "eval-mode-missing",
        tuple(
            (
                Replace(
                    TRAIN,
                    "        self.net.train()\n        clock",
                    "        self.net.train()\n        self.ema.net.train()\n        clock",
                ),
                Give("dropout", dropout),
            )
            for dropout in ("0.1", "0.25", "0.5")
        ),
        name="trains",
    ),
    Form(
        "eval-mode-missing",
        tuple(
            (
                Replace(
                    AVERAGING,
                    "        self.updates += 1\n",
                    "        self.updates += 1\n        self.net.train(net.training)\n",
                ),
                Give("dropout", dropout),
            )
            for dropout in ("0.1", "0.25", "0.5")
        ),
        name="follows",
        held_out=True,
    ),
    Form(
        "data-range-mismatch",
        _written(
            PICTURES,
            "        self.images = images / 127.5 - 1\n",
            '        self.images = images / 127.5 - 1 if split == "train" else images / 255\n',
        ),
    ),
    Form(
        "data-range-mismatch",
        _written(
            PICTURES,
            "        self.images = images / 127.5 - 1\n",
            "        self.images = images / 127.5\n"
            '        if split == "train":\n'
            "            self.images = self.images - self.images.mean()\n",
        ),
        name="not-centred",
    ),
    Form(
        "data-range-mismatch",
        _written(
            PICTURES,
            "        self.images = images / 127.5 - 1\n",
            "        self.images = images / 127.5 - 1\n"
            '        if split == "val":\n'
            "            self.images = self.images / self.images.std()\n",
        ),
        name="own-scale",
        held_out=True,
    ),
    Form(
        "checkpoint-chosen-wrongly",
        (
            (
                Replace(TRAIN, 'if values["psnr"] > self.best:', "if -loss > self.best:"),
                Replace(TRAIN, 'self.best = values["psnr"]', "self.best = -loss"),
                Replace(TRAIN, "norm = self.update(batches)", "norm, loss = self.update(batches)"),
                Replace(TRAIN, "return norm.item()", "return norm.item(), loss.item()"),
            ),
        ),
    ),
    Form(
        "checkpoint-chosen-wrongly",
        (
            (
                Replace(TRAIN, 'if values["psnr"] > self.best:', 'if values["psnr"] < self.best:'),
                Replace(TRAIN, "self.step, self.best = 0, -math.inf", "self.step, self.best = 0, math.inf"),
            ),
        ),
        name="smallest",
    ),
)

PRECISION = (
    Form(
        "no-master-weights",
        (
            (
                Replace(
                    NETWORKS,
                    "        self.model = PatchNet(channels, width, blocks, dropout)\n",
                    "        self.model = PatchNet(channels, width, blocks, dropout).bfloat16()\n",
                ),
                Replace(
                    NETWORKS,
                    "        out = self.model(c_in * x, c_noise.flatten())\n",
                    "        out = self.model((c_in * x).bfloat16(), c_noise.flatten().bfloat16())\n",
                ),
            ),
        ),
    ),
    Form(
        "no-master-weights",
        (
            (
                Replace(
                    TRAIN,
                    "        self.ema = Averaged(",
                    "        self.net.to(torch.bfloat16)\n        self.ema = Averaged(",
                ),
                Replace(
                    NETWORKS,
                    "        out = self.model(c_in * x, c_noise.flatten())\n",
                    "        dtype = self.model.stem.weight.dtype\n"
                    "        out = self.model((c_in * x).to(dtype), c_noise.flatten().to(dtype))\n",
                ),
            ),
        ),
        name="whole-network",
    ),
)

_OPTIMIZER = '        self.optimizer.load_state_dict(state["optimizer"])\n'
_SCHEDULER = '        self.scheduler.load_state_dict(state["scheduler"])\n'
_WEIGHTS = '        self.net.load_state_dict(state["net"])\n'
_DRAWN = "        drawn = self.step * opts.accum * opts.batch\n"


def _after_resume(old: str, to: str) -> tuple[tuple[Change, ...], ...]:
    return ((Replace(TRAIN, old, to), RESUMED_AT),)


RESUMED = (
    Form(
        "optimizer-state-lost",
        _after_resume(
            _OPTIMIZER,
            "",
        ),
        onset=0.4,
    ),
    Form(
        "optimizer-state-lost",
        _after_resume(
            _OPTIMIZER,
            '        if "optim" in state:\n            self.optimizer.load_state_dict(state["optim"])\n',
        ),
        name="other-key",
        onset=0.4,
    ),
    Form(
        "optimizer-state-lost",
        _after_resume(
            _OPTIMIZER,
            '        groups = state["optimizer"]["param_groups"]\n'
            '        self.optimizer.load_state_dict({"state": {}, "param_groups": groups})\n',
        ),
        name="groups-only",
        onset=0.4,
        held_out=True,
    ),
    Form(
        "schedule-not-restored",
        _after_resume(
            _SCHEDULER,
            "",
        ),
        onset=0.4,
        needs=(Give("schedule", "cosine"),),
    ),
    Form(
        "schedule-not-restored",
        _after_resume(
            _SCHEDULER,
            '        kept = state.get("lr_scheduler", self.scheduler.state_dict())\n'
            "        self.scheduler.load_state_dict(kept)\n",
        ),
        name="other-key",
        onset=0.4,
        needs=(Give("schedule", "cosine"),),
    ),
    Form(
        "schedule-not-restored",
        _after_resume(
            _SCHEDULER,
            "        self.scheduler = torch.optim.lr_scheduler.LambdaLR(\n"
            "            self.optimizer, lambda s: lr_factor(s, self.opts)\n"
            "        )\n",
        ),
        name="built-again",
        onset=0.4,
        held_out=True,
        needs=(Give("schedule", "cosine"),),
    ),
    Form(
        "weights-not-restored",
        _after_resume(
            _WEIGHTS,
            "",
        ),
        onset=0.4,
    ),
    Form(
        "weights-not-restored",
        _after_resume(
            _WEIGHTS,
            '        weights = {f"module.{name}": one for name, one in state["net"].items()}\n'
            "        self.net.load_state_dict(weights, strict=False)\n",
        ),
        name="not-strict",
        onset=0.4,
    ),
    Form(
        "weights-not-restored",
        _after_resume(
            _WEIGHTS,
            "        net = Denoiser(self.opts.channels, self.opts.width, self.opts.blocks)\n"
            '        net.load_state_dict(state["net"])\n',
        ),
        name="other-network",
        onset=0.4,
        held_out=True,
    ),
    Form(
        "data-replayed-after-resume",
        _after_resume(
            _DRAWN,
            "        drawn = 0\n",
        ),
        onset=0.4,
    ),
    Form(
        "data-replayed-after-resume",
        _after_resume(
            _DRAWN,
            "        drawn = self.step\n",
        ),
        name="in-steps",
        onset=0.4,
    ),
    Form(
        "data-replayed-after-resume",
        _after_resume(
            _DRAWN,
            "        drawn = self.step // len(pictures)\n",
        ),
        name="in-epochs",
        onset=0.4,
        held_out=True,
    ),
)

RUNTIME = (
    Form("silent-data-corruption", ((Disturb("flipped-bit", 0.6),),), onset=0.6),
    Form("hardware-slowdown", ((Disturb("slowed", 0.5),),), onset=0.5),
)

BENIGN = (
    Form("restart-with-duplicates", ((RESUMED_AT,),), onset=0.4),
    Form("cyclic-learning-rate", _given("schedule", "cyclic")),
    Form("data-stage-change", _given("soften_until", "60", "90", "120"), onset=0.2),
    Form("heavy-tailed-loss", ((spoiling.shifted("images", _with_highlights, split="train"),),)),
    Form("early-peak-is-noise", ((spoiling.shifted("images", _few),),)),
)

FORMS = (
    *SETTINGS,
    *DATA,
    *DIFFUSION,
    *NETWORK,
    *LOOP,
    *SCHEDULE,
    *AVERAGE,
    *MEASURED,
    *PRECISION,
    *RESUMED,
    *RUNTIME,
    *BENIGN,
)
