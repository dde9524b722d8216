"""What can be wrong with sharpen, and what can only look so.

A fault of the source is written in three ways where that is possible, one of them held out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stethoscope.clinic.faultbench import spoiling
from stethoscope.clinic.faultbench.task import Change, Disturb, Form, Give, Interrupt, Replace, Scale

TRAIN, MODEL, ARCH = "train.py", "models/sr_model.py", "archs/sharpen_arch.py"
LOSS, BALANCE = "losses/restoration_loss.py", "losses/balance.py"
DATASET, METRIC = "datasets/paired_dataset.py", "metrics/psnr_ssim.py"

LR, EMA = "train.optim_g.lr", "train.ema_decay"
FIXED = Give("train.balance.dynamic", "false")
MOVING = Give("train.balance.dynamic", "true")
MULTISTEP = Give("train.scheduler.type", "MultiStepLR")
COSINE = Give("train.scheduler.type", "CosineAnnealingLR")
PLAIN_ADAM = Give("train.optim_g.type", "Adam")
L1 = Give("train.pixel_opt.type", "L1Loss")
UNCLIPPED = Give("train.clip_grad_norm", "0.0")
SHOWN = Give("logger.log_parts", "true")
STRUCTURE = Give("train.ssim_opt.loss_weight", "0.1")
RESUMED = Interrupt(0.55, ("--resume", "latest"))


def _source(
    operator: str,
    *changes: Change,
    name: str = "",
    held_out: bool = False,
    onset: float = 0.0,
    needs: tuple[Give, ...] = (),
) -> Form:
    """A form with one level."""
    return Form(operator, (changes,), name, onset, held_out, needs)


def _given(
    operator: str,
    key: str,
    *values: str,
    name: str = "",
    onset: float = 0.0,
    needs: tuple[Give, ...] = (),
) -> Form:
    """A setting with a wrong value, from mild to severe."""
    return Form(operator, tuple((Give(key, value),) for value in values), name, onset, needs=needs)


# --- settings -----------------------------------------------------------------------------------------

SETTINGS = (
    Form(
        "learning-rate-too-high",
        tuple((Scale(LR, factor),) for factor in (10.0, 40.0, 160.0)),
        needs=(UNCLIPPED,),
    ),
    Form("learning-rate-too-low", tuple((Scale(LR, factor),) for factor in (0.02, 0.005, 0.0005))),
    _given(
        "weight-decay-wrong",
        "train.optim_g.weight_decay",
        "0.03",
        "0.1",
        "1.0",
        needs=(PLAIN_ADAM, UNCLIPPED),
    ),
    _given("schedule-longer-than-run", "train.warmup_iter", "1500", "6000", "40000"),
    _given(
        "schedule-longer-than-run",
        "train.scheduler.t_max",
        "1200",
        "36000",
        name="decay",
        needs=(COSINE, Give(LR, "0.02"), Give(EMA, "0.9")),
    ),
    Form(
        "learning-rate-not-decayed",
        tuple((Give("train.scheduler.gamma", "1.0"), Give(LR, rate)) for rate in ("0.015", "0.025", "0.04")),
        needs=(MULTISTEP, UNCLIPPED, Give(EMA, "0.9")),
    ),
    _given("ema-too-slow", EMA, "0.995", "0.999", "0.9999"),
    _given("optimizer-eps-underflow", "train.optim_g.eps", "1.0e-1", "1.0", "1.0e+1"),
    _given("loss-terms-unbalanced", "train.edge_opt.loss_weight", "30.0", "300.0", "3000.0", needs=(FIXED,)),
    _given(
        "loss-terms-unbalanced",
        "train.ssim_opt.loss_weight",
        "10.0",
        "100.0",
        "1000.0",
        name="structure",
        needs=(FIXED,),
    ),
    _given(
        "objective-metric-mismatch", "train.texture_opt.loss_weight", "1.0", "3.0", "10.0", needs=(FIXED,)
    ),
    _given(
        "objective-metric-mismatch",
        "train.pixel_opt.loss_weight",
        "0.03",
        "0.001",
        name="pixels-forgotten",
        needs=(FIXED, Give("train.texture_opt.loss_weight", "0.3")),
    ),
    _given("batch-too-small", "datasets.train.batch_size", "2", "1"),
    Form(
        "overfitting",
        tuple(
            (
                Give("datasets.train.use_first", count),
                Give("datasets.train.use_flip", "false"),
                Give("network_g.num_feat", "24"),
            )
            for count in ("8", "4", "2")
        ),
        needs=(Give("datasets.train.use_rot", "false"), Give("datasets.train.batch_size", "2")),
    ),
    Form(
        "curriculum-too-fast",
        tuple(
            (Give("datasets.train.noise_sigma", sigma), Give("datasets.train.noise_ramp_iter", "20"))
            for sigma in ("15.0", "40.0", "100.0")
        ),
    ),
)

# --- data ---------------------------------------------------------------------------------------------

Many = Callable[[np.ndarray], np.ndarray]


def _blank(share: float) -> Many:
    """This share of the pictures is black."""

    def change(pictures: np.ndarray) -> np.ndarray:
        kept = pictures.copy()
        kept[np.arange(len(kept)) % 100 < 100 * share] = 0
        return kept

    return change


def _noisy(sigma: float) -> Many:
    """Pictures from a worse camera."""

    def change(pictures: np.ndarray) -> np.ndarray:
        noise = np.random.default_rng(7).normal(0, sigma, pictures.shape)
        return np.asarray((pictures + noise).clip(0, 255).round().astype(np.uint8))

    return change


def _grainy(scale: int) -> Many:
    """A few pictures are grain, which nobody could enlarge; at either size it is the same grain."""

    def change(pictures: np.ndarray) -> np.ndarray:
        rare = np.arange(0, len(pictures), 40)
        high, wide = pictures.shape[1] * 2 // scale, pictures.shape[2] * 2 // scale
        grain = np.random.default_rng(8).integers(40, 216, (len(rare), high, wide))
        if scale == 1:
            grain = grain.reshape(len(rare), high // 2, 2, wide // 2, 2).mean((2, 4)).round()
        kept = pictures.copy()
        kept[rare] = grain.astype(np.uint8)
        return kept

    return change


SORTED = spoiling.in_order("kind")

DATA = (
    Form("labels-wrong", tuple((spoiling.wrong("gt", share),) for share in (0.2, 0.5, 1.0))),
    Form(
        "corrupt-batch",
        tuple(
            (spoiling.not_finite("gt", count, value),) for count, value in ((2, 3e5), (6, 3e6), (1, np.nan))
        ),
        needs=(UNCLIPPED,),
    ),
    Form(
        "corrupt-batch",
        tuple((spoiling.not_finite("lq", count, value),) for count, value in ((2, 1e5), (1, np.inf))),
        name="input",
        needs=(UNCLIPPED,),
    ),
    Form("data-repeats", tuple((spoiling.repeated(count),) for count in (6, 2, 1))),
    Form(
        "degenerate-batch",
        tuple(
            (spoiling.shifted("lq", _blank(share), "train"), spoiling.shifted("gt", _blank(share), "train"))
            for share in (0.8, 0.95, 0.99)
        ),
    ),
    Form(
        "validation-leak",
        ((spoiling.leaked(0.5),), (spoiling.leaked(1.0), Give("datasets.train.use_first", "32"))),
    ),
    Form(
        "data-shift",
        tuple((spoiling.shifted("lq", _noisy(sigma)),) for sigma in (10.0, 25.0, 60.0)),
    ),
    Form(
        "data-shift",
        tuple((spoiling.shifted("lq", _noisy(sigma), "train"),) for sigma in (10.0, 25.0, 60.0)),
        name="in-training",
    ),
)

# --- source: the network ------------------------------------------------------------------------------

NETWORK = (
    _source(
        "graph-broken",
        Replace(
            ARCH,
            "        feat = self.body(feat) + feat\n",
            "        feat = (self.body(feat) + feat).detach()\n",
        ),
    ),
    _source(
        "graph-broken",
        Replace(
            ARCH,
            "        feat = self.conv_first(lq)\n        feat = self.body(feat) + feat\n",
            "        with torch.no_grad():\n"
            "            feat = self.conv_first(lq)\n"
            "            feat = self.body(feat) + feat\n",
        ),
        Replace(ARCH, "import torch.nn.functional as F\n", "import torch\nimport torch.nn.functional as F\n"),
        name="no-grad",
    ),
    _source(
        "graph-broken",
        Replace(
            ARCH,
            "        detail = self.shuffle(self.conv_last(feat))\n",
            "        detail = self.shuffle(self.conv_last(feat.data))\n",
        ),
        name="data",
        held_out=True,
    ),
    _source(
        "parameters-not-updated",
        Replace(
            MODEL,
            "for param in self.net_g.parameters() if param.requires_grad]",
            "for param in self.net_g.conv_last.parameters() if param.requires_grad]",
        ),
    ),
    _source(
        "parameters-not-updated",
        Replace(
            MODEL,
            "        optim_opt = self.opt",
            "        for param in [*self.net_g.conv_first.parameters(), *self.net_g.body.parameters()]:\n"
            "            param.requires_grad_(False)\n"
            "        optim_opt = self.opt",
        ),
        name="frozen",
    ),
    _source(
        "parameters-not-updated",
        Replace(
            MODEL,
            "        self.setup_schedulers()\n        self.net_g.train()\n",
            "        self.setup_schedulers()\n"
            "        self.net_g = copy.deepcopy(self.net_g)\n"
            "        self.net_g.train()\n",
        ),
        name="copied",
        held_out=True,
    ),
    _source(
        "dead-units",
        Replace(
            ARCH,
            "                nn.init.kaiming_normal_(module.weight, a=0.1)\n",
            "                nn.init.zeros_(module.weight)\n",
        ),
    ),
    _source(
        "dead-units",
        Replace(ARCH, "nn.LeakyReLU(0.1, inplace=True)", "nn.ReLU(inplace=True)"),
        Replace(
            ARCH,
            "        return x + out * self.res_scale\n",
            "        return self.act(x + out * self.res_scale)\n",
        ),
        Replace(
            ARCH,
            "                nn.init.zeros_(module.bias)\n",
            "                nn.init.constant_(module.bias, -1.0)\n",
        ),
        name="bias",
    ),
    _source(
        "dead-units",
        Replace(
            ARCH,
            "                nn.init.kaiming_normal_(module.weight, a=0.1)\n",
            "                nn.init.constant_(module.weight, 0.02)\n",
        ),
        name="all-alike",
        held_out=True,
    ),
    _source(
        "vanishing-gradients",
        Replace(ARCH, "nn.LeakyReLU(0.1, inplace=True)", "nn.Sigmoid()"),
        Replace(ARCH, "        return x + out * self.res_scale\n", "        return self.act(out)\n"),
        Replace(ARCH, "self.body(feat) + feat", "self.body(feat)"),
        needs=(Give("network_g.num_block", "6"),),
    ),
    _source(
        "vanishing-gradients",
        Replace(ARCH, "        return x + out * self.res_scale\n", "        return out * self.res_scale\n"),
        Replace(ARCH, "self.body(feat) + feat", "self.body(feat)"),
        name="no-shortcut",
        needs=(Give("network_g.num_block", "6"),),
    ),
    Form(
        "init-too-large",
        tuple(
            (Replace(ARCH, "init_weights(self, scale=0.1)", f"init_weights(self, scale={scale})"),)
            for scale in ("2.0", "4.0", "10.0")
        ),
    ),
    Form(
        "init-too-large",
        tuple(
            (Replace(ARCH, "kaiming_normal_(module.weight, a=0.1)", f"normal_(module.weight, std={std})"),)
            for std in ("0.5", "1.0", "3.0")
        ),
        name="normal",
    ),
    Form(
        "init-too-large",
        tuple(
            (
                Replace(
                    ARCH,
                    "        self.conv_last.weight.data.mul_(scale)\n",
                    f"        nn.init.uniform_(self.conv_last.weight, -{limit}, {limit})\n",
                ),
            )
            for limit in ("1.0", "3.0", "10.0")
        ),
        name="uniform",
        held_out=True,
    ),
    _source(
        "no-master-weights",
        Replace(
            MODEL,
            '        self.best = {"psnr": 0.0, "iter": 0}\n',
            '        self.net_g.bfloat16()\n        self.best = {"psnr": 0.0, "iter": 0}\n',
        ),
        Replace(
            MODEL,
            "            self.output = self.net_g(self.lq)\n",
            "            self.output = self.net_g(self.lq.bfloat16())\n",
        ),
        Replace(
            MODEL, "        return self.net_g_ema(lq)\n", "        return self.net_g_ema(lq.bfloat16())\n"
        ),
    ),
    _source(
        "tensor-aliasing",
        Replace(
            ARCH,
            "nn.Sequential(*[ResidualBlock(num_feat, res_scale) for _ in range(num_block)])",
            "nn.Sequential(*[ResidualBlock(num_feat, res_scale)] * num_block)",
        ),
        name="blocks",
    ),
)

# --- source: the losses -------------------------------------------------------------------------------

SIMILARITY = "        return 1 - (luminance * structure).mean()\n"
SLOPES = "        return (dx_p - dx_t).abs().mean() + (dy_p - dy_t).abs().mean()\n"
TOTAL = "        l_total = sum(losses.values())\n"
MOVED = "            moved = self.weights[name] + self.rate * (target - self.weights[name])\n"

LOSSES = (
    _source(
        "loss-sign-inverted",
        Replace(LOSS, SIMILARITY, "        return (luminance * structure).mean()\n"),
        needs=(STRUCTURE, FIXED),
    ),
    _source(
        "loss-sign-inverted",
        Replace(MODEL, TOTAL, '        l_total = losses["l_pix"] + losses["l_edge"] - losses["l_ssim"]\n'),
        name="subtracted",
        needs=(STRUCTURE, FIXED),
    ),
    _source(
        "loss-sign-inverted",
        Replace(LOSS, SLOPES, "        return (dx_p * dx_t).mean() + (dy_p * dy_t).mean()\n"),
        Give("train.edge_opt.loss_weight", "4.0"),
        name="edges",
        held_out=True,
        needs=(FIXED,),
    ),
    Form(
        "loss-weight-controller-unstable",
        tuple(
            (
                Replace(
                    BALANCE,
                    MOVED,
                    "            ratio = self.weights[name] * term / (self.share * pixel)\n"
                    "            moved = self.weights[name] * (1 + self.rate * (ratio - 1))\n",
                ),
                Replace(BALANCE, "            target = self.share * pixel / max(term, 1e-6)\n", ""),
                Give("train.balance.max_weight", limit),
            )
            for limit in ("20.0", "200.0", "2000.0")
        ),
        needs=(MOVING, STRUCTURE),
    ),
    Form(
        "loss-weight-controller-unstable",
        tuple(
            (Give("train.balance.rate", rate), Give("train.balance.max_weight", limit))
            for rate, limit in (("2.2", "20.0"), ("2.5", "200.0"), ("4.0", "2000.0"))
        ),
        name="rate",
        needs=(MOVING,),
    ),
    Form(
        "loss-weight-controller-unstable",
        tuple(
            (
                Replace(
                    BALANCE,
                    "            target = self.share * pixel / max(term, 1e-6)\n" + MOVED,
                    "            worse = term >= self.last.get(name, term)\n"
                    "            factor = 1 + self.rate if worse else 1 - self.rate / 2\n"
                    "            moved = self.weights[name] * factor\n"
                    "            self.last[name] = term\n",
                ),
                Replace(
                    BALANCE,
                    "        self.dynamic = dynamic\n",
                    "        self.dynamic = dynamic\n        self.last = {}\n",
                ),
                Give("train.balance.rate", rate),
                Give("train.balance.max_weight", "2000.0"),
            )
            for rate in ("0.2", "0.5")
        ),
        name="by-progress",
        held_out=True,
        needs=(MOVING,),
    ),
    _source(
        "softmax-or-reduction-wrong",
        Replace(LOSS, SLOPES, "        return (dx_p - dx_t).abs().sum() + (dy_p - dy_t).abs().sum()\n"),
        needs=(FIXED,),
    ),
    _source(
        "softmax-or-reduction-wrong",
        Replace(
            LOSS,
            "        return (pred - target).abs().mean()\n",
            "        return (pred - target).mean(dim=(1, 2, 3)).abs().mean()\n",
        ),
        name="signed-mean",
        needs=(FIXED, L1),
    ),
    _source(
        "softmax-or-reduction-wrong",
        Replace(LOSS, SIMILARITY, "        return (1 - luminance * structure).flatten(1).sum(1).mean()\n"),
        name="per-picture",
        held_out=True,
        needs=(FIXED,),
    ),
    _source(
        "loss-numerically-unsafe",
        Replace(
            LOSS, "        self.c1, self.c2 = 0.01**2, 0.03**2\n", "        self.c1, self.c2 = 0.0, 0.0\n"
        ),
        needs=(UNCLIPPED,),
    ),
    _source(
        "loss-numerically-unsafe",
        Replace(
            LOSS,
            "        structure = (2 * cov + self.c2) / (var_p + var_t + self.c2)\n"
            "        return 1 - (luminance * structure).mean()\n",
            "        std_p, std_t = var_p.sqrt(), var_t.sqrt()\n"
            "        contrast = (2 * std_p * std_t + self.c2) / (var_p + var_t + self.c2)\n"
            "        structure = (cov + self.c2 / 2) / (std_p * std_t + self.c2 / 2)\n"
            "        return 1 - (luminance * contrast * structure).mean()\n",
        ),
        name="root",
    ),
    _source(
        "loss-numerically-unsafe",
        Replace(
            LOSS,
            SLOPES,
            "        dx, dy = (dx_p - dx_t).abs() / dx_t.abs(), (dy_p - dy_t).abs() / dy_t.abs()\n"
            "        return dx.mean() + dy.mean()\n",
        ),
        name="relative",
        held_out=True,
    ),
    Form(
        "padding-dilutes-loss",
        tuple(
            (
                Replace(
                    MODEL,
                    '        self.lq, self.gt = data["lq"], data["gt"]\n',
                    f"        pad = {pad}\n"
                    '        self.lq = F.pad(data["lq"], (0, pad, 0, pad))\n'
                    '        self.gt = F.pad(data["gt"], (0, 2 * pad, 0, 2 * pad))\n',
                ),
                Replace(MODEL, "import torch\nfrom", "import torch\nimport torch.nn.functional as F\nfrom"),
            )
            for pad in ("8", "20")
        ),
    ),
)

# --- source: the optimizer and its schedule -----------------------------------------------------------

ZERO = "        self.optimizer_g.zero_grad()\n"
STEPPED = "            model.update_learning_rate()\n"

STEPS = (
    _source("gradients-not-cleared", Replace(MODEL, ZERO, "")),
    _source(
        "gradients-not-cleared",
        Replace(MODEL, ZERO, "        self.net_g_ema.zero_grad()\n"),
        name="of-the-average",
    ),
    _source(
        "gradients-not-cleared",
        Replace(
            MODEL,
            ZERO,
            "        for param in self.net_g.conv_last.parameters():\n            param.grad = None\n",
        ),
        name="in-part",
        held_out=True,
    ),
    _source(
        "schedule-in-wrong-units",
        Replace(TRAIN, STEPPED, ""),
        Replace(
            TRAIN,
            "        epoch += 1\n\n\n",
            "        epoch += 1\n        model.update_learning_rate()\n\n\n",
        ),
    ),
    _source(
        "schedule-in-wrong-units",
        Replace(
            TRAIN, STEPPED, '            for _ in data["gt"]:\n                model.update_learning_rate()\n'
        ),
        name="per-picture",
        needs=(MULTISTEP, Give("train.scheduler.gamma", "0.1")),
    ),
    _source(
        "schedule-in-wrong-units",
        Replace(
            MODEL,
            '            milestones = [at - warmup for at in sched_opt["milestones"]]\n',
            '            batch_size = self.opt["datasets"]["train"]["batch_size"]\n'
            '            milestones = [at // batch_size for at in sched_opt["milestones"]]\n',
        ),
        name="milestones",
        held_out=True,
        needs=(MULTISTEP, Give("train.scheduler.gamma", "0.1")),
    ),
    _source(
        "scheduler-order-wrong",
        Replace(
            TRAIN,
            "            model.optimize_parameters()\n" + STEPPED,
            STEPPED + "            model.optimize_parameters()\n",
        ),
    ),
    _source(
        "scheduler-order-wrong",
        Replace(
            MODEL,
            "        self.scheduler.step()\n",
            "        self.scheduler.step()\n"
            "        for group in self.optimizer_g.param_groups:\n"
            '            group["lr"] *= self.scheduler.get_last_lr()[0] / group["initial_lr"]\n',
        ),
        name="twice",
    ),
    _given(
        "learning-rate-jump",
        "train.scheduler.gamma",
        "4.0",
        "8.0",
        "20.0",
        onset=0.5,
        needs=(MULTISTEP, UNCLIPPED),
    ),
    Form(
        "learning-rate-jump",
        tuple(
            (
                Replace(
                    TRAIN,
                    STEPPED,
                    STEPPED + "            if current_iter == total_iter // 2:\n"
                    "                for group in model.optimizer_g.param_groups:\n"
                    f'                    group["lr"] = {rate}\n',
                ),
            )
            for rate in ("0.1", "0.5")
        ),
        name="second-half",
        onset=0.5,
        needs=(MULTISTEP, UNCLIPPED),
    ),
    _source(
        "setting-ignored",
        Replace(
            MODEL,
            '            lr=optim_opt["lr"],\n',
            '            lr=optim_opt.get("learning_rate", 1e-4),\n',
        ),
    ),
    _source(
        "setting-ignored",
        Replace(
            MODEL,
            '        self.ema_decay = train_opt["ema_decay"]\n',
            '        self.ema_decay = train_opt.get("ema", 0.999)\n',
        ),
        name="average",
    ),
    _source(
        "setting-ignored",
        Replace(
            MODEL,
            '            lr=optim_opt["lr"],\n',
            '            lr=self.opt["train"].get("lr", 2e-4),\n',
        ),
        name="section",
        held_out=True,
    ),
)

# --- source: the average, validation and what is kept -------------------------------------------------

AVERAGED = "            param.mul_(decay).add_(net_g_params[name], alpha=1 - decay)\n"
TESTED = "        return self.net_g_ema(lq)\n"
BETTER = '        if metrics["psnr"] > self.best["psnr"]:\n'
BEST = '            self.best = {"psnr": metrics["psnr"], "iter": current_iter}\n'
BEGINNING = '        self.best = {"psnr": 0.0, "iter": 0}\n'
PAIRS = '            for sr, gt in zip(self.test(data["lq"]), data["gt"]):\n'
EASY_FIRST = (
    Give("datasets.train.curriculum.enable", "true"),
    Give("datasets.train.curriculum.start_share", "0.1"),
)

VALIDATION = (
    _source(
        "ema-not-updated",
        Replace(
            MODEL,
            AVERAGED,
            "            param = param * decay + net_g_params[name] * (1 - decay)\n",
        ),
    ),
    _source(
        "ema-not-updated",
        Replace(
            MODEL,
            AVERAGED,
            '            source = net_g_params.get(f"module.{name}", param)\n'
            "            param.mul_(decay).add_(source, alpha=1 - decay)\n",
        ),
        name="names",
    ),
    _source(
        "ema-not-updated",
        Replace(
            MODEL,
            "        for name, param in self.net_g_ema.named_parameters():\n" + AVERAGED,
            "        averaged = {name: param.clone() for name, param in self.net_g_ema.named_parameters()}\n"
            "        for name, param in averaged.items():\n" + AVERAGED,
        ),
        name="cloned",
        held_out=True,
    ),
    _source(
        "tensor-aliasing",
        Replace(
            MODEL,
            "        self.net_g_ema = copy.deepcopy(self.net_g)\n"
            "        self.net_g_ema.eval()\n"
            "        for param in self.net_g_ema.parameters():\n"
            "            param.requires_grad_(False)\n",
            "        self.net_g_ema = self.net_g\n",
        ),
        Replace(MODEL, "        self.net_g_ema.eval()\n        return", "        return"),
    ),
    Form(
        "tensor-aliasing",
        tuple(
            (
                Replace(
                    DATASET,
                    "            lq, gt = self.augment(lq, gt)\n",
                    "            lq, gt = self.augment(lq, gt)\n"
                    f"            lq += {sigma} * torch.randn_like(lq)\n",
                ),
            )
            for sigma in ("0.02", "0.05")
        ),
        name="stored-pictures",
        held_out=True,
    ),
    _source(
        "wrong-weights-evaluated",
        Replace(MODEL, BEGINNING, BEGINNING + "        self.net_g_val = copy.deepcopy(self.net_g).eval()\n"),
        Replace(MODEL, TESTED, "        return self.net_g_val(lq)\n"),
    ),
    _source(
        "wrong-weights-evaluated",
        Replace(MODEL, BEGINNING, BEGINNING + "        self.net_g_val = copy.deepcopy(self.net_g).eval()\n"),
        Replace(
            MODEL,
            TESTED,
            '        saved = sorted((self.root / "models").glob("net_g_0*.pth"))\n'
            "        if saved:\n"
            '            self.net_g_val.load_state_dict(torch.load(saved[0])["params_ema"])\n'
            "        return self.net_g_val(lq)\n",
        ),
        name="first-file",
    ),
    _source(
        "wrong-weights-evaluated",
        Replace(MODEL, BEGINNING, BEGINNING + "        self.net_g_val = copy.deepcopy(self.net_g).eval()\n"),
        Replace(
            MODEL,
            TESTED,
            "        averaged = self.net_g_ema.state_dict()\n"
            '        states = {f"module.{name}": value for name, value in averaged.items()}\n'
            "        self.net_g_val.load_state_dict(states, strict=False)\n"
            "        return self.net_g_val(lq)\n",
        ),
        name="not-strict",
        held_out=True,
    ),
    _source(
        "checkpoint-chosen-wrongly",
        Replace(MODEL, BETTER, '        if self.log_dict["l_total"] < self.best.get("loss", 1e9):\n'),
        Replace(
            MODEL,
            BEST,
            '            self.best = {"psnr": metrics["psnr"], "iter": current_iter}\n'
            '            self.best["loss"] = self.log_dict["l_total"]\n',
        ),
        needs=EASY_FIRST,
    ),
    _source(
        "checkpoint-chosen-wrongly",
        Replace(MODEL, BEGINNING, BEGINNING + '        self.lowest = float("inf")\n'),
        Replace(
            MODEL,
            BETTER + BEST,
            '        train_loss = self.log_dict["l_pix"]\n'
            "        if train_loss < self.lowest:\n"
            "            self.lowest = train_loss\n" + BEST,
        ),
        name="pixel-loss",
        needs=EASY_FIRST,
    ),
    _source(
        "checkpoint-chosen-wrongly",
        Replace(MODEL, BEGINNING, BEGINNING + "        self.mean_loss, self.lowest = 0.0, 1e9\n"),
        Replace(
            MODEL,
            "        self.model_ema(decay=self.ema_decay)\n",
            "        self.model_ema(decay=self.ema_decay)\n"
            "        self.mean_loss = 0.9 * self.mean_loss + 0.1 * l_total.item()\n",
        ),
        Replace(
            MODEL,
            BETTER + BEST,
            "        if self.mean_loss < self.lowest:\n            self.lowest = self.mean_loss\n" + BEST,
        ),
        name="mean-loss",
        held_out=True,
        needs=EASY_FIRST,
    ),
    _source(
        "data-range-mismatch",
        Replace(
            DATASET,
            '        self.lq = arrays["lq"].astype(np.float32) / 255.0\n',
            '        self.lq = arrays["lq"].astype(np.float32)\n'
            '        if phase == "train":\n'
            "            self.lq = self.lq / 255.0\n",
        ),
    ),
    _source(
        "data-range-mismatch",
        Replace(
            MODEL,
            '        self.lq, self.gt = data["lq"], data["gt"]\n',
            '        self.lq, self.gt = data["lq"] * 2 - 1, data["gt"]\n',
        ),
        name="minus-one-to-one",
    ),
    _source(
        "data-range-mismatch",
        Replace(MODEL, PAIRS, '            for sr, gt in zip(self.test(data["lq"] - 0.5), data["gt"]):\n'),
        name="mean-subtracted",
        held_out=True,
    ),
    _source("metric-wrong", Replace(METRIC, "np.log10(255.0**2 / mse)", "np.log10(1.0 / mse)")),
    _source(
        "metric-wrong",
        Replace(
            METRIC,
            "np.mean((img.astype(np.float64) - img2.astype(np.float64)) ** 2)",
            "np.mean((img - img2) ** 2)",
        ),
        name="eight-bit",
    ),
    _source(
        "metric-wrong",
        Replace(
            METRIC,
            "        img = img[crop_border:-crop_border, crop_border:-crop_border]\n"
            "        img2 = img2[crop_border:-crop_border, crop_border:-crop_border]\n"
            "    mse",
            "        img = img[crop_border:-crop_border, crop_border:-crop_border]\n"
            "        img2 = img2[: -2 * crop_border, : -2 * crop_border]\n"
            "    mse",
        ),
        name="misaligned",
        held_out=True,
    ),
    _source(
        "metric-aggregation-wrong",
        Replace(MODEL, "                count += 1\n", "            count += 1\n"),
    ),
    _source(
        "metric-aggregation-wrong",
        Replace(
            MODEL, BEGINNING, BEGINNING + '        self.metrics, self.count = {"psnr": 0.0, "ssim": 0.0}, 0\n'
        ),
        Replace(MODEL, '        metrics = {"psnr": 0.0, "ssim": 0.0}\n        count = 0\n', ""),
        Replace(
            MODEL,
            '                metrics["psnr"] += calculate_psnr(sr_img, gt_img, border)\n'
            '                metrics["ssim"] += calculate_ssim(sr_img, gt_img, border)\n'
            "                count += 1\n"
            "        metrics = {name: total / count for name, total in metrics.items()}\n",
            '                self.metrics["psnr"] += calculate_psnr(sr_img, gt_img, border)\n'
            '                self.metrics["ssim"] += calculate_ssim(sr_img, gt_img, border)\n'
            "                self.count += 1\n"
            "        metrics = {name: total / self.count for name, total in self.metrics.items()}\n",
        ),
        name="never-reset",
    ),
    _source(
        "metric-aggregation-wrong",
        Replace(MODEL, "{name: total / count for", "{name: total / len(loader) for"),
        name="batches",
        held_out=True,
    ),
    _source(
        "validation-not-comparable",
        Replace(
            MODEL,
            TESTED,
            '        small = F.interpolate(lq, scale_factor=0.5, mode="bilinear")\n'
            '        return F.interpolate(self.net_g_ema(small), scale_factor=2, mode="bilinear")\n',
        ),
        Replace(MODEL, "import torch\nfrom", "import torch\nimport torch.nn.functional as F\nfrom"),
    ),
    _source(
        "validation-not-comparable",
        Replace(
            MODEL,
            PAIRS,
            "            self.feed_data(data, current_iter)\n"
            "            for sr, gt in zip(self.test(self.lq), self.gt):\n",
        ),
        name="curriculum",
        needs=(Give("datasets.train.noise_sigma", "10.0"), Give("datasets.train.noise_ramp_iter", "320")),
    ),
    _source(
        "validation-not-comparable",
        Replace(
            MODEL,
            "sr_img, gt_img = tensor2img(sr), tensor2img(gt)",
            "sr_img, gt_img = tensor2img(F.avg_pool2d(sr, 2)), tensor2img(F.avg_pool2d(gt, 2))",
        ),
        Replace(MODEL, "import torch\nfrom", "import torch\nimport torch.nn.functional as F\nfrom"),
        name="thumbnails",
        held_out=True,
    ),
    _source(
        "validation-set-unstable",
        Replace(TRAIN, 'val_opt["batch_size"], shuffle=False)', "2, shuffle=True)"),
        Replace(
            MODEL,
            "        metrics = {name: total / count",
            "            break\n        metrics = {name: total / count",
        ),
    ),
    _source(
        "validation-set-unstable",
        Replace(
            MODEL,
            "                sr_img, gt_img = tensor2img(sr), tensor2img(gt)\n",
            "                top, left = torch.randint(gt.shape[-1] - 16, (2,)).tolist()\n"
            "                window = (..., slice(top, top + 16), slice(left, left + 16))\n"
            "                sr_img, gt_img = tensor2img(sr[window]), tensor2img(gt[window])\n",
        ),
        name="random-window",
    ),
    _source(
        "validation-set-unstable",
        Replace(
            MODEL,
            PAIRS,
            "            sigma = 0.1 * torch.rand(1)\n"
            '            lq = data["lq"] + sigma * torch.randn_like(data["lq"])\n'
            '            for sr, gt in zip(self.test(lq), data["gt"]):\n',
        ),
        name="random-noise",
        held_out=True,
    ),
)

# --- source: the data ---------------------------------------------------------------------------------

PAIRED = (
    _source("data-not-shuffled", SORTED, Give("datasets.train.use_shuffle", "false")),
    _source(
        "data-not-shuffled",
        SORTED,
        Replace(
            DATASET,
            '        self.shuffle = opt["use_shuffle"]\n',
            '        self.shuffle = opt.get("shuffle", False)\n',
        ),
        name="name-of-setting",
    ),
    _source(
        "data-not-shuffled",
        SORTED,
        Replace(
            TRAIN,
            'DataLoader(train_set, train_opt["batch_size"], sampler=sampler, drop_last=True)',
            'DataLoader(train_set, train_opt["batch_size"], drop_last=True)',
        ),
        name="no-sampler",
        held_out=True,
    ),
    _source(
        "labels-wrong",
        Replace(DATASET, "            lq, gt = lq.flip(-1), gt.flip(-1)\n", "            lq = lq.flip(-1)\n"),
        name="flipped-alone",
    ),
    _source(
        "labels-wrong",
        Replace(
            DATASET,
            "        top, left, size = top * self.scale, left * self.scale, size * self.scale\n",
            "        size = size * self.scale\n",
        ),
        name="crop-not-scaled",
        held_out=True,
    ),
)

# --- resumed runs -------------------------------------------------------------------------------------

OPTIMIZER = '        self.optimizer_g.load_state_dict(state["optimizer"])\n'
SCHEDULER = '        self.scheduler.load_state_dict(state["scheduler"])\n'
WEIGHTS = '        self.net_g.load_state_dict(networks["params"])\n'

RESTARTS = (
    _source("optimizer-state-lost", Replace(MODEL, OPTIMIZER, ""), RESUMED, onset=0.5),
    _source(
        "optimizer-state-lost",
        Replace(
            MODEL,
            OPTIMIZER,
            '        saved = state["optimizer"]["param_groups"]\n'
            "        for group, one in zip(self.optimizer_g.param_groups, saved):\n"
            '            group["lr"] = one["lr"]\n',
        ),
        RESUMED,
        name="rate-only",
        onset=0.5,
    ),
    _source(
        "optimizer-state-lost",
        Replace(MODEL, OPTIMIZER + SCHEDULER, SCHEDULER + "        self.setup_optimizers()\n"),
        RESUMED,
        name="made-again",
        onset=0.5,
        held_out=True,
    ),
    _source("schedule-not-restored", Replace(MODEL, SCHEDULER, ""), RESUMED, onset=0.5),
    _source(
        "schedule-not-restored",
        Replace(MODEL, SCHEDULER, "        self.setup_schedulers()\n"),
        RESUMED,
        name="made-again",
        onset=0.5,
    ),
    _source("weights-not-restored", Replace(MODEL, WEIGHTS, ""), RESUMED, onset=0.5),
    _source(
        "weights-not-restored",
        Replace(
            MODEL,
            WEIGHTS,
            '        params = {f"module.{name}": value for name, value in networks["params"].items()}\n'
            "        self.net_g.load_state_dict(params, strict=False)\n",
        ),
        RESUMED,
        name="not-strict",
        onset=0.5,
    ),
    _source(
        "weights-not-restored",
        Replace(
            MODEL,
            WEIGHTS,
            '        known = self.net_g.state_dict()\n        known.update(networks["params"])\n',
        ),
        RESUMED,
        name="not-given-back",
        onset=0.5,
        held_out=True,
    ),
    _source(
        "data-replayed-after-resume",
        Replace(TRAIN, "        epoch += 1\n\n    logger", "        epoch = 0\n\n    logger"),
        Replace(MODEL, '        torch.set_rng_state(state["rng"])\n', ""),
        RESUMED,
        onset=0.5,
    ),
)

# --- from outside, and what is no fault ---------------------------------------------------------------

RUNTIME = (
    Form("silent-data-corruption", ((Disturb("flipped-bit", 0.6),),), onset=0.6),
    Form(
        "hardware-slowdown", ((Disturb("slowed", 0.5),),), onset=0.5, needs=(Give("logger.log_time", "true"),)
    ),
)

BENIGN = (
    Form("restart-with-duplicates", ((Interrupt(0.6, ("--resume", "latest")),),), onset=0.5),
    _given("cyclic-learning-rate", "train.scheduler.type", "CosineAnnealingRestartLR"),
    Form(
        "early-peak-is-noise",
        (tuple(spoiling.shifted(key, lambda pictures: pictures[:2]) for key in ("lq", "gt", "kind")),),
    ),
    _given("curriculum-raises-loss", "datasets.train.curriculum.enable", "true"),
    _source(
        "data-stage-change",
        Replace(
            DATASET,
            '            done = min(1.0, current_iter / stage["ramp_iter"])\n'
            '            self.share = stage["start_share"] + (1.0 - stage["start_share"]) * done\n',
            '            self.share = stage["start_share"] if current_iter < stage["ramp_iter"] else 1.0\n',
        ),
        onset=0.5,
        needs=(Give("datasets.train.curriculum.enable", "true"),),
    ),
    Form(
        "heavy-tailed-loss",
        ((spoiling.shifted("gt", _grainy(2), "train"), spoiling.shifted("lq", _grainy(1), "train")),),
    ),
)

FORMS = (
    *SETTINGS,
    *DATA,
    *NETWORK,
    *LOSSES,
    *STEPS,
    *VALIDATION,
    *PAIRED,
    *RESTARTS,
    *RUNTIME,
    *BENIGN,
)
