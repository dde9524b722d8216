"""What can be wrong with deblur, and what can only look so.

The judge measures weights with the untouched network, so no fault changes what the network is in exact
arithmetic: those of its precision compute the same in other numbers.
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
from stethoscope.clinic.faultbench.tasks.deblur.data import MARGIN, SIZE, photographed

RESTORE, NET, OBJECTIVE, PICTURES = "restore.py", "net.py", "objective.py", "pictures.py"
HALF = (Give("amp.enabled", "true"),)
AVERAGED = (Give("train.average", "0.9"),)
RESUMED_AT = Interrupt(0.6, ("--resume", "latest"))


def way(
    operator: str,
    *changes: Change,
    name: str = "",
    onset: float = 0.0,
    held_out: bool = False,
    needs: tuple[Give, ...] = (),
) -> Form:
    """A form with one level."""
    return Form(operator, (changes,), name, onset, held_out, needs)


# --- data ---------------------------------------------------------------------------------------------


def blank(share: float) -> Spoil:
    """This share of the training pairs is black on both sides."""

    def how(splits: Splits, rng: np.random.Generator) -> Splits:
        train = {key: array.copy() for key, array in splits["train"].items()}
        count = len(train["sharp"])
        chosen = rng.permutation(count)[: round(share * count)]
        for array in train.values():
            array[chosen] = 0
        return {**splits, "train": train}

    return Spoil(how)


def only(count: int) -> Spoil:
    """The training set is this small."""

    def how(splits: Splits, rng: np.random.Generator) -> Splits:
        return {**splits, "train": {key: array[:count] for key, array in splits["train"].items()}}

    return Spoil(how)


def stripes(count: int) -> Spoil:
    """Some training pictures are of fine stripes, which no network restores well."""

    def how(splits: Splits, rng: np.random.Generator) -> Splits:
        train = {key: array.copy() for key, array in splits["train"].items()}
        chosen = rng.permutation(len(train["sharp"]))[:count]
        side = SIZE + 2 * MARGIN
        period = rng.integers(1, 3, (count, 1, 1))
        line = np.where((np.arange(side) // period) % 2 == 0, 20.0, 235.0).astype(np.float32)
        pair = photographed(rng, np.tile(line, (1, side, 1)))
        for key, array in train.items():
            array[chosen] = pair[key]
        return {**splits, "train": train}

    return Spoil(how)


def negative(count: int) -> Spoil:
    """Some training targets are the negative of what they should be."""

    def how(splits: Splits, rng: np.random.Generator) -> Splits:
        sharp = splits["train"]["sharp"].copy()
        chosen = rng.permutation(len(sharp))[:count]
        sharp[chosen] = 255 - sharp[chosen]
        return {**splits, "train": {**splits["train"], "sharp": sharp}}

    return Spoil(how)


def softer(pictures: np.ndarray) -> np.ndarray:
    """Pictures of another lens, which blurs more."""
    wide = pictures.astype(np.float32)
    for axis in (1, 2):
        wide = 0.5 * wide + 0.25 * (np.roll(wide, 1, axis) + np.roll(wide, -1, axis))
    return wide.round().astype(np.uint8)


def darker(pictures: np.ndarray) -> np.ndarray:
    """Pictures of another exposure."""
    return (pictures * 0.7).round().astype(np.uint8)


DATA = (
    Form("labels-wrong", tuple((spoiling.wrong("sharp", share),) for share in (0.25, 0.5, 1.0))),
    way(
        "labels-wrong",
        Replace(
            PICTURES,
            "    blurred, sharp = pair[0][window], pair[1][window]\n",
            '    high, wide = draws.below(pair[1].shape[-1] - data["crop"] + 1, 2)\n'
            '    rows, columns = slice(high, high + data["crop"]), slice(wide, wide + data["crop"])\n'
            "    blurred, sharp = pair[0][window], pair[1][chosen, :, rows, columns]\n",
        ),
        name="crops-apart",
    ),
    way(
        "labels-wrong",
        Replace(
            PICTURES,
            "        blurred, sharp = blurred.rot90(turn % 4, (2, 3)), sharp.rot90(turn % 4, (2, 3))\n",
            "        blurred = blurred.rot90(turn % 4, (2, 3))\n",
        ),
        name="turned-alone",
        held_out=True,
    ),
    Form("corrupt-batch", tuple((spoiling.not_finite("blurred", count),) for count in (3, 16, 80))),
    Form(
        "corrupt-batch",
        tuple((spoiling.not_finite("sharp", count, 1e9),) for count in (4, 20, 80)),
        name="absurd",
    ),
    Form("data-repeats", tuple((spoiling.repeated(count),) for count in (6, 2, 1))),
    Form("overfitting", tuple((only(count), Give("data.turns", "false")) for count in (8, 4, 2))),
    Form("degenerate-batch", tuple((blank(share),) for share in (0.8, 0.95, 0.99))),
    way("validation-leak", spoiling.leaked(1.0), spoiling.repeated(24)),
    Form(
        "data-shift",
        ((spoiling.shifted("blurred", softer),), (spoiling.shifted("blurred", darker),)),
    ),
    way(
        "data-not-shuffled",
        spoiling.in_order("sharp"),
        Replace(
            PICTURES,
            "            self.order = torch.randperm(self.count, generator=self.random)\n"
            "            self.position",
            "            self.position",
        ),
        Replace(
            PICTURES,
            "        self.order = torch.randperm(self.count, generator=self.random)\n\n",
            "        self.order = torch.arange(self.count)\n\n",
        ),
    ),
    way(
        "data-not-shuffled",
        spoiling.in_order("sharp"),
        Replace(
            PICTURES,
            "        chosen = self.order[self.position : self.position + number]\n",
            "        chosen = torch.arange(self.position, self.position + number)\n",
        ),
        name="by-position",
    ),
    way(
        "data-not-shuffled",
        spoiling.in_order("sharp"),
        Replace(
            PICTURES,
            "        chosen = self.order[self.position : self.position + number]\n",
            "        chosen = self.order[self.position : self.position + number].sort().values\n"
            "        chosen = chosen[0] + torch.arange(number)\n"
            "        chosen = chosen.clamp(max=self.count - 1)\n",
        ),
        name="neighbours",
        held_out=True,
    ),
)

# --- settings -----------------------------------------------------------------------------------------

SETTINGS = (
    Form("learning-rate-too-high", tuple((Scale("optimizer.rate", by),) for by in (8.0, 25.0, 80.0))),
    Form("learning-rate-too-low", tuple((Scale("optimizer.rate", by),) for by in (0.05, 0.01, 0.001))),
    Form(
        "weight-decay-wrong",
        tuple((Give("optimizer.weight_decay", value),) for value in ("5.0", "15.0", "50.0")),
    ),
    Form("clip-too-tight", tuple((Give("optimizer.clip", value),) for value in ("1e-6", "1e-7", "1e-8"))),
    Form(
        "schedule-longer-than-run",
        tuple((Give("optimizer.warmup", value),) for value in ("1500", "6000", "50000")),
    ),
    Form("ema-too-slow", tuple((Give("train.average", value),) for value in ("0.99", "0.995", "0.999"))),
    Form("batch-too-small", tuple((Give("data.batch", value),) for value in ("2", "1"))),
    Form(
        "loss-terms-unbalanced",
        tuple((Give("loss.structure", value),) for value in ("5.0", "50.0", "500.0")),
    ),
    Form(
        "objective-metric-mismatch",
        ((Give("loss.pixel", "0.0"), Give("loss.frequency", "0.0"), Give("loss.structure", "1.0")),),
    ),
    Form(
        "optimizer-eps-underflow", tuple((Give("optimizer.eps", value),) for value in ("0.01", "0.1", "1.0"))
    ),
    way(
        "optimizer-eps-underflow",
        Replace(
            RESTORE, '    net = Deblur(**settings["net"])\n', '    net = Deblur(**settings["net"]).half()\n'
        ),
        Replace(RESTORE, '            enabled=amp["enabled"],\n', "            enabled=False,\n"),
        name="in-half",
        needs=HALF,
    ),
    Form(
        "warmup-too-short",
        tuple((Give("optimizer.warmup", "1"), Scale("optimizer.rate", by)) for by in (3.0, 5.0)),
    ),
)

# --- precision ----------------------------------------------------------------------------------------

TRANSFORMED = "        q, k = to_patches(q.float(), self.patch), to_patches(k.float(), self.patch)\n"
CORRELATED = "        spectrum = torch.fft.rfft2(q) * torch.fft.rfft2(k).conj()\n"
MATCHED = "        matches = torch.fft.irfft2(spectrum, s=(self.patch, self.patch))\n"
GATED = "        return self.out(F.gelu(gate) * x)\n"
SCALED = "        state.scaler.scale(loss / pieces).backward()\n"
UNSCALED = "    state.scaler.unscale_(state.optimizer)\n"
CLIPPED = "    norm = torch.nn.utils.clip_grad_norm_(state.net.parameters(), limit)\n"
MADE = "    if state.scaler.get_scale() >= before:  # else the update was left out\n"
BUILT = '    net = Deblur(**settings["net"])\n'
STEPPED = "    state.scaler.step(state.optimizer)\n"

PRECISION = (
    way(
        "forward-overflow",
        Replace(NET, TRANSFORMED, "        q, k = to_patches(q, self.patch), to_patches(k, self.patch)\n"),
        needs=HALF,
    ),
    way(
        "forward-overflow",
        Replace(
            NET,
            CORRELATED,
            "        q, k = (torch.fft.rfft2(one).to(torch.complex32) for one in (q, k))\n"
            "        spectrum = q * k.conj()\n",
        ),
        name="spectra",
        held_out=True,
        needs=HALF,
    ),
    way(
        "forward-overflow",
        Replace(
            NET,
            MATCHED,
            '        matches = torch.fft.irfft2(spectrum, s=(self.patch, self.patch), norm="forward")\n'
            "        matches = matches.type_as(v)\n",
        ),
        name="unscaled-sum",
        needs=HALF,
    ),
    way(
        "forward-overflow",
        Replace(
            NET,
            GATED,
            "        growth = torch.exp(1.702 * gate).type_as(gate)\n"
            "        return self.out(gate * growth / (1.0 + growth) * x)\n",
        ),
        name="exponential",
        onset=0.1,
        needs=HALF,
    ),
    way(
        "norm-in-half-precision",
        Replace(NET, "        x = x.float()\n        mean", "        mean"),
        Replace(NET, MATCHED, MATCHED.replace("\n", ".type_as(v)\n")),
        needs=HALF,
    ),
    way(
        "norm-in-half-precision",
        Replace(
            NET,
            "        x = x.float()\n        mean",
            '        if torch.is_autocast_enabled("cpu"):\n            x = x.half()\n        mean',
        ),
        name="cast",
        needs=HALF,
    ),
    way(
        "norm-in-half-precision",
        Replace(
            NET,
            "        x = x.float()\n        mean = x.mean(1, keepdim=True)\n"
            "        variance = (x - mean).square().mean(1, keepdim=True)\n",
            '        x = x.to(torch.get_autocast_dtype("cpu"))\n        mean = x.mean(1, keepdim=True)\n'
            "        variance = x.var(1, keepdim=True, unbiased=False)\n",
        ),
        name="variance",
        held_out=True,
        needs=HALF,
    ),
    Form(
        "gradient-underflow",
        tuple(
            (
                Replace(RESTORE, '            enabled=amp["enabled"],\n', "            enabled=False,\n"),
                Give("loss.weight", weight),
            )
            for weight in ("0.01", "0.001", "0.0001")
        ),
        needs=HALF,
    ),
    Form(
        "gradient-underflow",
        tuple(
            (
                Replace(RESTORE, SCALED, "        (loss / pieces).backward()\n"),
                Replace(RESTORE, UNSCALED, ""),
                Replace(RESTORE, STEPPED, "    state.optimizer.step()\n"),
                Replace(RESTORE, "    state.scaler.update()\n", ""),
                Give("loss.weight", weight),
            )
            for weight in ("0.01", "0.001", "0.0001")
        ),
        name="not-used",
        needs=HALF,
    ),
    Form(
        "gradient-underflow",
        tuple(
            (
                Give("amp.init_scale", "1.0"),
                Give("amp.growth_interval", "100000"),
                Give("loss.weight", weight),
            )
            for weight in ("0.01", "0.001", "0.0001")
        ),
        name="static",
        held_out=True,
        needs=HALF,
    ),
    Form(
        "clip-before-unscale",
        tuple(
            (Replace(RESTORE, UNSCALED, ""), Give("amp.init_scale", scale))
            for scale in ("65536.0", "16777216.0")
        ),
        needs=(*HALF, Give("optimizer.clip", "1.0")),
    ),
    way(
        "clip-before-unscale",
        Replace(RESTORE, UNSCALED, ""),
        Replace(RESTORE, CLIPPED, CLIPPED + UNSCALED),
        Give("amp.init_scale", "1048576.0"),
        name="swapped",
        needs=(*HALF, Give("optimizer.clip", "1.0")),
    ),
    way(
        "clip-before-unscale",
        Replace(
            RESTORE,
            SCALED,
            SCALED + '        limit = settings["optimizer"]["clip"] or math.inf\n    ' + CLIPPED,
        ),
        Replace(RESTORE, UNSCALED + '    limit = settings["optimizer"]["clip"] or math.inf\n' + CLIPPED, ""),
        Give("amp.init_scale", "1048576.0"),
        name="behind-backward",
        held_out=True,
        needs=(*HALF, Give("optimizer.clip", "1.0")),
    ),
    Form(
        "state-advances-on-skipped-steps",
        tuple(
            (
                Replace(
                    RESTORE,
                    MADE + "        state.schedule.step()\n        follow(",
                    "    state.schedule.step()\n    follow(",
                ),
                Give("amp.init_scale", scale),
            )
            for scale in ("1e+12", "1e+18", "1e+26")
        ),
        needs=HALF,
    ),
    Form(
        "state-advances-on-skipped-steps",
        tuple(
            (
                Replace(
                    RESTORE, MADE + "        state.schedule.step()\n", "    state.schedule.step()\n" + MADE
                ),
                Give("amp.init_scale", scale),
            )
            for scale in ("1e+12", "1e+18", "1e+26")
        ),
        name="schedule",
        needs=HALF,
    ),
    Form(
        "state-advances-on-skipped-steps",
        tuple(
            (
                Replace(
                    RESTORE,
                    MADE,
                    "    if math.isfinite(loss.item()):\n",
                ),
                Give("amp.init_scale", scale),
            )
            for scale in ("1e+12", "1e+18", "1e+26")
        ),
        name="loss-asked",
        held_out=True,
        needs=HALF,
    ),
    way(
        "no-master-weights",
        Replace(RESTORE, BUILT, BUILT.replace("\n", ".half()\n")),
        Replace(RESTORE, '            enabled=amp["enabled"],\n', "            enabled=False,\n"),
        needs=(*HALF, Give("optimizer.eps", "0.0001")),
    ),
    way(
        "no-master-weights",
        Replace(
            RESTORE,
            STEPPED,
            STEPPED + "    with torch.no_grad():\n        for weight in state.net.parameters():\n"
            "            weight.copy_(weight.bfloat16())\n",
        ),
        name="rounded",
    ),
    way(
        "no-master-weights",
        Replace(RESTORE, BUILT, BUILT.replace("\n", ".to(torch.bfloat16)\n")),
        name="bfloat16",
        held_out=True,
        needs=HALF,
    ),
    way(
        "loss-numerically-unsafe",
        Replace(OBJECTIVE, "    c1, c2 = 0.01**2, 0.03**2\n", "    c1, c2 = 0.0, 0.0\n"),
    ),
    way(
        "loss-numerically-unsafe",
        Replace(
            OBJECTIVE,
            "    return torch.sqrt((restored - sharp).square() + 1e-6).mean()\n",
            "    return (torch.log(restored) - torch.log(sharp)).abs().mean()\n",
        ),
        name="logarithm",
    ),
    way(
        "loss-numerically-unsafe",
        Replace(
            OBJECTIVE,
            "    top = (2 * mean_x * mean_y + c1) * (2 * both + c2)\n",
            "    contrast = torch.sqrt(var_x) * torch.sqrt(var_y)\n"
            "    both = contrast * (both + c2) / (contrast + c2)\n"
            "    top = (2 * mean_x * mean_y + c1) * (2 * both + c2)\n",
        ),
        name="root",
        held_out=True,
    ),
)

# --- loss ---------------------------------------------------------------------------------------------

STRUCTURE = '        "structure": 1.0 - structural_similarity(restored, sharp),\n'
FREQUENCY = (
    '    difference = torch.fft.rfft2(restored - sharp, norm="ortho")\n'
    "    return torch.view_as_real(difference).abs().mean()\n"
)
CHARBONNIER = "    return torch.sqrt((restored - sharp).square() + 1e-6).mean()\n"

LOSS = (
    Form(
        "loss-sign-inverted",
        tuple(
            (Replace(OBJECTIVE, STRUCTURE, STRUCTURE.replace("1.0 - ", "")), Give("loss.structure", weight))
            for weight in ("0.1", "0.4", "1.5")
        ),
    ),
    Form(
        "loss-sign-inverted",
        tuple(
            (
                Replace(
                    OBJECTIVE,
                    STRUCTURE,
                    STRUCTURE.replace(
                        "1.0 - structural_similarity(restored, sharp)",
                        "0.5 * (1.0 + structural_similarity(restored, sharp))",
                    ),
                ),
                Give("loss.structure", weight),
            )
            for weight in ("0.2", "0.8", "3.0")
        ),
        name="mapped",
    ),
    Form(
        "loss-sign-inverted",
        tuple(
            (
                Replace(
                    OBJECTIVE,
                    FREQUENCY,
                    "    spectra = (torch.fft.rfft2(one) for one in (restored, sharp))\n"
                    "    x, y = (torch.view_as_real(one).flatten(1) for one in spectra)\n"
                    "    return F.cosine_similarity(x, y, dim=1).mean()\n",
                ),
                Give("loss.frequency", weight),
            )
            for weight in ("0.5", "1.5", "5.0")
        ),
        name="cosine",
        held_out=True,
    ),
    way(
        "softmax-or-reduction-wrong",
        Replace(OBJECTIVE, CHARBONNIER, CHARBONNIER.replace("sharp).square()", "sharp).mean(0).square()")),
    ),
    way(
        "softmax-or-reduction-wrong",
        Replace(
            OBJECTIVE, CHARBONNIER, CHARBONNIER.replace("sharp).square()", "sharp).mean((2, 3)).square()")
        ),
        Replace(
            OBJECTIVE,
            FREQUENCY,
            FREQUENCY.replace("view_as_real(difference).abs()", "view_as_real(difference.mean(0)).abs()"),
        ),
        name="pictures",
    ),
    way(
        "softmax-or-reduction-wrong",
        Replace(
            OBJECTIVE,
            "    total = sum(weights[name] * part for name, part in parts.items())\n",
            "    brightness = restored.mean((1, 2, 3)) - sharp.mean((1, 2, 3))\n"
            '    parts["pixel"] = brightness.abs().mean()\n'
            "    total = sum(weights[name] * part for name, part in parts.items())\n",
        ),
        Replace(OBJECTIVE, FREQUENCY, FREQUENCY.replace(".abs().mean()", ".mean().abs()")),
        name="brightness",
        held_out=True,
    ),
)

# --- the loop -----------------------------------------------------------------------------------------

CLEARED = "    state.optimizer.zero_grad(set_to_none=True)\n"
MATRICES = "    matrices = [weight for weight in net.parameters() if weight.ndim == 4]\n"
OTHERS = "    others = [weight for weight in net.parameters() if weight.ndim != 4]\n"
FEATURES = "        features = self.blocks(self.enter(2.0 * blurred - 1.0))\n"
FOLLOWED = "        mean.mul_(decay).add_(weight, alpha=1.0 - decay)\n"
COPIED = "copy.deepcopy(net).requires_grad_(False)"
PASSED = '    passed = min(1.0, (update - chosen["warmup"]) / max(1, last - chosen["warmup"]))\n'

LOOP = (
    way("gradients-not-cleared", Replace(RESTORE, CLEARED, "")),
    way(
        "gradients-not-cleared",
        Replace(RESTORE, CLEARED, "    if state.iteration == 0:\n    " + CLEARED),
        name="once",
    ),
    way(
        "gradients-not-cleared",
        Replace(
            RESTORE, CLEARED, "    for weight in state.net.leave.parameters():\n        weight.grad = None\n"
        ),
        name="in-part",
        held_out=True,
    ),
    way(
        "parameters-not-updated",
        Replace(RESTORE, MATRICES, MATRICES.replace("net.parameters()", "net.leave.parameters()")),
        Replace(RESTORE, OTHERS, OTHERS.replace("net.parameters()", "net.leave.parameters()")),
    ),
    way(
        "parameters-not-updated",
        Replace(RESTORE, MATRICES, "    net.blocks.requires_grad_(False)\n" + MATRICES),
        name="frozen",
    ),
    way(
        "parameters-not-updated",
        Replace(
            RESTORE,
            '    amp = settings["amp"]\n',
            '    net.blocks = Deblur(**settings["net"]).blocks\n    amp = settings["amp"]\n',
        ),
        name="replaced",
        held_out=True,
    ),
    way("graph-broken", Replace(NET, FEATURES, FEATURES.replace(")\n", ").detach()\n"))),
    way(
        "graph-broken",
        Replace(NET, FEATURES, "        with torch.no_grad():\n    " + FEATURES),
        name="no-grad",
    ),
    way(
        "graph-broken",
        Replace(
            NET,
            FEATURES,
            FEATURES + "        features = torch.as_tensor(features.tolist(), dtype=features.dtype)\n",
        ),
        name="as-numbers",
        held_out=True,
    ),
    way(
        "schedule-in-wrong-units",
        Replace(
            RESTORE,
            '    chosen, last = settings["optimizer"], settings["train"]["iterations"]\n',
            '    chosen, last = settings["optimizer"], settings["train"]["iterations"]\n'
            '    last = last // settings["data"]["batch"]\n',
        ),
    ),
    way(
        "schedule-in-wrong-units",
        Replace(
            RESTORE,
            "        state.schedule.step()\n",
            '        for _ in range(settings["data"]["batch"]):\n            state.schedule.step()\n',
        ),
        name="samples",
    ),
    way(
        "schedule-in-wrong-units",
        Replace(
            RESTORE,
            "    if update < chosen",
            '    update = update // settings["validate"]["every"]\n    if update < chosen',
        ),
        name="rounds",
        held_out=True,
    ),
    way(
        "scheduler-order-wrong",
        Replace(
            RESTORE,
            STEPPED,
            "    for group in state.optimizer.param_groups:\n"
            '        group["lr"] *= share(state.iteration, settings)\n' + STEPPED,
        ),
        name="twice",
    ),
    way(
        "scheduler-order-wrong",
        Replace(RESTORE, CLEARED, "    state.schedule.step()\n" + CLEARED),
        Replace(RESTORE, "        state.schedule.step()\n        follow", "        follow"),
    ),
    way(
        "learning-rate-jump",
        Replace(
            RESTORE,
            "    return 1.0 if passed < 0.6 else 0.3 if passed < 0.85 else 0.1\n",
            "    return 1.0 if passed < 0.6 else 3.0 if passed < 0.85 else 10.0\n",
        ),
        onset=0.6,
        needs=(Give("optimizer.schedule", '"steps"'),),
    ),
    way(
        "learning-rate-jump",
        Replace(
            RESTORE,
            "        return 0.02 + 0.98 * 0.5 * (1.0 + math.cos(math.pi * passed))\n",
            "        return 0.02 + 4.9 * passed * (1.0 + math.cos(3.0 * math.pi * passed))\n",
        ),
        name="restarts",
        onset=0.5,
        held_out=True,
        needs=(Give("optimizer.schedule", '"cosine"'),),
    ),
    way(
        "learning-rate-not-decayed",
        Replace(RESTORE, PASSED, PASSED.replace(") / max", ") // max")),
    ),
    way(
        "learning-rate-not-decayed",
        Replace(RESTORE, PASSED, PASSED.replace("last - chosen", "100 * last - chosen")),
        name="too-long",
    ),
    way(
        "ema-not-updated",
        Replace(RESTORE, FOLLOWED, "        mean = mean.mul(decay).add(weight, alpha=1.0 - decay)\n"),
        needs=AVERAGED,
    ),
    way(
        "ema-not-updated",
        Replace(
            RESTORE,
            "    for mean, weight in zip(average.parameters(), net.parameters()):\n" + FOLLOWED,
            '    weights = {f"module.{name}": weight for name, weight in net.named_parameters()}\n'
            "    for name, mean in average.named_parameters():\n"
            "        if name in weights:\n"
            "            mean.mul_(decay).add_(weights[name], alpha=1.0 - decay)\n",
        ),
        name="names",
        needs=AVERAGED,
    ),
    way(
        "ema-not-updated",
        Replace(
            RESTORE,
            "    for mean, weight in zip(average.parameters(), net.parameters()):\n" + FOLLOWED,
            "    moved = average.state_dict()\n"
            "    for name, weight in net.state_dict().items():\n"
            "        moved[name] = decay * moved[name] + (1.0 - decay) * weight\n",
        ),
        name="not-loaded",
        held_out=True,
        needs=AVERAGED,
    ),
    way(
        "tensor-aliasing",
        Replace(RESTORE, COPIED, "net"),
        needs=AVERAGED,
    ),
    way("tensor-aliasing", Replace(RESTORE, COPIED, "copy.copy(net)"), name="shallow", needs=AVERAGED),
    way(
        "tensor-aliasing",
        Replace(
            RESTORE,
            "    window = []\n    while",
            "    if state.average is not None:\n"
            "        state.average.load_state_dict(state.net.state_dict(), assign=True)\n"
            "    window = []\n    while",
        ),
        name="assigned",
        held_out=True,
        needs=AVERAGED,
    ),
    way(
        "setting-ignored",
        Replace(RESTORE, 'lr=chosen["rate"]', 'lr=chosen.get("lr", 1e-4)'),
    ),
    way(
        "setting-ignored",
        Replace(
            RESTORE,
            '    chosen, last = settings["optimizer"], settings["train"]["iterations"]\n',
            '    chosen, last = settings["optimizer"], settings.get("iterations", 40)\n',
        ),
        name="schedule",
    ),
    way(
        "setting-ignored",
        Replace(
            RESTORE,
            "    net = Deblur(**settings",
            '    settings = settings | {"optimizer": settings["optimizer"] | DEFAULTS}\n'
            "    net = Deblur(**settings",
        ),
        Replace(
            RESTORE,
            "@dataclass\nclass State",
            'DEFAULTS = {"rate": 2e-4, "weight_decay": 0.01, "eps": 1e-8}\n\n\n@dataclass\nclass State',
        ),
        name="defaults",
        held_out=True,
    ),
)

# --- initial weights ----------------------------------------------------------------------------------

KAIMING = '        nn.init.kaiming_normal_(module.weight, nonlinearity="linear")\n'
LEAVE = "        nn.init.normal_(self.leave.weight, std=0.01)\n"

INITIAL = (
    Form(
        "init-too-large",
        tuple((Replace(NET, LEAVE, LEAVE.replace("0.01", std)),) for std in ("1.0", "4.0", "20.0")),
    ),
    Form(
        "init-too-large",
        tuple(
            (Replace(NET, KAIMING, f"        nn.init.normal_(module.weight, std={std})\n"),)
            for std in ("1.0", "2.0", "4.0")
        ),
        name="all",
    ),
    Form(
        "init-too-large",
        tuple(
            (Replace(NET, "nn.Parameter(torch.ones(2 *", f"nn.Parameter({factor} * torch.ones(2 *"),)
            for factor in ("10.0", "30.0", "100.0")
        ),
        name="filter",
        held_out=True,
    ),
    way(
        "dead-units",
        Replace(NET, KAIMING, "        nn.init.zeros_(module.weight)\n"),
        Replace(NET, LEAVE, ""),
    ),
    way(
        "dead-units",
        Replace(NET, KAIMING, "        nn.init.constant_(module.weight, 0.02)\n"),
        Replace(NET, LEAVE, "        nn.init.constant_(self.leave.weight, 0.01)\n"),
        name="alike",
    ),
    way(
        "dead-units",
        Replace(
            NET,
            LEAVE,
            LEAVE + "        for block in self.blocks:\n"
            "            nn.init.constant_(block.mlp.local.bias, -8.0)\n"
            "            nn.init.zeros_(block.attention.out.weight)\n",
        ),
        name="biased",
        held_out=True,
    ),
)

# --- what is measured ---------------------------------------------------------------------------------

DIVIDED = '    blurred = torch.from_numpy(arrays["blurred"]).float().unsqueeze(1) / 255.0\n'
DECIBELS = "    return -10.0 * torch.log10(error + 1e-10)\n"
RATIO = "        ratio += psnr(restored, sharp).sum().item()\n"
EVALUATED = "    net.eval()\n    loss, ratio"
SPLIT = '    for blurred, sharp in zip(*(one.split(settings["validate"]["batch"]) for one in pair)):\n'
SCORES = "            scores = validated(state.average or state.net, val, settings)\n"
DROPPED = (Give("net.drop_path", "0.3"),)

MEASURED = (
    way("eval-mode-missing", Replace(RESTORE, EVALUATED, "    loss, ratio"), needs=DROPPED),
    way(
        "eval-mode-missing",
        Replace(RESTORE, EVALUATED, "    net.train()\n    loss, ratio"),
        name="trains",
        needs=DROPPED,
    ),
    way(
        "eval-mode-missing",
        Replace(RESTORE, EVALUATED, "    net.blocks.train()\n    loss, ratio"),
        Replace(RESTORE, SCORES, "            state.net.eval()\n" + SCORES),
        name="in-part",
        held_out=True,
        needs=DROPPED,
    ),
    way(
        "data-range-mismatch",
        Replace(
            PICTURES,
            DIVIDED,
            '    blurred = torch.from_numpy(arrays["blurred"]).float().unsqueeze(1)\n'
            '    if split == "train":\n        blurred = blurred / 255.0\n',
        ),
    ),
    way(
        "data-range-mismatch",
        Replace(RESTORE, SPLIT, SPLIT + "        blurred = 2.0 * blurred - 1.0\n"),
        name="centred",
    ),
    way(
        "data-range-mismatch",
        Replace(
            NET,
            FEATURES,
            "        entered = 2.0 * blurred - 1.0 if self.training else blurred\n"
            "        features = self.blocks(self.enter(entered))\n",
        ),
        name="in-the-network",
        held_out=True,
    ),
    way(
        "metric-wrong",
        Replace(OBJECTIVE, DECIBELS, "    return 10.0 * torch.log10(255.0**2 / (error + 1e-10))\n"),
    ),
    way("metric-wrong", Replace(RESTORE, RATIO, RATIO.replace("sharp", "blurred")), name="against-the-blur"),
    way(
        "metric-wrong",
        Replace(
            OBJECTIVE,
            "    error = (restored.clamp(0.0, 1.0) - sharp).square().mean((1, 2, 3))\n",
            "    inner, outer = restored.clamp(0.0, 1.0)[..., 2:-2, 2:-2], sharp[..., 4:, 4:]\n"
            "    error = (inner - outer).square().mean((1, 2, 3))\n",
        ),
        name="shifted",
        held_out=True,
    ),
    way(
        "metric-aggregation-wrong",
        Replace(RESTORE, "told(window, settings))\n            window = []\n", "told(window, settings))\n"),
    ),
    way(
        "metric-aggregation-wrong", Replace(RESTORE, RATIO, RATIO.replace(".sum()", ".mean()")), name="means"
    ),
    way(
        "metric-aggregation-wrong",
        Replace(RESTORE, '"psnr": ratio / len(pair[0])}', '"psnr": ratio / settings["validate"]["batch"]}'),
        name="by-the-batch",
        held_out=True,
    ),
    way(
        "validation-set-unstable",
        Replace(
            RESTORE,
            SPLIT,
            "    chosen = torch.randperm(len(pair[0]))[:3]\n    pair = tuple(one[chosen] for one in pair)\n"
            + SPLIT,
        ),
    ),
    way(
        "validation-set-unstable",
        Replace(
            RESTORE,
            SPLIT,
            SPLIT + "        blurred = blurred + 0.1 * torch.rand(1) * torch.randn_like(blurred)\n",
        ),
        name="noise",
    ),
    way(
        "validation-set-unstable",
        Replace(
            RESTORE,
            "            scores = validated(state.average or state.net, val, settings)\n",
            "            seen = batch_of(val, state.draws.__class__(len(val[0]), state.iteration), "
            'settings["data"] | {"batch": 2})\n'
            "            scores = validated(state.average or state.net, seen, settings)\n",
        ),
        name="crops",
        held_out=True,
    ),
    way(
        "validation-not-comparable",
        Replace(
            RESTORE,
            SPLIT,
            "    pair = tuple(torch.nn.functional.avg_pool2d(one, 2) for one in pair)\n" + SPLIT,
        ),
    ),
    way(
        "validation-not-comparable",
        Replace(RESTORE, SPLIT, SPLIT + "        blurred = sharp + 0.4 * (blurred - sharp)\n"),
        name="easier",
    ),
    way(
        "validation-not-comparable",
        Replace(
            RESTORE,
            SCORES,
            "            level = state.iteration / settings['train']['iterations']\n"
            "            graded = (val[1] + level * (val[0] - val[1]), val[1])\n"
            "            scores = validated(state.average or state.net, graded, settings)\n",
        ),
        name="graded",
        held_out=True,
    ),
    way(
        "wrong-weights-evaluated",
        Replace(
            RESTORE,
            "    window = []\n    while",
            "    measured = copy.deepcopy(state.average or state.net)\n    window = []\n    while",
        ),
        Replace(RESTORE, SCORES, "            scores = validated(measured, val, settings)\n"),
    ),
    way(
        "wrong-weights-evaluated",
        Replace(
            RESTORE,
            SCORES,
            '            measured = Deblur(**settings["net"])\n'
            '            weights = {f"net.{name}": one for name, one in state.net.state_dict().items()}\n'
            "            measured.load_state_dict(weights, strict=False)\n"
            "            scores = validated(measured, val, settings)\n",
        ),
        name="not-loaded",
    ),
    way(
        "wrong-weights-evaluated",
        Replace(
            RESTORE,
            SCORES,
            '            found = sorted((out / "states").glob("*.pt"))\n'
            '            measured = Deblur(**settings["net"])\n'
            "            if found:\n"
            '                measured.load_state_dict(torch.load(found[0])["net"])\n'
            "            scores = validated(measured, val, settings)\n",
        ),
        name="oldest",
        held_out=True,
    ),
    way(
        "checkpoint-chosen-wrongly",
        Replace(RESTORE, "    best: float = 0.0\n", "    best: float = math.inf\n"),
        Replace(
            RESTORE,
            '            if scores["psnr"] > state.best:\n                state.best = scores["psnr"]\n',
            '            if numbers["loss"] < state.best:\n                state.best = numbers["loss"]\n',
        ),
    ),
    way(
        "checkpoint-chosen-wrongly",
        Replace(
            RESTORE,
            '            if scores["psnr"] > state.best:\n                state.best = scores["psnr"]\n',
            '            if scores["loss"] > state.best:\n                state.best = scores["loss"]\n',
        ),
        name="largest-loss",
    ),
)

# --- resumed ------------------------------------------------------------------------------------------

LOADED = '    state.{0}.load_state_dict(found["{0}"])\n'

RESUMED = (
    way("optimizer-state-lost", Replace(RESTORE, LOADED.format("optimizer"), ""), RESUMED_AT, onset=0.5),
    way(
        "optimizer-state-lost",
        Replace(
            RESTORE,
            LOADED.format("optimizer"),
            '    found["optimizer"]["state"] = {}\n' + LOADED.format("optimizer"),
        ),
        RESUMED_AT,
        name="emptied",
        onset=0.5,
    ),
    way(
        "optimizer-state-lost",
        Replace(
            RESTORE,
            "    state.iteration, state.best = found",
            "    state.optimizer.state.clear()\n    state.iteration, state.best = found",
        ),
        RESUMED_AT,
        name="cleared",
        onset=0.5,
        held_out=True,
    ),
    way("schedule-not-restored", Replace(RESTORE, LOADED.format("schedule"), ""), RESUMED_AT, onset=0.5),
    way(
        "schedule-not-restored",
        Replace(
            RESTORE,
            LOADED.format("schedule"),
            "    shares = state.schedule.lr_lambdas\n"
            "    state.schedule = torch.optim.lr_scheduler.LambdaLR(state.optimizer, shares)\n",
        ),
        RESUMED_AT,
        name="made-anew",
        onset=0.5,
    ),
    way(
        "schedule-not-restored",
        Replace(RESTORE, '        "schedule": state.schedule.state_dict(),\n', ""),
        Replace(
            RESTORE,
            LOADED.format("schedule"),
            '    if "schedule" in found:\n    ' + LOADED.format("schedule"),
        ),
        RESUMED_AT,
        name="not-kept",
        onset=0.5,
        held_out=True,
    ),
    way("weights-not-restored", Replace(RESTORE, LOADED.format("net"), ""), RESUMED_AT, onset=0.5),
    way(
        "weights-not-restored",
        Replace(
            RESTORE,
            LOADED.format("net"),
            '    weights = {f"module.{name}": weight for name, weight in found["net"].items()}\n'
            "    state.net.load_state_dict(weights, strict=False)\n",
        ),
        RESUMED_AT,
        name="names",
        onset=0.5,
    ),
    way(
        "weights-not-restored",
        Replace(
            RESTORE,
            LOADED.format("net"),
            "    for name, weight in state.net.state_dict().items():\n"
            '        weight = found["net"].get(name, weight)\n',
        ),
        RESUMED_AT,
        name="not-copied",
        onset=0.5,
        held_out=True,
    ),
    way("data-replayed-after-resume", Replace(RESTORE, LOADED.format("draws"), ""), RESUMED_AT, onset=0.5),
    way(
        "data-replayed-after-resume",
        Replace(
            PICTURES,
            '        self.order, self.position = kept["order"], kept["position"]\n'
            '        self.random.set_state(kept["random"])\n',
            "        self.__post_init__()\n",
        ),
        RESUMED_AT,
        name="begun-again",
        onset=0.5,
    ),
)

RUNTIME = (
    way("silent-data-corruption", Disturb("flipped-bit", 0.6), onset=0.6),
    way("hardware-slowdown", Disturb("slowed", 0.5), onset=0.5),
)

# --- harmless -----------------------------------------------------------------------------------------

BENIGN = (
    way("restart-with-duplicates", Interrupt(0.7, ("--resume", "latest")), onset=0.7),
    way(
        "cyclic-learning-rate",
        Replace(
            RESTORE,
            "        return 0.02 + 0.98 * 0.5 * (1.0 + math.cos(math.pi * passed))\n",
            "        turn = 3.0 * passed % 1.0 if passed < 1.0 else 1.0\n"
            "        return 0.02 + 0.98 * 0.5 * (1.0 + math.cos(math.pi * turn))\n",
        ),
        needs=(Give("optimizer.schedule", '"cosine"'),),
    ),
    Form(
        "loss-scale-sawtooth",
        tuple(
            (Give("amp.growth_interval", number), Give("amp.init_scale", "16777216.0"))
            for number in ("12", "8", "6")
        ),
        needs=HALF,
    ),
    Form(
        "loss-scale-high",
        tuple(
            (
                Give("amp.growth_interval", "10"),
                Give("amp.init_scale", "65536.0"),
                Give("loss.weight", weight),
            )
            for weight in ("0.01", "0.001")
        ),
        needs=HALF,
    ),
    Form("curriculum-raises-loss", tuple((Give("data.ramp", share),) for share in ("0.3", "0.5"))),
    way(
        "data-stage-change",
        Replace(
            RESTORE,
            "    return 1.0 if iteration >= ramp else 0.4 + 0.6 * iteration / ramp\n",
            '    return 0.6 if iteration < 0.3 * settings["train"]["iterations"] else 1.0\n',
        ),
        onset=0.3,
    ),
    Form("heavy-tailed-loss", tuple((stripes(count),) for count in (12, 24))),
    way("recovered-spike", negative(1)),
)

FORMS = (
    *SETTINGS,
    *DATA,
    *PRECISION,
    *LOSS,
    *LOOP,
    *INITIAL,
    *MEASURED,
    *RESUMED,
    *RUNTIME,
    *BENIGN,
)
