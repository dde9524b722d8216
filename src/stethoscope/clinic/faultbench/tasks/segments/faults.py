"""What can be wrong with segments, and what can only look so.

A fault of the source is written in three ways where that is possible, one of them held out.
"""

from __future__ import annotations

import numpy as np

from stethoscope.clinic.faultbench import spoiling
from stethoscope.clinic.faultbench.task import (
    Change,
    Disturb,
    Form,
    Give,
    Interrupt,
    Replace,
    Scale,
    Splits,
    Spoil,
)

CRITERION, FIT, METERS, RATES, SCORES, SHADOW, TILES, UNET = (
    f"{name}.py" for name in ("criterion", "fit", "meters", "rates", "scores", "shadow", "tiles", "unet")
)
ARRAYS = ("tile", "mask", "slide")
GLASS = 236  # the grey of a slide where nothing lies on it


def there(
    operator: str, *changes: Change, name: str = "", held_out: bool = False, needs: tuple[Give, ...] = ()
) -> Form:
    """A mistake that is made or not, and acts from the start."""
    return Form(operator, (changes,), name=name, held_out=held_out, needs=needs)


def after_resume(operator: str, *changes: Change, name: str = "", held_out: bool = False) -> Form:
    """A mistake that only a resume shows, and a process that ends on the way."""
    levels = tuple((*changes, Interrupt(at, ("--resume", "auto"))) for at in (0.5, 0.7))
    return Form(operator, levels, name=name, onset=0.4, held_out=held_out)


def given(operator: str, key: str, *values: str, name: str = "", needs: tuple[Give, ...] = ()) -> Form:
    """A setting that has a wrong value, from mild to severe."""
    return Form(operator, tuple((Give(key, value),) for value in values), name=name, needs=needs)


def blank(share: float) -> Spoil:
    """This share of the training tiles was cut where nothing lies on the slide."""

    def how(splits: Splits, rng: np.random.Generator) -> Splits:
        train = dict(splits["train"])
        chosen = rng.permutation(len(train["tile"]))[: round(share * len(train["tile"]))]
        for key, value in (("tile", GLASS), ("mask", 0)):
            train[key] = train[key].copy()
            train[key][chosen] = value
        return {**splits, "train": train}

    return Spoil(how)


def coarse(share: float, grain: float) -> Spoil:
    """This share of the training tiles was scanned badly."""

    def how(splits: Splits, rng: np.random.Generator) -> Splits:
        tiles = splits["train"]["tile"].astype(np.float32)
        chosen = rng.permutation(len(tiles))[: round(share * len(tiles))]
        tiles[chosen] += grain * rng.standard_normal(tiles[chosen].shape)
        tile = tiles.round().clip(0, 255).astype(np.uint8)
        return {**splits, "train": {**splits["train"], "tile": tile}}

    return Spoil(how)


def upside_down(count: int) -> Spoil:
    """The masks of some training tiles lie upside down."""

    def how(splits: Splits, rng: np.random.Generator) -> Splits:
        masks = splits["train"]["mask"].copy()
        chosen = rng.permutation(len(masks))[:count]
        masks[chosen] = masks[chosen, ::-1]
        return {**splits, "train": {**splits["train"], "mask": masks}}

    return Spoil(how)


ADAMW = (Give("optim.kind", "adamw"),)
SGD = (Give("optim.kind", "sgd"),)
POLY = (Give("sched.shape", "poly"),)
NO_CLIP = (Give("optim.clip", "0.0"),)
CLIP = (Give("optim.clip", "2.0"),)
SHADOWED = (Give("train.ema", "0.9"),)
ALONE = (Give("train.ema", "0.0"),)
GATHERED = (Give("train.accumulate", "4"),)
DROPOUT = (Give("net.dropout", "0.3"),)
BALANCED = (Give("loss.aux_balance", "true"),)
LOADED = "        run = load_snapshot(path, net, shadow, optimizer, scheduler, order)\n"
MADE = '    autocast = autocast_for(exp["train"]["amp"])\n'
EVALUATED = "        scores = evaluate(shadow.net if shadow else net, val_loader, criterion, autocast)\n"

SETTINGS = (
    Form(
        "learning-rate-too-high",
        tuple((Scale("optim.adamw.lr", by),) for by in (10.0, 50.0, 300.0)),
        needs=(*ADAMW, *NO_CLIP),
    ),
    Form(
        "learning-rate-too-high",
        tuple((Scale("optim.sgd.lr", by),) for by in (10.0, 50.0, 300.0)),
        name="sgd",
        needs=(*SGD, *NO_CLIP),
    ),
    Form(
        "learning-rate-too-low",
        tuple((Scale("optim.adamw.lr", by),) for by in (0.04, 0.012, 0.002)),
        needs=ADAMW,
    ),
    Form(
        "learning-rate-too-low",
        tuple((Scale("optim.sgd.lr", by),) for by in (0.04, 0.012, 0.002)),
        name="sgd",
        needs=SGD,
    ),
    Form(
        "learning-rate-not-decayed",
        tuple((Give("sched.shape", "flat"), Scale("optim.adamw.lr", by)) for by in (4.0, 12.0, 25.0)),
        needs=(*ADAMW, *ALONE),
    ),
    given("weight-decay-wrong", "optim.weight_decay", "15.0", "40.0", "80.0", needs=ADAMW),
    Form(
        "batch-too-small",
        (
            (Give("data.batch", "3"),),
            (Give("data.batch", "2"),),
            (Give("data.batch", "1"), Give("train.max_iters", "400"), Give("sched.iters", "400")),
        ),
        needs=(Give("train.accumulate", "1"), Give("net.norm", "group")),
    ),
    given(
        "batchnorm-tiny-batch",
        "data.batch",
        "3",
        "2",
        needs=(Give("train.accumulate", "1"), Give("net.norm", "batch")),
    ),
    given("schedule-longer-than-run", "sched.warmup_iters", "500", "2500", "20000", needs=POLY),
    given("schedule-longer-than-run", "sched.iters", "600", "2000", "20000", name="decay", needs=ALONE),
    given("ema-too-slow", "train.ema", "0.99", "0.995", "0.9995"),
    given("optimizer-eps-underflow", "optim.adamw.eps", "0.1", "1.0", "30.0", needs=ADAMW),
    Form(
        "overfitting",
        tuple(
            (
                Give("data.limit", limit),
                Give("train.snapshot_every", "20"),
                *(Give(f"augment.{key}", "false") for key in ("flip", "turn")),
                *(Give(f"augment.{key}", "0.0") for key in ("gain", "grain")),
            )
            for limit in ("48", "24", "12")
        ),
    ),
    given("loss-terms-unbalanced", "loss.smooth", "3.0", "30.0", "1000.0"),
    given(
        "loss-terms-unbalanced",
        "loss.aux",
        "60.0",
        "600.0",
        "6000.0",
        name="aux",
        needs=(*SGD, *CLIP, Give("loss.aux_balance", "false")),
    ),
    given("objective-metric-mismatch", "loss.class_weights.background", "8.0", "30.0", "200.0"),
    given("objective-metric-mismatch", "loss.class_weights.fibre", "15.0", "60.0", "400.0", name="fibre"),
    given("clip-too-tight", "optim.clip", "0.02", "0.003", "0.0003", needs=SGD),
    Form(
        "warmup-too-short",
        tuple((Give("sched.warmup_iters", "1"), Scale("optim.adamw.lr", by)) for by in (6.0, 15.0, 40.0)),
        needs=(*ADAMW, *NO_CLIP, *POLY),
    ),
    Form(
        "curriculum-too-fast",
        tuple(
            (Give("augment.grain", grain), Give("augment.grain_ramp", ramp))
            for grain, ramp in (("2.0", "0.3"), ("5.0", "0.2"), ("20.0", "0.1"))
        ),
    ),
)

DATA = (
    Form("labels-wrong", tuple((spoiling.wrong("mask", share),) for share in (0.35, 0.65, 1.0))),
    Form("data-repeats", tuple((spoiling.repeated(count),) for count in (60, 24, 8))),
    Form("degenerate-batch", tuple((blank(share),) for share in (0.6, 0.85, 0.97))),
    Form(
        "corrupt-batch",
        (
            (spoiling.not_finite("tile", 12, 2e4),),
            (spoiling.not_finite("tile", 12, 1e7),),
            (spoiling.not_finite("tile", 2),),
        ),
    ),
    Form(
        "validation-leak",
        (
            (
                *(spoiling.shifted(key, lambda array: array[:48], split="train") for key in ARRAYS),
                spoiling.leaked(1.0),
            ),
        ),
    ),
    Form(
        "data-shift",
        (
            (spoiling.shifted("tile", lambda tile: (0.75 * tile).astype(np.uint8)),),
            (spoiling.shifted("tile", lambda tile: (0.5 * tile).astype(np.uint8)),),
            (spoiling.shifted("tile", lambda tile: 255 - tile),),
        ),
    ),
)

UPDATES = (
    there(
        "gradients-not-cleared",
        Replace(
            FIT, "        scheduler.step()\n        optimizer.zero_grad()\n", "        scheduler.step()\n"
        ),
    ),
    there(
        "gradients-not-cleared",
        Replace(FIT, "    optimizer.zero_grad()\n    tic = ", "    tic = "),
        Replace(FIT, "        optimizer.zero_grad()\n        if shadow:\n", "        if shadow:\n"),
        name="never",
    ),
    there(
        "gradients-not-cleared",
        Replace(
            FIT, "        scheduler.step()\n        optimizer.zero_grad()\n", "        scheduler.step()\n"
        ),
        Replace(
            FIT,
            "            row = averages.pop()\n",
            "            row = averages.pop()\n            optimizer.zero_grad()\n",
        ),
        name="with-the-log",
        held_out=True,
        needs=(Give("log.every", "12"),),
    ),
    there(
        "accumulation-wrong",
        Replace(FIT, '        (loss / cfg["accumulate"]).backward()\n', "        loss.backward()\n"),
        needs=(*GATHERED, *SGD, *NO_CLIP),
    ),
    there(
        "accumulation-wrong",
        Replace(
            FIT,
            "        with autocast():\n            logits, aux_logits = net(tile)\n",
            "        optimizer.zero_grad()\n"
            "        with autocast():\n            logits, aux_logits = net(tile)\n",
        ),
        name="cleared-between",
        needs=(*GATHERED, *SGD),
    ),
    there(
        "accumulation-wrong",
        Replace(FIT, '        if i % cfg["accumulate"]:\n', '        if i % cfg["accumulate"] == 0:\n'),
        name="the-others",
        held_out=True,
        needs=(*GATHERED, *SGD),
    ),
    there(
        "parameters-not-updated",
        Replace(FIT, 'make_optimizer(exp["optim"], net)', 'make_optimizer(exp["optim"], net.head)'),
    ),
    there(
        "parameters-not-updated",
        Replace(
            FIT,
            "    shadow = Shadow(net,",
            "    for part in (net.enc1, net.enc2, net.neck, net.dec2):\n"
            "        part.requires_grad_(False)  # until the head has settled\n"
            "    shadow = Shadow(net,",
        ),
        name="frozen",
    ),
    there(
        "parameters-not-updated",
        Replace(FIT, "import contextlib\n", "import contextlib\nimport copy\n"),
        Replace(FIT, MADE, MADE + "    net = copy.deepcopy(net)  # shares nothing with the shadow\n"),
        name="copied",
        held_out=True,
    ),
    there(
        "graph-broken",
        Replace(
            UNET,
            "        e1 = self.enc1(x)\n"
            "        e2 = self.enc2(F.max_pool2d(e1, 2))\n"
            "        n = self.neck(F.max_pool2d(e2, 2))\n",
            "        with torch.no_grad():\n"
            "            e1 = self.enc1(x)\n"
            "            e2 = self.enc2(F.max_pool2d(e1, 2))\n"
            "            n = self.neck(F.max_pool2d(e2, 2))\n",
        ),
    ),
    there(
        "graph-broken",
        Replace(
            CRITERION,
            '        main = ce + cfg["dice"] * dice\n',
            '        main = torch.tensor([ce, cfg["dice"] * dice]).sum()\n',
        ),
        name="new-tensor",
    ),
    there(
        "graph-broken",
        Replace(
            CRITERION,
            "logits, aux_logits = logits.float(), aux_logits.float()",
            "logits, aux_logits = logits.data.float(), aux_logits.float()",
        ),
        name="data",
        held_out=True,
    ),
)

RATE = (
    there(
        "schedule-in-wrong-units",
        Replace(FIT, "        optimizer.step()\n        scheduler.step()\n", "        optimizer.step()\n"),
        Replace(FIT, EVALUATED, "        scheduler.step()\n" + EVALUATED),
    ),
    there(
        "schedule-in-wrong-units",
        Replace(FIT, "        optimizer.step()\n        scheduler.step()\n", "        optimizer.step()\n"),
        Replace(
            FIT,
            '        if i % cfg["accumulate"]:\n',
            '        scheduler.step()\n        if i % cfg["accumulate"]:\n',
        ),
        name="batches",
        needs=GATHERED,
    ),
    there(
        "schedule-in-wrong-units",
        Replace(
            FIT,
            "    optimizer = make_optimizer(",
            '    exp["sched"]["iters"] = exp["train"]["max_iters"] // len(train_loader)\n'
            "    optimizer = make_optimizer(",
        ),
        name="epochs",
        held_out=True,
    ),
    there(
        "scheduler-order-wrong",
        Replace(
            FIT,
            "        optimizer.step()\n        scheduler.step()\n",
            "        scheduler.step()\n        optimizer.step()\n",
        ),
    ),
    there(
        "scheduler-order-wrong",
        Replace(
            FIT,
            '        lr = optimizer.param_groups[0]["lr"]\n',
            "        for group in optimizer.param_groups:\n"
            '            group["lr"] *= lr_factor(run["iter"], exp["sched"])\n'
            '        lr = optimizer.param_groups[0]["lr"]\n',
        ),
        Replace(FIT, "from rates import make_optimizer,", "from rates import lr_factor, make_optimizer,"),
        name="squared",
    ),
    there(
        "scheduler-order-wrong",
        Replace(RATES, "lr_scheduler import LambdaLR\n", "lr_scheduler import MultiplicativeLR\n"),
        Replace(RATES, "    return LambdaLR(optimizer, ", "    return MultiplicativeLR(optimizer, "),
        name="multiplied",
        held_out=True,
    ),
    Form(
        "learning-rate-jump",
        tuple(
            (
                Replace(
                    RATES,
                    '    if cfg["shape"] == "flat":\n',
                    f'    if gone > 0.6:\n        return {by}\n    if cfg["shape"] == "flat":\n',
                ),
            )
            for by in ("10.0", "40.0", "250.0")
        ),
        onset=0.6,
        needs=POLY,
    ),
    Form(
        "learning-rate-jump",
        tuple(
            (
                Replace(
                    FIT,
                    '        run["iter"] += 1\n',
                    '        run["iter"] += 1\n'
                    '        if run["iter"] == 120:\n'
                    f"            scheduler.base_lrs = [{by} * base for base in scheduler.base_lrs]\n",
                ),
            )
            for by in ("20.0", "80.0", "500.0")
        ),
        name="base",
        onset=0.58,
    ),
    Form(
        "learning-rate-jump",
        tuple(
            (
                Replace(
                    FIT,
                    '        run["epoch"] += 1\n',
                    '        run["epoch"] += 1\n'
                    '        if run["iter"] >= 110 and not run.get("second_stage"):\n'
                    '            run["second_stage"] = True\n'
                    '            for kind in ("adamw", "sgd"):\n'
                    f'                exp["optim"][kind]["lr"] *= {by}\n'
                    '            optimizer = make_optimizer(exp["optim"], net)\n'
                    '            scheduler = make_scheduler({**exp["sched"], "shape": "flat"}, optimizer)\n',
                ),
            )
            for by in ("10.0", "50.0", "300.0")
        ),
        name="second-stage",
        onset=0.55,
        held_out=True,
    ),
    there(
        "setting-ignored",
        Replace(RATES, 'AdamW(groups, lr=adamw["lr"],', "AdamW(groups, lr=1e-4,"),
        needs=ADAMW,
    ),
    there(
        "setting-ignored",
        Replace(FIT, 'Shadow(net, exp["train"]["ema"])', "Shadow(net, 0.9995)"),
        name="inertia",
        needs=SHADOWED,
    ),
    there(
        "setting-ignored",
        Replace(
            RATES,
            '    if it < cfg["warmup_iters"]:\n        return (it + 1) / cfg["warmup_iters"]\n',
            "    if it < 3000:\n        return (it + 1) / 3000\n",
        ),
        name="warm-up",
        held_out=True,
        needs=POLY,
    ),
)

PLAIN_CE = "    return F.cross_entropy(logits, mask, weight=class_weights, ignore_index=VOID)\n"
DICE = "    return 1.0 - ((2.0 * inter + eps) / (union + eps)).mean()\n"
SUMS = "    inter = (probs * truth).sum((0, 2, 3))\n    union = probs.sum((0, 2, 3)) + truth.sum((0, 2, 3))\n"
WANTED = "        wanted = self.share * main / max(aux, 1e-4)\n"
INERT = "        self.weight = self.inertia * self.weight + (1.0 - self.inertia) * wanted\n"

LOSS = (
    there(
        "softmax-or-reduction-wrong",
        Replace(
            UNET,
            "        return self.head(self.drop(d1)), aux",
            "        return self.head(d1).softmax(1), aux",
        ),
    ),
    there(
        "softmax-or-reduction-wrong",
        Replace(CRITERION, PLAIN_CE, PLAIN_CE.replace("(logits,", "(logits.softmax(dim=1),")),
        name="in-the-loss",
    ),
    there(
        "softmax-or-reduction-wrong",
        Replace(
            CRITERION,
            PLAIN_CE,
            "    logp = F.log_softmax(logits, dim=-1)\n"
            "    return F.nll_loss(logp, mask, weight=class_weights, ignore_index=VOID)\n",
        ),
        name="last-axis",
        held_out=True,
    ),
    there(
        "padding-dilutes-loss",
        Replace(
            TILES,
            "        self.masks = torch.from_numpy(masks[:n]).long()\n",
            "        self.masks = torch.from_numpy(masks[:n]).long()\n"
            "        self.masks[self.masks == VOID] = 0\n",
        ),
    ),
    there(
        "padding-dilutes-loss",
        Replace(
            CRITERION,
            PLAIN_CE,
            "    ce = F.cross_entropy(\n"
            '        logits, mask, weight=class_weights, ignore_index=VOID, reduction="none"\n'
            "    )\n"
            "    return ce.mean()\n",
        ),
        name="mean-of-all",
    ),
    there(
        "padding-dilutes-loss",
        Replace(
            TILES,
            "        return tile, mask\n\n    def clean",
            "        return tile, mask.clamp(max=len(CLASSES) - 1)\n\n    def clean",
        ),
        name="clamped",
        held_out=True,
    ),
    there("loss-sign-inverted", Replace(CRITERION, DICE, DICE.replace("1.0 - (", "("))),
    there(
        "loss-sign-inverted",
        Replace(CRITERION, 'main = ce + cfg["dice"] * dice', 'main = ce - cfg["dice"] * dice'),
        name="subtracted",
    ),
    there(
        "loss-sign-inverted",
        Replace(
            CRITERION,
            PLAIN_CE,
            "    known = mask != VOID\n"
            "    logp = F.log_softmax(logits, dim=1)\n"
            "    picked = logp.gather(1, mask.masked_fill(~known, 0).unsqueeze(1)).squeeze(1)\n"
            "    weight = class_weights[mask.masked_fill(~known, 0)] * known\n"
            "    return (weight * picked).sum() / weight.sum()\n",
        ),
        name="by-hand",
        held_out=True,
    ),
    there(
        "loss-numerically-unsafe",
        Replace(
            CRITERION,
            "(truth / share.clamp(min=least_share)[:, :, None, None])",
            "(truth / share[:, :, None, None])",
        ),
        needs=(Give("loss.per_tile", "true"),),
    ),
    there(
        "loss-numerically-unsafe",
        Replace(
            CRITERION,
            SUMS,
            "    rarity = 1.0 / truth.sum((2, 3)) ** 2\n"
            "    inter = (rarity * (probs * truth).sum((2, 3))).sum(1)\n"
            "    union = (rarity * (probs + truth).sum((2, 3))).sum(1)\n",
        ),
        name="generalised",
    ),
    there(
        "loss-numerically-unsafe",
        Replace(CRITERION, SUMS, SUMS.replace("(0, 2, 3)", "(2, 3)")),
        Replace(CRITERION, DICE, "    return -torch.log(2.0 * inter / union).mean()\n"),
        name="logarithm",
        held_out=True,
    ),
    Form(
        "loss-weight-controller-unstable",
        tuple(
            (
                Replace(
                    CRITERION,
                    "balance.update(main.item(), aux.item())",
                    "balance.update((main + balance.weight * aux).item(), aux.item())",
                ),
                Give("loss.aux", share),
            )
            for share in ("1.2", "2.0", "5.0")
        ),
        needs=(*BALANCED, *SGD, *CLIP),
    ),
    there(
        "loss-weight-controller-unstable",
        Replace(CRITERION, WANTED + INERT, "        self.weight *= (main / max(aux, 1e-4)) ** 0.5\n"),
        name="integrates",
        needs=(*BALANCED, *SGD, *CLIP),
    ),
    there(
        "loss-weight-controller-unstable",
        Replace(
            CRITERION,
            WANTED + INERT,
            "        self.weight += 0.1 * (self.weight * aux - self.share * main)\n",
        ),
        name="wrong-way",
        held_out=True,
        needs=BALANCED,
    ),
)

KAIMING = '        nn.init.kaiming_normal_(m.weight, nonlinearity="relu")\n'
HEADS = "        self.apply(init_weights)\n"

NETWORK = (
    Form(
        "init-too-large",
        tuple(
            (Replace(UNET, KAIMING, f"        nn.init.normal_(m.weight, std={std})\n"),)
            for std in ("2.0", "8.0", "40.0")
        ),
    ),
    Form(
        "init-too-large",
        tuple(
            (Replace(UNET, HEADS, HEADS + f"        nn.init.normal_(self.head.weight, std={std})\n"),)
            for std in ("10.0", "50.0", "300.0")
        ),
        name="head",
    ),
    Form(
        "init-too-large",
        tuple(
            (
                Replace(
                    UNET,
                    HEADS,
                    HEADS + "        with torch.no_grad():\n"
                    "            for p in self.parameters():\n"
                    f"                p.mul_({by})\n",
                ),
            )
            for by in ("4.0", "12.0", "60.0")
        ),
        name="everything",
        held_out=True,
    ),
    there(
        "dead-units",
        Replace(
            UNET,
            HEADS,
            HEADS + "        for m in self.modules():\n"
            "            if isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):\n"
            "                nn.init.zeros_(m.weight)\n",
        ),
    ),
    there("dead-units", Replace(UNET, KAIMING, "        nn.init.zeros_(m.weight)\n"), name="zeros"),
    there(
        "dead-units",
        Replace(
            UNET,
            HEADS,
            HEADS + "        for name, p in self.named_parameters():\n"
            '            if name.endswith("bias"):\n'
            "                nn.init.constant_(p, -6.0)  # everything is rare\n",
        ),
        name="biased",
        held_out=True,
    ),
    Form(
        "vanishing-gradients",
        tuple(
            (Replace(UNET, KAIMING, f"        nn.init.normal_(m.weight, std={std})\n"),)
            for std in ("0.0003", "0.0001", "0.00001")
        ),
        needs=SGD,
    ),
    there(
        "vanishing-gradients",
        Replace(UNET, KAIMING, "        nn.init.uniform_(m.weight, -1e-4, 1e-4)\n"),
        name="uniform",
        needs=SGD,
    ),
    there(
        "vanishing-gradients",
        Replace(UNET, KAIMING, "        nn.init.xavier_uniform_(m.weight, gain=1e-3)\n"),
        name="gain",
        held_out=True,
        needs=SGD,
    ),
    there(
        "no-master-weights",
        Replace(
            FIT, "    shadow = Shadow(net,", "    net = net.to(torch.bfloat16)\n    shadow = Shadow(net,"
        ),
        needs=(Give("train.amp", "bf16"),),
    ),
    there(
        "no-master-weights",
        Replace(UNET, HEADS, HEADS + "        self.bfloat16()  # half the memory\n"),
        name="in-the-network",
        needs=(Give("train.amp", "bf16"),),
    ),
    there(
        "no-master-weights",
        Replace(
            FIT,
            "    shadow = Shadow(net,",
            "    for m in net.modules():\n"
            "        if isinstance(m, torch.nn.Conv2d):\n"
            "            m.to(torch.bfloat16)\n"
            "    shadow = Shadow(net,",
        ),
        name="convolutions",
        held_out=True,
        needs=(Give("train.amp", "bf16"),),
    ),
)

SHARED = (
    there(
        "tensor-aliasing",
        Replace(TILES, "        tile = (tile - MEAN) / STD\n", "        tile = tile.sub_(MEAN).div_(STD)\n"),
    ),
    there(
        "tensor-aliasing",
        Replace(
            TILES,
            "        tile = (tile - MEAN) / STD\n",
            "        if self.aug:\n"
            "            tile += self.grain * STD * torch.randn_like(tile)\n"
            "        tile = (tile - MEAN) / STD\n",
        ),
        Replace(TILES, "augment(tile, mask, self.aug, self.grain)", "augment(tile, mask, self.aug, 0.0)"),
        name="grain",
        needs=(Give("augment.grain", "0.5"),),
    ),
    there(
        "tensor-aliasing",
        Replace(
            TILES,
            "        tile = (tile - MEAN) / STD\n",
            "        if self.aug:\n"
            "            y, x = torch.randint(tile.shape[-1] - 6, (2,)).tolist()\n"
            "            tile[:, y : y + 6, x : x + 6] = MEAN\n"
            "        tile = (tile - MEAN) / STD\n",
        ),
        name="cut-out",
        held_out=True,
    ),
    there(
        "ema-not-updated",
        Replace(FIT, "        if shadow:\n            shadow.follow(net)\n", ""),
        needs=SHADOWED,
    ),
    there(
        "ema-not-updated",
        Replace(
            SHADOW,
            "                kept.lerp_(live[name], 1.0 - self.inertia)\n",
            "                kept = self.inertia * kept + (1.0 - self.inertia) * live[name]\n",
        ),
        name="not-in-place",
        needs=SHADOWED,
    ),
    there(
        "ema-not-updated",
        Replace(
            SHADOW,
            "        for name, kept in self.net.state_dict().items():\n"
            "            if kept.is_floating_point():\n"
            "                kept.lerp_(live[name], 1.0 - self.inertia)\n"
            "            else:\n"
            "                kept.copy_(live[name])\n",
            "        state = self.net.state_dict()\n"
            "        for name, kept in state.items():\n"
            "            if kept.is_floating_point():\n"
            "                state[name] = torch.lerp(kept, live[name], 1.0 - self.inertia)\n"
            "            else:\n"
            "                state[name] = live[name]\n",
        ),
        name="state-dict",
        held_out=True,
        needs=SHADOWED,
    ),
)

CONFUSED = "        matrix += confusion(logits.argmax(dim=1), mask)\n"
VAL_LOADER = "DataLoader(val, batch_size=24)"
BEST = '        if scores["miou"] > run["best_miou"]:\n'
KEPT_BEST = '            run["best_miou"] = scores["miou"]\n            save_snapshot('
CALLED = "        with autocast():\n            logits, aux_logits = net(tile)\n        loss, _ = criterion"

MEASURED = (
    there(
        "validation-not-comparable",
        Replace(TILES, VAL_LOADER, "DataLoader(Subset(val, val.clean()), batch_size=24)"),
    ),
    there(
        "validation-not-comparable",
        Replace(
            SCORES,
            CONFUSED,
            "        unsure = logits.float().softmax(dim=1).amax(dim=1) < 0.7\n"
            "        matrix += confusion(logits.argmax(dim=1), mask.masked_fill(unsure, VOID))\n",
        ),
        name="sure-only",
    ),
    there(
        "validation-not-comparable",
        Replace(
            SCORES,
            CONFUSED,
            "        ids = mask.float().unsqueeze(1)\n"
            "        high = torch.nn.functional.max_pool2d(ids, 3, stride=1, padding=1)\n"
            "        low = -torch.nn.functional.max_pool2d(-ids, 3, stride=1, padding=1)\n"
            "        mask = mask.masked_fill((high != low).squeeze(1), VOID)\n" + CONFUSED,
        ),
        name="without-borders",
        held_out=True,
    ),
    there(
        "validation-set-unstable",
        Replace(TILES, VAL_LOADER, "DataLoader(val, batch_size=5, shuffle=True)"),
        Replace(SCORES, CONFUSED, CONFUSED + "        break  # the first batch is enough\n"),
    ),
    there(
        "validation-set-unstable",
        Replace(
            TILES,
            VAL_LOADER,
            "DataLoader(val, batch_size=24, sampler=RandomSampler(val, num_samples=5))",
        ),
        Replace(
            TILES,
            "from torch.utils.data import DataLoader, Dataset, Subset",
            "from torch.utils.data import DataLoader, Dataset, RandomSampler, Subset",
        ),
        name="sampler",
    ),
    there(
        "validation-set-unstable",
        Replace(
            SCORES,
            CALLED,
            "        some = torch.randperm(len(tile))[:3]\n"
            "        tile, mask = tile[some], mask[some]\n" + CALLED,
        ),
        name="some-of-each",
        held_out=True,
    ),
    there("eval-mode-missing", Replace(SCORES, "    net.eval()\n", ""), needs=DROPOUT),
    there(
        "eval-mode-missing",
        Replace(SCORES, "    net.eval()\n", ""),
        Replace(FIT, EVALUATED, "        net.eval()\n" + EVALUATED),
        name="the-other",
        needs=(*DROPOUT, *SHADOWED),
    ),
    there(
        "eval-mode-missing",
        Replace(UNET, "        self.drop = nn.Dropout2d(dropout)\n", "        self.p = dropout\n"),
        Replace(UNET, "self.head(self.drop(d1))", "self.head(F.dropout2d(d1, self.p))"),
        name="functional",
        held_out=True,
        needs=DROPOUT,
    ),
    Form(
        "left-in-eval-mode",
        (
            (
                Replace(FIT, "    net.train()\n    cfg, log", "    cfg, log"),
                Replace(
                    FIT,
                    '    while run["iter"] < exp',
                    '    net.train()\n    while run["iter"] < exp',
                ),
            ),
        ),
        onset=0.1,
        needs=(*ALONE, *DROPOUT),
    ),
    Form(
        "left-in-eval-mode",
        (
            (
                Replace(FIT, "    net.train()\n    cfg, log", "    cfg, log"),
                Replace(
                    FIT,
                    "        if done:\n            break\n",
                    "        if done:\n            break\n    net.train()\n",
                ),
            ),
        ),
        name="at-the-end",
        onset=0.1,
        needs=(*ALONE, *DROPOUT),
    ),
    Form(
        "left-in-eval-mode",
        (
            (
                Replace(FIT, "    net.train()\n    cfg, log", "    cfg, log"),
                Replace(
                    SCORES,
                    "    iou = ious(matrix)\n",
                    "    net.train(net.training)  # as it was\n    iou = ious(matrix)\n",
                ),
            ),
        ),
        name="as-it-was",
        onset=0.1,
        held_out=True,
        needs=(*ALONE, *DROPOUT),
    ),
    there(
        "checkpoint-chosen-wrongly",
        Replace(
            FIT, '        run["iter"] += 1\n', '        run["iter"] += 1\n        run["loss"] = loss.item()\n'
        ),
        Replace(
            FIT,
            BEST + KEPT_BEST,
            '        if run["loss"] < run.get("best_loss", math.inf):\n'
            '            run["best_loss"] = run["loss"]\n' + KEPT_BEST,
        ),
    ),
    there(
        "checkpoint-chosen-wrongly",
        Replace(FIT, "    cfg, log = ", "    epoch_loss = Averages()\n    cfg, log = "),
        Replace(
            FIT,
            '        if i % cfg["accumulate"]:\n',
            '        epoch_loss.add({"ce": parts["ce"]}, n=len(tile))\n        if i % cfg["accumulate"]:\n',
        ),
        Replace(
            FIT,
            "        if done:\n            break\n",
            '        if done:\n            break\n    return epoch_loss.mean("ce")\n',
        ),
        Replace(FIT, "        train_epoch(run, net,", "        monitored = train_epoch(run, net,"),
        Replace(
            FIT,
            BEST,
            '        if monitored < run.setdefault("lowest", math.inf):\n'
            '            run["lowest"] = monitored\n',
        ),
        name="monitored",
    ),
    there(
        "checkpoint-chosen-wrongly",
        Replace(
            FIT,
            '        run["iter"] += 1\n',
            '        run["iter"] += 1\n'
            '        run["smooth"] = 0.9 * run.get("smooth", 3.0) + 0.1 * loss.item()\n',
        ),
        Replace(
            FIT,
            BEST,
            '        if run["smooth"] <= run.get("best_smooth", 9.0):\n'
            '            run["best_smooth"] = run["smooth"]\n',
        ),
        name="smoothed",
        held_out=True,
    ),
    there(
        "wrong-weights-evaluated",
        Replace(FIT, "import contextlib\n", "import contextlib\nimport copy\n"),
        Replace(FIT, MADE, MADE + "    val_net = copy.deepcopy(net)  # leaves the mode of net alone\n"),
        Replace(FIT, EVALUATED, "        scores = evaluate(val_net, val_loader, criterion, autocast)\n"),
    ),
    there(
        "wrong-weights-evaluated",
        Replace(FIT, MADE, MADE + '    val_net = UNet(len(CLASSES), **exp["net"])\n'),
        Replace(
            FIT,
            EVALUATED,
            '        best = os.path.join(args.workdir, "best.pt")\n'
            '        val_net.load_state_dict(torch.load(best)["net"] if os.path.exists(best) else '
            "net.state_dict())\n"
            "        scores = evaluate(val_net, val_loader, criterion, autocast)\n",
        ),
        name="best",
    ),
    there(
        "wrong-weights-evaluated",
        Replace(FIT, EVALUATED, EVALUATED.replace("shadow.net if shadow else net", "net")),
        name="live",
        held_out=True,
        needs=(Give("train.ema", "0.98"),),
    ),
    there(
        "metric-wrong",
        Replace(
            SCORES,
            "    return hits / (matrix.sum(0) + matrix.sum(1) - hits)\n",
            "    return hits / matrix.sum(1)\n",
        ),
    ),
    there(
        "metric-wrong",
        Replace(SCORES, "(matrix.sum(0) + matrix.sum(1) - hits)\n", "(matrix.sum(0) + matrix.sum(1))\n"),
        name="twice-the-hits",
    ),
    there(
        "metric-wrong",
        Replace(SCORES, "confusion(logits.argmax(dim=1), mask)", "confusion(logits.argmax(dim=1).mT, mask)"),
        name="transposed",
        held_out=True,
    ),
    there(
        "metric-aggregation-wrong",
        Replace(SCORES, "    averages = Averages()\n", "    averages, per_tile = Averages(), []\n"),
        Replace(
            SCORES,
            CONFUSED,
            "        pred = logits.argmax(dim=1)\n"
            "        matrix += confusion(pred, mask)\n"
            "        per_tile += [ious(confusion(*one)).nan_to_num() for one in zip(pred, mask)]\n",
        ),
        Replace(SCORES, '"miou": iou.nanmean().item()', '"miou": torch.stack(per_tile).mean().item()'),
    ),
    there(
        "metric-aggregation-wrong",
        Replace(SCORES, CONFUSED, CONFUSED.replace("+=", "=")),
        name="last-batch",
    ),
    there(
        "metric-aggregation-wrong",
        Replace(METERS, "        self.count += n\n", "        self.count += 1\n"),
        name="batches",
        held_out=True,
    ),
)

NORMALISED = "        tile = (tile - MEAN) / STD\n        if self.aug:\n"
LOADER = (
    "        return DataLoader(\n"
    '            tiles, batch_size=batch, shuffle=cfg["shuffle"], drop_last=True, '
    "num_workers=0, generator=order\n"
    "        )\n"
)

INPUTS = (
    there(
        "data-range-mismatch",
        Replace(TILES, NORMALISED, "        if self.aug:\n            tile = (tile - MEAN) / STD\n"),
    ),
    there(
        "data-range-mismatch",
        Replace(
            TILES,
            ".float().unsqueeze(1) / 255.0\n",
            '.float().unsqueeze(1)\n        if split == "train":\n            self.tiles /= 255.0\n',
        ),
        name="bytes",
    ),
    there(
        "data-range-mismatch",
        Replace(SCORES, CALLED, CALLED.replace("net(tile)", "net((tile - MEAN) / STD)")),
        Replace(SCORES, "from tiles import CLASSES, VOID", "from tiles import CLASSES, MEAN, STD, VOID"),
        name="again",
        held_out=True,
    ),
    there("data-not-shuffled", spoiling.in_order("slide"), Give("data.shuffle", "false")),
    there(
        "data-not-shuffled",
        spoiling.in_order("slide"),
        Replace(
            TILES,
            LOADER,
            "        return DataLoader(tiles, batch_size=batch, drop_last=True, generator=order)\n",
        ),
        name="left-out",
    ),
    there(
        "data-not-shuffled",
        spoiling.in_order("slide"),
        Replace(TILES, LOADER, LOADER.replace('shuffle=cfg["shuffle"]', "sampler=SequentialSampler(tiles)")),
        Replace(
            TILES,
            "from torch.utils.data import DataLoader, Dataset, Subset",
            "from torch.utils.data import DataLoader, Dataset, SequentialSampler, Subset",
        ),
        name="sampler",
        held_out=True,
    ),
)

RESTORED = '    optimizer.load_state_dict(snap["optimizer"])\n'
SCHEDULED = '    scheduler.load_state_dict(snap["scheduler"])\n'
WEIGHTS = '    net.load_state_dict(snap["net"])\n'

RESUMED = (
    after_resume("optimizer-state-lost", Replace(FIT, RESTORED, "")),
    after_resume(
        "optimizer-state-lost",
        Replace(FIT, '            "optimizer": optimizer.state_dict(),\n', ""),
        Replace(FIT, RESTORED, '    if "optimizer" in snap:\n    ' + RESTORED),
        name="not-kept",
    ),
    after_resume(
        "optimizer-state-lost",
        Replace(
            FIT,
            RESTORED,
            '    groups = snap["optimizer"]["param_groups"]\n'
            '    optimizer.load_state_dict({**optimizer.state_dict(), "param_groups": groups})\n',
        ),
        name="groups-only",
        held_out=True,
    ),
    after_resume("schedule-not-restored", Replace(FIT, SCHEDULED, "")),
    after_resume(
        "schedule-not-restored",
        Replace(FIT, LOADED, LOADED + '        scheduler = make_scheduler(exp["sched"], optimizer)\n'),
        name="made-again",
    ),
    after_resume(
        "schedule-not-restored",
        Replace(FIT, SCHEDULED, '    scheduler.last_epoch = snap["run"]["epoch"]\n'),
        name="epochs",
        held_out=True,
    ),
    after_resume("weights-not-restored", Replace(FIT, WEIGHTS, "")),
    after_resume(
        "weights-not-restored",
        Replace(
            FIT,
            WEIGHTS,
            '    weights = {f"module.{name}": one for name, one in snap["net"].items()}\n'
            "    net.load_state_dict(weights, strict=False)\n",
        ),
        name="names",
    ),
    after_resume(
        "weights-not-restored",
        Replace(FIT, LOADED, LOADED + "        net.apply(init_weights)\n"),
        Replace(FIT, "from unet import UNet", "from unet import UNet, init_weights"),
        name="drawn-again",
        held_out=True,
    ),
    after_resume(
        "data-replayed-after-resume",
        Replace(FIT, '    order.set_state(snap["order"])\n    torch.set_rng_state(snap["rng"])\n', ""),
    ),
    after_resume(
        "data-replayed-after-resume",
        Replace(
            FIT,
            LOADED,
            LOADED + "        seed_everything(args.seed)\n        order.manual_seed(args.seed)\n",
        ),
        name="seeded",
    ),
    after_resume(
        "data-replayed-after-resume",
        Replace(FIT, '"order": order.get_state()', '"order": order.initial_seed()'),
        Replace(FIT, 'order.set_state(snap["order"])', 'order.manual_seed(snap["order"])'),
        Replace(FIT, '    torch.set_rng_state(snap["rng"])\n', ""),
        name="seed-kept",
        held_out=True,
    ),
)

RUNTIME = (
    Form(
        "silent-data-corruption",
        ((Disturb("flipped-bit", 0.75),), (Disturb("flipped-bit", 0.95),)),
        onset=0.75,
    ),
    Form("hardware-slowdown", ((Disturb("slowed", 0.6),),), onset=0.6),
)

BENIGN = (
    Form(
        "restart-with-duplicates",
        tuple((Interrupt(at, ("--resume", "auto")),) for at in (0.4, 0.6, 0.8)),
        onset=0.3,
    ),
    Form(
        "cyclic-learning-rate",
        tuple((Give("sched.shape", "rounds"), Give("sched.rounds", rounds)) for rounds in ("2", "3")),
    ),
    Form(
        "curriculum-raises-loss",
        tuple(
            (Give("augment.grain", grain), Give("augment.grain_ramp", ramp))
            for grain, ramp in (("0.25", "0.5"), ("0.35", "0.7"))
        ),
    ),
    Form(
        "data-stage-change",
        tuple((Give("data.clean_slides_until", share),) for share in ("0.3", "0.5")),
        onset=0.3,
    ),
    Form("heavy-tailed-loss", tuple((coarse(share, 60.0), Give("log.every", "1")) for share in (0.03, 0.06))),
    Form("early-peak-is-noise", (tuple(spoiling.shifted(key, lambda array: array[:5]) for key in ARRAYS),)),
    Form("recovered-spike", ((upside_down(2), Give("log.every", "1")),)),
)

FORMS = (
    *SETTINGS,
    *DATA,
    *UPDATES,
    *RATE,
    *LOSS,
    *NETWORK,
    *SHARED,
    *MEASURED,
    *INPUTS,
    *RESUMED,
    *RUNTIME,
    *BENIGN,
)
