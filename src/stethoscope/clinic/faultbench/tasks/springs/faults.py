"""What can be wrong with springs, and what can only look so.

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
from stethoscope.clinic.faultbench.tasks.springs.data import drawn

TRAINER, NETWORK, DATASET = "springs/trainer.py", "springs/network.py", "springs/dataset.py"
OBJECTIVE, AVERAGE, SCHEDULE = "springs/objective.py", "springs/average.py", "springs/schedule.py"
SETTINGS_FILE = "springs/settings.py"

FLOAT32 = Give("fit.precision", '"float32"')
FLOAT16 = Give("fit.precision", '"float16"')
NO_AVERAGE = Give("fit.ema", "0.0")
AVERAGED = Give("fit.ema", "0.95")
DROPOUT = Give("network.dropout", "0.1")
RESUME = Interrupt(0.55, ("--resume", "latest"))


def _given(operator: str, key: str, *values: str, needs: tuple[Give, ...] = ()) -> Form:
    """A setting with a value for each level."""
    return Form(operator, tuple((Give(key, value),) for value in values), needs=needs)


def _written(
    operator: str,
    *changes: Change,
    name: str = "",
    held_out: bool = False,
    onset: float = 0.0,
    needs: tuple[Give, ...] = (),
) -> Form:
    """A mistake in the source, at one level."""
    return Form(operator, (changes,), name, onset, held_out, needs)


def _stiff_validation(low: float, high: float) -> Spoil:
    """Validation is done with springs of another make."""

    def how(splits: Splits, rng: np.random.Generator) -> Splits:
        return {**splits, "val": drawn(rng, len(splits["val"]["inputs"]), stiffness=(low, high))}

    return Spoil(how)


def _rough_measurements(share: float, size: float) -> Spoil:
    """A few training springs were measured with an instrument that is not good."""

    def how(splits: Splits, rng: np.random.Generator) -> Splits:
        targets = splits["train"]["targets"].copy()
        rough = rng.random(len(targets)) < share
        targets[rough] += (size * rng.standard_t(2, targets[rough].shape)).astype(np.float32)
        return {**splits, "train": {**splits["train"], "targets": targets}}

    return Spoil(how)


SETTINGS = (
    Form(
        "learning-rate-too-high",
        tuple((Scale("optimizer.learning_rate", factor),) for factor in (15.0, 50.0, 300.0)),
    ),
    Form(
        "learning-rate-too-low",
        tuple((Scale("optimizer.learning_rate", factor),) for factor in (0.05, 0.01, 0.001)),
    ),
    _given("weight-decay-wrong", "optimizer.weight_decay", "3.0", "10.0", "40.0"),
    _given("clip-too-tight", "optimizer.max_norm", "1e-6", "1e-7", "1e-8"),
    _given("batch-too-small", "data.batch", "4", "2", "1"),
    _given("schedule-longer-than-run", "schedule.warmup", "2000", "8000", "40000"),
    _given("ema-too-slow", "fit.ema", "0.995", "0.998", "0.9995"),
    _given("loss-terms-unbalanced", "objective.energy_weight", "30.0", "300.0", "3000.0"),
    _given("objective-metric-mismatch", "objective.data_weight", "0.003", "0.0003", "0.0"),
    _given("overfitting", "data.limit", "400", "200", "100"),
    _given("optimizer-eps-underflow", "optimizer.eps", "0.1", "1.0", "10.0"),
    Form(
        "learning-rate-not-decayed",
        tuple(
            (Give("schedule.kind", '"constant"'), Scale("optimizer.learning_rate", factor))
            for factor in (1.5, 2.5, 4.0)
        ),
    ),
    Form(
        "warmup-too-short",
        tuple(
            (Give("schedule.warmup", "1"), Scale("optimizer.learning_rate", factor))
            for factor in (1.0, 1.5, 2.0)
        ),
        needs=(
            Give("network.norm", '"post"'),
            Give("network.blocks", "8"),
            Give("optimizer.beta2", "0.999"),
            Give("optimizer.max_norm", "0.0"),
        ),
    ),
    Form(
        "clipping-missing",
        tuple(
            (spoiling.not_finite("targets", count, value), Give("optimizer.max_norm", "0.0"))
            for count, value in ((2, 100.0), (4, 300.0), (8, 1000.0))
        ),
        needs=(Give("objective.kind", '"mse"'), Give("optimizer.beta2", "0.999")),
    ),
)

DATA = (
    Form("labels-wrong", tuple((spoiling.wrong("targets", share),) for share in (0.2, 0.5, 1.0))),
    Form("data-repeats", tuple((spoiling.repeated(count),) for count in (256, 96, 24))),
    Form("degenerate-batch", tuple((spoiling.emptied("inputs", share),) for share in (0.5, 0.8, 0.95))),
    Form("corrupt-batch", tuple((spoiling.not_finite("targets", count),) for count in (1, 4, 16))),
    Form(
        "corrupt-batch",
        tuple((spoiling.not_finite("inputs", count, np.inf),) for count in (1, 4, 16)),
        name="infinite",
    ),
    Form(
        "validation-leak",
        tuple((spoiling.leaked(1.0), Give("data.limit", limit)) for limit in ("768", "384", "192")),
    ),
    Form(
        "data-shift",
        tuple((_stiff_validation(low, high),) for low, high in ((5.0, 8.0), (7.0, 12.0), (12.0, 24.0))),
    ),
)

CLEARED = "        self.optimizer.zero_grad()\n        for _"
GATHERED = "        for _ in range(accumulate):\n            inputs, targets, raw = self.stream.next()\n"
BACKWARD = "            self.scaler.scale(loss / accumulate).backward()\n"
GROUPS = (
    "        matrices = [p for p in self.network.parameters() if p.ndim > 1]\n"
    "        vectors = [p for p in self.network.parameters() if p.ndim <= 1]\n"
)
EVALUATED = "self.evaluate(self.network if self.average is None else self.average.network)"
SQUARED = "            squared += (predicted - targets).square().mean(1).sum().item()\n"
STEPPED = (
    "        if self.scaler.get_scale() >= scale:\n"
    "            self.scheduler.step()\n"
    "            if self.average is not None:\n"
    "                self.average.update(self.network)\n"
)
AVERAGED_ONLY = (
    "        if self.scaler.get_scale() >= scale and self.average is not None:\n"
    "            self.average.update(self.network)\n"
)
BUILT = "        self.optimizer = self.build_optimizer()\n"
HUBER = "        return F.huber_loss(predicted, targets, delta=self.delta)\n"
ERROR = '        if self.kind == "mse":\n            return 0.5 * F.mse_loss(predicted, targets)\n' + HUBER
ENERGY = "        return F.mse_loss(torch.log1p(guessed), torch.log1p(true))\n"
MOVED = "            mean.mul_(self.decay).add_(weight, alpha=1.0 - self.decay)\n"
BRANCHED = "        return self.dropout(self.narrow(F.silu(self.widen(x))))\n"
FORWARD = (
    '        if self.placed == "pre":\n'
    "            return x + self.branch(self.norm(x))\n"
    "        return self.norm(x + self.branch(x))\n"
)
HEAD = "        self.head = nn.Linear(width, 2)\n"
KEPT = '        if found["rmse"] < self.best:\n            self.best = found["rmse"]\n'

STEP = (
    _written("gradients-not-cleared", Replace(TRAINER, CLEARED, "        for _")),
    _written(
        "gradients-not-cleared",
        Replace(
            TRAINER,
            CLEARED,
            "        if self.update == 0:\n            self.optimizer.zero_grad()\n        for _",
        ),
        name="once",
    ),
    _written(
        "gradients-not-cleared",
        Replace(TRAINER, CLEARED, "        self.network.head.zero_grad()\n        for _"),
        name="in-part",
        held_out=True,
    ),
    Form(
        "accumulation-wrong",
        tuple(
            (
                Give("data.batch", batch),
                Give("fit.accumulate", number),
                Replace(
                    TRAINER,
                    CLEARED + " in range(accumulate):\n",
                    "        for _ in range(accumulate):\n            self.optimizer.zero_grad()\n",
                ),
            )
            for batch, number in (("12", "4"), ("6", "4"), ("3", "8"))
        ),
    ),
    Form(
        "accumulation-wrong",
        tuple(
            (
                Give("data.batch", batch),
                Give("fit.accumulate", number),
                Replace(TRAINER, BACKWARD, ""),
                Replace(
                    TRAINER,
                    "        self.scaler.unscale_(self.optimizer)\n",
                    "        self.scaler.scale(loss / accumulate).backward()\n"
                    "        self.scaler.unscale_(self.optimizer)\n",
                ),
            )
            for batch, number in (("12", "4"), ("6", "4"), ("3", "8"))
        ),
        name="last-only",
        held_out=True,
    ),
    _written(
        "accumulation-wrong",
        Give("data.batch", "16"),
        Give("fit.accumulate", "6"),
        Replace(TRAINER, BACKWARD, "            self.scaler.scale(loss).backward()\n"),
        name="summed",
    ),
    _written(
        "parameters-not-updated",
        Replace(TRAINER, GROUPS, GROUPS.replace("self.network.", "self.network.head.")),
    ),
    _written(
        "parameters-not-updated",
        Replace(TRAINER, BUILT, "        self.network.blocks.requires_grad_(False)\n" + BUILT),
        name="frozen",
    ),
    _written(
        "parameters-not-updated",
        Replace(
            TRAINER,
            "        self.dtype = DTYPES",
            "        self.network = copy.deepcopy(self.network).to(torch.float32)\n"
            "        self.dtype = DTYPES",
        ),
        Replace(TRAINER, "import time\n", "import copy\nimport time\n"),
        name="copied",
        held_out=True,
        needs=(FLOAT32,),
    ),
    _written(
        "graph-broken",
        Replace(NETWORK, "        return self.head(x)\n", "        return self.head(x.detach())\n"),
    ),
    _written(
        "graph-broken",
        Replace(
            NETWORK,
            "        x = F.silu(self.stem(inputs))\n"
            "        for block in self.blocks:\n"
            "            x = block(x)\n",
            "        with torch.no_grad():\n"
            "            x = F.silu(self.stem(inputs))\n"
            "            for block in self.blocks:\n"
            "                x = block(x)\n",
        ),
        Replace(NETWORK, "import torch.nn.functional", "import torch\nimport torch.nn.functional"),
        name="no-grad",
    ),
    _written(
        "graph-broken",
        Replace(NETWORK, BRANCHED, BRANCHED.replace("(x))))", "(x)))).data")),
        name="data",
        held_out=True,
    ),
    _written(
        "no-master-weights",
        Replace(
            TRAINER,
            "self.network = SpringNet(net.width, net.blocks, net.norm, net.dropout)\n",
            "self.network = SpringNet(net.width, net.blocks, net.norm, net.dropout).bfloat16()\n",
        ),
        Replace(TRAINER, "predicted = self.network(inputs)", "predicted = self.network(inputs.bfloat16())"),
        Replace(TRAINER, "predicted = network(inputs)", "predicted = network(inputs.bfloat16()).float()"),
        needs=(FLOAT32,),
    ),
    _written(
        "no-master-weights",
        Replace(
            TRAINER,
            "        self.scaler.update()\n",
            "        self.scaler.update()\n"
            "        for weight in self.network.parameters():\n"
            "            weight.data = weight.data.bfloat16().float()\n",
        ),
        name="rounded",
    ),
)

SCHEDULED = (
    Form(
        "schedule-in-wrong-units",
        tuple(
            (
                Give("data.batch", batch),
                Give("fit.accumulate", number),
                Replace(
                    TRAINER,
                    STEPPED,
                    AVERAGED_ONLY,
                ),
                Replace(TRAINER, BACKWARD, BACKWARD + "            self.scheduler.step()\n"),
            )
            for batch, number in (("48", "2"), ("24", "4"), ("12", "8"))
        ),
    ),
    _written(
        "schedule-in-wrong-units",
        Replace(
            TRAINER,
            "Schedule(settings.schedule, settings.fit.updates)",
            "Schedule(settings.schedule, settings.fit.updates // settings.fit.validate_every)",
        ),
        name="in-rounds",
    ),
    _written(
        "schedule-in-wrong-units",
        Replace(
            TRAINER,
            "            self.scheduler.step()\n            if self.average",
            "            if self.average",
        ),
        Replace(
            TRAINER,
            f"        found = {EVALUATED}\n",
            f"        found = {EVALUATED}\n        self.scheduler.step()\n",
        ),
        name="per-validation",
        held_out=True,
    ),
    _written(
        "scheduler-order-wrong",
        Replace(
            TRAINER,
            "            self.scheduler.step()\n            if self.average",
            "            if self.average",
        ),
        Replace(
            TRAINER,
            "        self.scaler.step(self.optimizer)\n",
            "        self.scheduler.step()\n        self.scaler.step(self.optimizer)\n",
        ),
    ),
    _written(
        "scheduler-order-wrong",
        Replace(TRAINER, "lr_scheduler.LambdaLR(", "lr_scheduler.MultiplicativeLR("),
        name="multiplied",
    ),
    _written(
        "scheduler-order-wrong",
        Replace(
            TRAINER,
            "            self.update += 1\n",
            "            self.scheduler.step()\n            self.update += 1\n",
        ),
        name="twice",
        held_out=True,
    ),
    Form(
        "learning-rate-jump",
        tuple(
            (
                Replace(
                    SCHEDULE,
                    '        if self.kind == "linear":\n',
                    "        if done > 0.6:\n"
                    f"            return {factor}\n"
                    '        if self.kind == "linear":\n',
                ),
            )
            for factor in ("4.0", "12.0", "40.0")
        ),
        onset=0.6,
    ),
    Form(
        "learning-rate-jump",
        tuple(
            (
                Replace(
                    TRAINER,
                    "            self.update += 1\n",
                    "            self.update += 1\n"
                    "            if self.update == 240:\n"
                    "                rates = self.scheduler.base_lrs\n"
                    f"                self.scheduler.base_lrs = [{factor} * rate for rate in rates]\n",
                ),
            )
            for factor in ("10.0", "30.0", "100.0")
        ),
        name="milestone",
        onset=0.6,
    ),
    Form(
        "learning-rate-jump",
        tuple(
            (
                Replace(
                    TRAINER,
                    "            self.update += 1\n",
                    "            self.update += 1\n"
                    "            if self.update == fit.updates // 2:\n"
                    "                self.begin_second_stage()\n",
                ),
                Replace(
                    TRAINER,
                    "    def flat_weights(self):\n",
                    "    def begin_second_stage(self):\n"
                    "        for group in self.optimizer.param_groups:\n"
                    f'            group["initial_lr"] = {rate}\n'
                    "        second = Schedule(self.settings.schedule, self.settings.fit.updates // 2)\n"
                    "        second.warmup = 0\n"
                    "        lr_scheduler = torch.optim.lr_scheduler\n"
                    "        self.scheduler = lr_scheduler.LambdaLR(self.optimizer, second.factor)\n"
                    "\n"
                    "    def flat_weights(self):\n",
                ),
            )
            for rate in ("0.03", "0.1", "0.3")
        ),
        name="second-stage",
        onset=0.5,
        held_out=True,
    ),
)

FED = (
    _written(
        "data-range-mismatch",
        Replace(
            DATASET,
            "self.inputs = normalise(raw)\n",
            'self.inputs = normalise(raw) if split == "train" else raw\n',
        ),
    ),
    _written(
        "data-range-mismatch",
        Replace(
            DATASET,
            "        self.targets = targets / SCALE\n",
            '        self.targets = targets / SCALE if split == "train" else targets\n',
        ),
        name="targets",
    ),
    _written(
        "data-range-mismatch",
        Replace(TRAINER, "predicted = self.network(inputs)", "predicted = self.network(raw)"),
        name="raw",
        held_out=True,
    ),
    _written("data-not-shuffled", spoiling.in_order("inputs"), Give("data.shuffle", "false")),
    _written(
        "data-not-shuffled",
        spoiling.in_order("inputs"),
        Replace(
            TRAINER,
            "BatchStream(self.train_data, data.batch, data.shuffle, seed, data.curriculum)",
            "BatchStream(self.train_data, data.batch, False, seed, data.curriculum)",
        ),
        name="in-the-call",
    ),
    _written(
        "data-not-shuffled",
        spoiling.in_order("inputs"),
        Replace(
            DATASET,
            "            return torch.randperm(len(self.data), generator=self.generator)\n",
            "            starts = torch.randperm(len(self.data) // self.size, generator=self.generator)\n"
            "            return (starts[:, None] * self.size + torch.arange(self.size)).flatten()\n",
        ),
        name="whole-batches",
        held_out=True,
    ),
)

NETWORKS = (
    Form(
        "init-too-large",
        tuple(
            (Replace(NETWORK, HEAD, f"{HEAD}        nn.init.normal_(self.head.weight, std={std})\n"),)
            for std in ("3.0", "10.0", "40.0")
        ),
    ),
    Form(
        "init-too-large",
        tuple(
            (
                Replace(
                    NETWORK,
                    HEAD,
                    f"{HEAD}"
                    "        for layer in self.modules():\n"
                    "            if isinstance(layer, nn.Linear):\n"
                    f"                nn.init.normal_(layer.weight, std={std})\n",
                ),
            )
            for std in ("0.6", "1.0", "3.0")
        ),
        name="every-layer",
    ),
    Form(
        "init-too-large",
        tuple(
            (
                Replace(
                    NETWORK,
                    "        self.dropout = nn.Dropout(dropout)\n",
                    "        self.dropout = nn.Dropout(dropout)\n"
                    "        with torch.no_grad():\n"
                    f"            self.narrow.weight.mul_({gain})\n",
                ),
                Replace(NETWORK, "import torch.nn.functional", "import torch\nimport torch.nn.functional"),
            )
            for gain in ("20.0", "60.0", "200.0")
        ),
        name="gain",
        held_out=True,
    ),
    _written(
        "dead-units",
        Replace(NETWORK, "x = F.silu(self.stem(inputs))", "x = F.relu(self.stem(inputs))"),
        Replace(NETWORK, HEAD, f"{HEAD}        nn.init.constant_(self.stem.bias, -5.0)\n"),
    ),
    _written(
        "dead-units",
        Replace(
            NETWORK,
            "        self.dropout = nn.Dropout(dropout)\n",
            "        for layer in (self.widen, self.narrow):\n"
            "            nn.init.zeros_(layer.weight)\n"
            "            nn.init.zeros_(layer.bias)\n"
            "        self.dropout = nn.Dropout(dropout)\n",
        ),
        name="zeros",
    ),
    _written(
        "dead-units",
        Replace(NETWORK, BRANCHED, "        return self.dropout(self.narrow(F.relu(self.widen(x) - 8.0)))\n"),
        name="threshold",
        held_out=True,
    ),
    _written(
        "vanishing-gradients",
        Replace(NETWORK, FORWARD, "        return self.branch(x).sigmoid()\n"),
        Replace(NETWORK, BRANCHED, BRANCHED.replace("F.silu", "F.sigmoid")),
        needs=(Give("network.blocks", "8"),),
    ),
    _written(
        "vanishing-gradients",
        Replace(NETWORK, FORWARD, "        return 0.1 * self.branch(x)\n"),
        name="no-skip",
        needs=(Give("network.blocks", "8"),),
    ),
    _written(
        "vanishing-gradients",
        Replace(NETWORK, FORWARD, "        return F.tanh(20.0 * self.branch(x))\n"),
        name="saturated",
        held_out=True,
        needs=(Give("network.blocks", "8"),),
    ),
)

MINIMISED = (
    _written(
        "loss-sign-inverted",
        Replace(OBJECTIVE, ERROR, "        return F.cosine_similarity(predicted, targets, dim=1).mean()\n"),
    ),
    _written(
        "loss-sign-inverted",
        Replace(
            OBJECTIVE,
            ERROR,
            "        log_likelihood = -0.5 * (predicted - targets).square()\n"
            "        return log_likelihood.mean()\n",
        ),
        name="likelihood",
    ),
    Form(
        "loss-sign-inverted",
        tuple(
            (
                Give("objective.energy_weight", weight),
                Replace(OBJECTIVE, ENERGY, "        return torch.exp(-(guessed - true).square()).mean()\n"),
            )
            for weight in ("1.0", "3.0", "10.0")
        ),
        name="agreement",
        held_out=True,
    ),
    _written(
        "loss-numerically-unsafe",
        Replace(OBJECTIVE, ENERGY, "        return F.mse_loss(torch.log(guessed), torch.log(true))\n"),
    ),
    _written(
        "loss-numerically-unsafe",
        Replace(OBJECTIVE, ENERGY, "        return ((guessed - true) / true).square().mean()\n"),
        name="relative",
    ),
    _written(
        "loss-numerically-unsafe",
        Replace(
            OBJECTIVE,
            ERROR,
            "        lengths = predicted.norm(dim=1) * targets.norm(dim=1)\n"
            "        direction = (predicted * targets).sum(1) / lengths\n"
            "        return F.huber_loss(predicted, targets) + 0.01 * (1.0 - direction).mean()\n",
        ),
        name="direction",
        held_out=True,
    ),
    _written(
        "softmax-or-reduction-wrong",
        Replace(OBJECTIVE, ERROR, "        return (predicted.mean(0) - targets.mean(0)).square().mean()\n"),
    ),
    _written(
        "softmax-or-reduction-wrong",
        Replace(
            OBJECTIVE,
            ERROR,
            "        place = (predicted[:, 0] - targets[:, :1]).square().mean()\n"
            "        speed = (predicted[:, 1] - targets[:, 1:]).square().mean()\n"
            "        return 0.25 * (place + speed)\n",
        ),
        name="broadcast",
    ),
    _written(
        "softmax-or-reduction-wrong",
        Replace(
            OBJECTIVE,
            ERROR,
            '        error = F.huber_loss(predicted, targets, delta=self.delta, reduction="none")\n'
            "        return error.mean(0)[0]\n",
        ),
        name="first-output",
        held_out=True,
    ),
    Form(
        "loss-weight-controller-unstable",
        tuple(
            (
                Replace(
                    OBJECTIVE,
                    "        return sum(",
                    '        share = parts["energy"] / (parts["data"] + parts["energy"])\n'
                    f'        self.weights["energy"] *= float(torch.exp({gain} * (share.detach() - 0.1)))\n'
                    "        return sum(",
                ),
            )
            for gain in ("0.05", "0.2", "0.8")
        ),
    ),
    Form(
        "loss-weight-controller-unstable",
        tuple(
            (
                Replace(
                    OBJECTIVE,
                    "        return sum(",
                    "        for name, part in parts.items():\n"
                    f"            self.weights[name] *= 1.0 + {gain} * (0.02 - part.item())\n"
                    "        return sum(",
                ),
            )
            for gain in ("1.0", "3.0", "6.0")
        ),
        name="levels",
    ),
)

AVERAGES = (
    _written(
        "ema-not-updated",
        Replace(AVERAGE, MOVED, "            mean = self.decay * mean + (1.0 - self.decay) * weight\n"),
        needs=(AVERAGED,),
    ),
    _written(
        "ema-not-updated",
        Replace(
            AVERAGE,
            "zip(self.network.parameters(), network.parameters())",
            "zip(self.network.parameters(), self.network.parameters())",
        ),
        name="itself",
        needs=(AVERAGED,),
    ),
    _written(
        "ema-not-updated",
        Replace(
            AVERAGE,
            "        for mean, weight in zip(self.network.parameters(), network.parameters()):\n" + MOVED,
            "        averaged = dict(self.network.named_parameters())\n"
            "        for name, weight in network.named_parameters():\n"
            '            mean = averaged.get(f"module.{name}")\n'
            "            if mean is not None:\n"
            "                mean.mul_(self.decay).add_(weight, alpha=1.0 - self.decay)\n",
        ),
        name="names",
        held_out=True,
        needs=(AVERAGED,),
    ),
    _written(
        "tensor-aliasing",
        Replace(
            AVERAGE,
            "        self.network = copy.deepcopy(network).requires_grad_(False)\n",
            "        self.network = network\n",
        ),
        needs=(AVERAGED,),
    ),
    _written(
        "tensor-aliasing",
        Replace(
            NETWORK,
            "[ResidualBlock(width, norm, dropout) for _ in range(blocks)]",
            "[ResidualBlock(width, norm, dropout)] * blocks",
        ),
        name="one-block",
    ),
    _written(
        "tensor-aliasing",
        Replace(
            TRAINER,
            SQUARED,
            "            predicted = predicted.mul_(SCALE)\n"
            "            targets = targets.mul_(SCALE)\n" + SQUARED,
        ),
        Replace(TRAINER, "import BatchStream, SpringData\n", "import SCALE, BatchStream, SpringData\n"),
        name="in-place",
        held_out=True,
    ),
    _written(
        "wrong-weights-evaluated",
        Replace(TRAINER, EVALUATED, "self.evaluate(self.probe)"),
        Replace(TRAINER, BUILT, "        self.probe = copy.deepcopy(self.network)\n" + BUILT),
        Replace(TRAINER, "import time\n", "import copy\nimport time\n"),
    ),
    _written(
        "wrong-weights-evaluated",
        Replace(
            TRAINER,
            f"        found = {EVALUATED}\n",
            "        network = SpringNet(*vars(self.settings.network).values())\n"
            '        best = OUTPUT / "best.pt"\n'
            '        state = torch.load(best) if best.exists() else {"network": self.network.state_dict()}\n'
            '        network.load_state_dict(state["network"])\n'
            "        found = self.evaluate(network)\n",
        ),
        name="best",
    ),
    _written(
        "wrong-weights-evaluated",
        Replace(
            TRAINER,
            f"        found = {EVALUATED}\n",
            "        network = SpringNet(*vars(self.settings.network).values())\n"
            "        weights = self.network.state_dict()\n"
            '        weights = {f"network.{name}": weight for name, weight in weights.items()}\n'
            "        network.load_state_dict(weights, strict=False)\n"
            "        found = self.evaluate(network)\n",
        ),
        name="not-strict",
        held_out=True,
    ),
)

MEASURED = (
    _written(
        "metric-wrong",
        Replace(
            TRAINER,
            SQUARED,
            "            squared += (predicted[:, 0] - targets[:, :1]).square().mean(1).sum().item()\n",
        ),
    ),
    _written(
        "metric-wrong",
        Replace(TRAINER, SQUARED, SQUARED.replace("(predicted - targets)", "(predicted * SCALE - targets)")),
        Replace(TRAINER, "import BatchStream, SpringData\n", "import SCALE, BatchStream, SpringData\n"),
        name="units",
    ),
    _written(
        "metric-wrong",
        Replace(
            TRAINER,
            SQUARED,
            "            speed, place = predicted.unbind(1)\n"
            "            errors = (place - targets[:, 0]) ** 2 + (speed - targets[:, 1]) ** 2\n"
            "            squared += errors.sum().item() / 2\n",
        ),
        name="swapped",
        held_out=True,
    ),
    _written(
        "metric-aggregation-wrong",
        Replace(TRAINER, "        self.meter.reset()\n        if not switches", "        if not switches"),
    ),
    _written(
        "metric-aggregation-wrong",
        Replace(TRAINER, "total(parts).item() * len(inputs)\n", "total(parts).item()\n"),
        Replace(TRAINER, SQUARED, SQUARED.replace(".mean(1).sum()", ".mean()")),
        name="counted-twice",
    ),
    _written(
        "metric-aggregation-wrong",
        Replace(
            TRAINER,
            "        loss, squared, count = 0.0, 0.0, 0\n",
            "        loss, squared, count = self.totals\n",
        ),
        Replace(
            TRAINER,
            "        network.train()\n        mean_square",
            "        network.train()\n        self.totals = loss, squared, count\n        mean_square",
        ),
        Replace(
            TRAINER,
            "        self.meter = Meter()\n",
            "        self.meter = Meter()\n        self.totals = 0.0, 0.0, 0\n",
        ),
        name="never-reset",
        held_out=True,
    ),
    _written(
        "eval-mode-missing",
        Replace(TRAINER, "        network.eval()\n        loss", "        loss"),
        needs=(DROPOUT,),
    ),
    _written(
        "eval-mode-missing",
        Replace(TRAINER, "        network.eval()\n        loss", "        network.train()\n        loss"),
        name="trains",
        needs=(DROPOUT,),
    ),
    _written(
        "eval-mode-missing",
        Replace(
            TRAINER,
            "        network.eval()\n        loss",
            "        self.objective.training = False\n        loss",
        ),
        name="of-the-loss",
        held_out=True,
        needs=(DROPOUT,),
    ),
    _written(
        "left-in-eval-mode",
        Replace(TRAINER, "        network.train()\n        mean_square", "        mean_square"),
        onset=0.1,
        needs=(DROPOUT, NO_AVERAGE),
    ),
    _written(
        "left-in-eval-mode",
        Replace(TRAINER, "        network.train()\n        mean_square", "        mean_square"),
        Replace(
            TRAINER,
            "        network.eval()\n        loss",
            "        was = network.training\n        network.eval()\n        loss",
        ),
        Replace(
            TRAINER,
            "        variance = self.val_data",
            "        network.train(was and network.training)\n        variance = self.val_data",
        ),
        name="remembered",
        onset=0.1,
        needs=(DROPOUT, NO_AVERAGE),
    ),
    _written(
        "checkpoint-chosen-wrongly",
        Replace(
            TRAINER,
            KEPT,
            "        if self.last_loss < self.best:\n            self.best = self.last_loss\n",
        ),
        Replace(
            TRAINER,
            "        self.meter = Meter()\n",
            '        self.meter = Meter()\n        self.last_loss = float("inf")\n',
        ),
        Replace(
            TRAINER,
            "        self.meter.reset()\n        if not switches",
            '        self.last_loss = values["loss"]\n        self.meter.reset()\n        if not switches',
        ),
    ),
    _written(
        "checkpoint-chosen-wrongly",
        Replace(TRAINER, KEPT, KEPT.replace("<", ">")),
        Replace(TRAINER, '        self.best = float("inf")\n', "        self.best = 0.0\n"),
        name="larger",
    ),
    _written(
        "checkpoint-chosen-wrongly",
        Replace(TRAINER, KEPT, '        if found["rmse"] < self.best:\n'),
        name="always",
        held_out=True,
    ),
    _written(
        "validation-not-comparable",
        Replace(
            TRAINER,
            "            predicted = network(inputs)\n",
            "            gentle = raw[:, 3:5].abs().amax(1) < 0.2\n"
            "            inputs, targets, raw = inputs[gentle], targets[gentle], raw[gentle]\n"
            "            predicted = network(inputs)\n",
        ),
    ),
    _written(
        "validation-not-comparable",
        Replace(
            TRAINER,
            "            predicted = network(inputs)\n",
            "            asked = raw[:, 5] <= self.stream.latest()\n"
            "            inputs, targets, raw = inputs[asked], targets[asked], raw[asked]\n"
            "            predicted = network(inputs)\n",
        ),
        name="curriculum",
        needs=(Give("data.curriculum", "300"),),
    ),
    _written(
        "validation-not-comparable",
        Replace(
            TRAINER,
            SQUARED,
            "            share = self.update / self.settings.fit.updates\n"
            "            squared += (share * (predicted - targets)).square().mean(1).sum().item()\n",
        ),
        name="by-progress",
        held_out=True,
    ),
    _written(
        "validation-set-unstable",
        Replace(
            TRAINER,
            "        for inputs, targets, raw in self.val_data.batches(256):\n",
            "        chosen = torch.randint(len(self.val_data), (16,))\n"
            "        for inputs, targets, raw in [self.val_data.at(chosen)]:\n",
        ),
    ),
    _written(
        "validation-set-unstable",
        Replace(
            TRAINER,
            "            predicted = network(inputs)\n",
            "            predicted = network(inputs + 0.3 * torch.rand(1) * torch.randn_like(inputs))\n",
        ),
        name="noisy",
    ),
    _written(
        "validation-set-unstable",
        Replace(
            DATASET,
            "        for start in range(0, len(self), size):\n"
            "            yield self.at(slice(start, start + size))\n",
            "        order = torch.randperm(len(self))\n        yield self.at(order[: size // 12])\n",
        ),
        name="first-batch",
        held_out=True,
    ),
    _written(
        "setting-ignored",
        Replace(TRAINER, "lr=options.learning_rate,", 'lr=getattr(options, "lr", 1e-4),'),
    ),
    _written(
        "setting-ignored",
        Replace(
            SETTINGS_FILE,
            "        settings = cls(",
            "        for key, defaults in DEFAULTS.items():\n"
            "            tables[key] = {**tables[key], **defaults}\n"
            "        settings = cls(",
        ),
        Replace(
            SETTINGS_FILE,
            "\n\nclass Settings",
            '\nDEFAULTS = {"optimizer": {"learning_rate": 1e-4, "eps": 1e-8}, "data": {"limit": 0}}\n'
            "\n\nclass Settings",
        ),
        name="defaults",
        held_out=True,
    ),
    _written(
        "setting-ignored",
        Replace(
            TRAINER,
            "WeightAverage(self.network, settings.fit.ema) if settings.fit.ema else None",
            "WeightAverage(self.network, 0.999) if settings.fit.ema else None",
        ),
        name="average",
        needs=(AVERAGED,),
    ),
)

HALF = (
    _written(
        "clip-before-unscale",
        Replace(TRAINER, "        self.scaler.unscale_(self.optimizer)\n", ""),
        needs=(FLOAT16, Give("optimizer.max_norm", "1.0"), Give("logging.grad_norm", "true")),
    ),
    _written(
        "clip-before-unscale",
        Replace(TRAINER, "        self.scaler.unscale_(self.optimizer)\n", ""),
        Replace(
            TRAINER,
            "        scale = self.scaler.get_scale()\n",
            "        self.scaler.unscale_(self.optimizer)\n        scale = self.scaler.get_scale()\n",
        ),
        name="behind",
        needs=(FLOAT16, Give("optimizer.max_norm", "1.0"), Give("logging.grad_norm", "true")),
    ),
    _written(
        "state-advances-on-skipped-steps",
        Replace(
            TRAINER,
            STEPPED,
            "        self.scheduler.step()\n"
            "        if self.average is not None:\n"
            "            self.average.update(self.network)\n",
        ),
        Replace(TRAINER, "        scale = self.scaler.get_scale()\n", ""),
        Give("fit.initial_scale", "1.0e30"),
        needs=(FLOAT16,),
    ),
    _written(
        "state-advances-on-skipped-steps",
        Replace(
            TRAINER,
            "        if self.scaler.get_scale() >= scale:\n            self.scheduler.step()\n",
            "        self.scheduler.step()\n        if self.scaler.get_scale() >= scale:\n",
        ),
        Give("fit.initial_scale", "1.0e30"),
        name="schedule-only",
        needs=(FLOAT16,),
    ),
    _written(
        "gradient-underflow",
        Replace(
            TRAINER, "            enabled=self.dtype == torch.float16,\n", "            enabled=False,\n"
        ),
        needs=(FLOAT16, Give("objective.data_weight", "0.0002"), Give("objective.energy_weight", "0.00002")),
    ),
    _written(
        "gradient-underflow",
        Give("fit.initial_scale", "1.0"),
        Give("fit.growth_interval", "1000000"),
        name="scale-of-one",
        needs=(FLOAT16, Give("objective.data_weight", "0.0002"), Give("objective.energy_weight", "0.00002")),
    ),
)

RESUMED = (
    _written(
        "optimizer-state-lost",
        Replace(TRAINER, '        self.optimizer.load_state_dict(state["optimizer"])\n', ""),
        RESUME,
        onset=0.4,
    ),
    _written(
        "optimizer-state-lost",
        Replace(
            TRAINER,
            '        self.optimizer.load_state_dict(state["optimizer"])\n',
            '        if "optim" in state:\n            self.optimizer.load_state_dict(state["optim"])\n',
        ),
        RESUME,
        name="other-key",
        onset=0.4,
    ),
    _written(
        "optimizer-state-lost",
        Replace(
            TRAINER,
            '            "optimizer": self.optimizer.state_dict(),\n',
            '            "optimizer": {**self.optimizer.state_dict(), "state": {}},\n',
        ),
        RESUME,
        name="not-saved",
        onset=0.4,
        held_out=True,
    ),
    _written(
        "schedule-not-restored",
        Replace(TRAINER, '        self.scheduler.load_state_dict(state["scheduler"])\n', ""),
        RESUME,
        onset=0.4,
    ),
    _written(
        "schedule-not-restored",
        Replace(
            TRAINER,
            '        self.scheduler.load_state_dict(state["scheduler"])\n',
            "        factor = self.schedule.factor\n"
            "        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, factor)\n",
        ),
        RESUME,
        name="rebuilt",
        onset=0.4,
    ),
    _written(
        "schedule-not-restored",
        Replace(TRAINER, '        self.scheduler.load_state_dict(state["scheduler"])\n', ""),
        Replace(TRAINER, '            "scheduler": self.scheduler.state_dict(),\n', ""),
        RESUME,
        name="not-saved",
        onset=0.4,
        held_out=True,
    ),
    _written(
        "weights-not-restored",
        Replace(TRAINER, '        self.network.load_state_dict(state["network"])\n', ""),
        RESUME,
        onset=0.4,
    ),
    _written(
        "weights-not-restored",
        Replace(
            TRAINER,
            '        self.network.load_state_dict(state["network"])\n',
            '        weights = {f"module.{name}": weight for name, weight in state["network"].items()}\n'
            "        self.network.load_state_dict(weights, strict=False)\n",
        ),
        RESUME,
        name="not-strict",
        onset=0.4,
    ),
    _written(
        "weights-not-restored",
        Replace(
            TRAINER,
            '        self.network.load_state_dict(state["network"])\n',
            "        network = SpringNet(*vars(self.settings.network).values())\n"
            '        network.load_state_dict(state["network"])\n',
        ),
        RESUME,
        name="elsewhere",
        onset=0.4,
        held_out=True,
    ),
    _written(
        "data-replayed-after-resume",
        Replace(TRAINER, '        self.stream.load_state_dict(state["stream"])\n', ""),
        RESUME,
        onset=0.4,
    ),
    _written(
        "data-replayed-after-resume",
        Replace(
            DATASET,
            '        self.waiting, self.drawn = state["waiting"], state["drawn"]\n'
            '        self.generator.set_state(state["generator"])\n',
            '        self.drawn = state["drawn"]\n',
        ),
        RESUME,
        name="count-only",
        onset=0.4,
    ),
)

RUNTIME = (
    Form("silent-data-corruption", ((Disturb("flipped-bit", 0.6),),), onset=0.6),
    Form(
        "hardware-slowdown", ((Disturb("slowed", 0.5),),), onset=0.5, needs=(Give("logging.seconds", "true"),)
    ),
)

BENIGN = (
    Form("restart-with-duplicates", ((Interrupt(0.7, ("--resume", "latest")),),), onset=0.6),
    _written(
        "cyclic-learning-rate",
        Replace(SCHEDULE, "math.cos(math.pi * done))", "math.cos(math.pi * (4.0 * done % 1.0)))"),
        needs=(Give("schedule.kind", '"cosine"'),),
    ),
    _written(
        "early-peak-is-noise",
        spoiling.shifted("inputs", lambda inputs: inputs[:16]),
        spoiling.shifted("targets", lambda targets: targets[:16]),
    ),
    Form(
        "heavy-tailed-loss",
        ((_rough_measurements(0.003, 0.5),), (_rough_measurements(0.003, 2.0),)),
        needs=(Give("objective.kind", '"huber"'),),
    ),
    _given("curriculum-raises-loss", "data.curriculum", "80", "160"),
    _written(
        "data-stage-change",
        Replace(
            DATASET,
            "            if self.ramp:\n",
            "            if self.drawn >= 200:\n"
            "                late = order[self.data.raw[order, 5] > 2.0]\n"
            "                order = torch.cat([order, late])\n"
            "                order = order[torch.randperm(len(order), generator=self.generator)]\n"
            "            if self.ramp:\n",
        ),
        onset=0.5,
    ),
    _given("loss-scale-high", "fit.growth_interval", "40", needs=(FLOAT16,)),
    Form(
        "loss-scale-sawtooth",
        ((Give("fit.initial_scale", "1048576.0"), Give("fit.growth_interval", "20")),),
        needs=(FLOAT16,),
    ),
)

FORMS = (
    *SETTINGS,
    *DATA,
    *STEP,
    *SCHEDULED,
    *FED,
    *NETWORKS,
    *MINIMISED,
    *AVERAGES,
    *MEASURED,
    *HALF,
    *RESUMED,
    *RUNTIME,
    *BENIGN,
)
