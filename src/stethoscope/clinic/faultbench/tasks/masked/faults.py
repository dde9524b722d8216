"""What can be wrong with masked, and what can only look so.

A fault of the source is written in three ways where that is possible, one of them held out.
"""

from __future__ import annotations

import numpy as np

from stethoscope.clinic.faultbench import spoiling
from stethoscope.clinic.faultbench.task import Change, Disturb, Form, Give, Interrupt, Replace, Scale

PACKAGE = "inverse_folding"
CALLBACKS, CORPUS, DIFFUSION, EXPERIMENT, NETWORK, OPTIM = (
    f"{PACKAGE}/{name}.py" for name in ("callbacks", "corpus", "diffusion", "experiment", "network", "optim")
)

ARRAYS = ("tokens", "length", "exposure", "b_factor", "family")


def source(
    operator: str, *changes: Change, name: str = "", held_out: bool = False, needs: tuple[Give, ...] = ()
) -> Form:
    """A mistake that is there or not, from the first step on."""
    return Form(operator, (changes,), name=name, held_out=held_out, needs=needs)


def resumed(operator: str, *changes: Change, name: str = "", held_out: bool = False) -> Form:
    """A mistake in what a resume restores, where one happens."""
    levels = tuple((*changes, Interrupt(at, ("--resume", "latest"))) for at in (0.5, 0.7))
    return Form(operator, levels, name=name, onset=0.4, held_out=held_out)


def settings(operator: str, key: str, *values: str, name: str = "", needs: tuple[Give, ...] = ()) -> Form:
    """A setting with a value that it should not have, from mild to severe."""
    return Form(operator, tuple((Give(key, value),) for value in values), name=name, needs=needs)


NO_CLIP = (Give("optim.grad_clip", "0.0"),)
AVERAGED = (Give("trainer.ema_decay", "0.95"),)
NOT_AVERAGED = (Give("trainer.ema_decay", "0.0"),)
GATHERED = (Give("trainer.accumulate", "4"),)

SETTINGS = (
    Form(
        "learning-rate-too-high",
        tuple((Scale("optim.peak_lr", factor),) for factor in (10.0, 40.0, 200.0)),
        needs=NO_CLIP,
    ),
    Form(
        "learning-rate-too-low",
        tuple((Scale("optim.peak_lr", factor),) for factor in (0.05, 0.015, 0.003)),
    ),
    Form(
        "learning-rate-not-decayed",
        tuple((Give("optim.schedule", "constant"), Scale("optim.peak_lr", by)) for by in (3.0, 5.0, 8.0)),
        needs=NOT_AVERAGED,
    ),
    settings("weight-decay-wrong", "optim.weight_decay", "2.0", "6.0", "25.0"),
    settings("batch-too-small", "data.batch_size", "3", "2", "1", needs=(Give("trainer.accumulate", "1"),)),
    settings("schedule-longer-than-run", "optim.warmup_steps", "600", "3000", "20000"),
    settings(
        "schedule-longer-than-run", "optim.horizon", "900", "3000", "30000", name="decay", needs=NOT_AVERAGED
    ),
    settings("ema-too-slow", "trainer.ema_decay", "0.99", "0.995", "0.9995"),
    settings("optimizer-eps-underflow", "optim.eps", "0.01", "0.1", "1.0"),
    settings("overfitting", "data.limit", "96", "48", "16"),
    settings("loss-terms-unbalanced", "objective.b_factor_weight", "10.0", "100.0", "3000.0"),
    settings("noise-levels-mismatch", "noise.high", "0.5", "0.3", "0.15", name="range"),
    Form(
        "curriculum-too-fast",
        tuple(
            (Give("curriculum.drop_easy", left), Give("curriculum.ramp", ramp))
            for left, ramp in (("0.8", "0.2"), ("0.93", "0.1"), ("1.0", "0.02"))
        ),
    ),
    Form(
        "curriculum-too-fast",
        tuple(
            (Give("curriculum.drop_easy", "1.0"), Give("curriculum.ramp", ramp)) for ramp in ("0.6", "0.3")
        ),
        name="forgets",
        onset=0.2,
    ),
    Form(
        "clipping-missing",
        tuple(
            (Give("objective.weighting", "elbo"), Give("noise.low", low))
            for low in ("0.01", "0.002", "0.0001")
        ),
        needs=NO_CLIP,
    ),
    Form(
        "warmup-too-short",
        tuple((Give("optim.warmup_steps", "1"), Scale("optim.peak_lr", by)) for by in (2.0, 4.0, 7.0)),
        needs=(*NO_CLIP, Give("network.norm_first", "false"), Give("network.depth", "3")),
    ),
)

DATA = (
    Form("labels-wrong", tuple((spoiling.wrong("exposure", share),) for share in (0.4, 0.7, 1.0))),
    Form("data-repeats", tuple((spoiling.repeated(count),) for count in (96, 40, 16))),
    Form("degenerate-batch", tuple((spoiling.emptied("tokens", share),) for share in (0.6, 0.85, 0.97))),
    Form(
        "corrupt-batch",
        (
            (spoiling.not_finite("exposure", 20, 1e6),),
            (spoiling.not_finite("b_factor", 20, 1e7),),
            (spoiling.not_finite("exposure", 2),),
        ),
    ),
    Form(
        "validation-leak",
        (
            (
                *(spoiling.shifted(key, lambda array: array[:128], split="train") for key in ARRAYS),
                spoiling.leaked(1.0),
            ),
        ),
    ),
    Form(
        "data-shift",
        (
            (spoiling.shifted("exposure", lambda exposure: exposure / 2),),
            (spoiling.shifted("exposure", lambda exposure: 100 - exposure),),
            (spoiling.shifted("tokens", lambda tokens: np.where(tokens > 1, 2 + (tokens + 5) % 20, tokens)),),
        ),
    ),
)

SOURCE = (
    # --- the optimizer step ---------------------------------------------------------------------------
    source("gradients-not-cleared", Replace(EXPERIMENT, "        self.optimizer.zero_grad()\n", "")),
    source(
        "gradients-not-cleared",
        Replace(
            EXPERIMENT,
            "        self.optimizer.zero_grad()\n",
            "        if self.step == 0:\n            self.optimizer.zero_grad()\n",
        ),
        name="once",
    ),
    source(
        "gradients-not-cleared",
        Replace(EXPERIMENT, "self.optimizer.zero_grad()", "self.network.blocks.zero_grad()"),
        name="in-part",
        held_out=True,
    ),
    source(
        "accumulation-wrong",
        Replace(EXPERIMENT, ".sum() / masked_total\n", ".sum() / max(1, int(masked.sum()))\n"),
        needs=(*GATHERED, *NO_CLIP),
    ),
    source(
        "accumulation-wrong",
        Replace(
            EXPERIMENT,
            "            loss.backward()\n",
            "            self.optimizer.zero_grad()\n            loss.backward()\n",
        ),
        Replace(EXPERIMENT, "        self.optimizer.zero_grad()\n        nats_total", "        nats_total"),
        Give("trainer.accumulate", "8"),
        name="only-the-last",
        needs=GATHERED,
    ),
    source(
        "accumulation-wrong",
        Replace(
            EXPERIMENT,
            "            loss.backward()\n",
            "            (loss * self.config.trainer.accumulate).backward()\n",
        ),
        Replace(EXPERIMENT, "nats_total += nats.item()", "nats_total += nats.item() * len(batches)"),
        name="multiplied",
        held_out=True,
        needs=(*GATHERED, *NO_CLIP),
    ),
    source(
        "parameters-not-updated",
        Replace(
            OPTIM,
            "    decayed = [p for name, p in network.named_parameters()",
            "    decayed = [p for name, p in network.blocks.named_parameters()",
        ),
        Replace(
            OPTIM,
            "    kept = [p for name, p in network.named_parameters()",
            "    kept = [p for name, p in network.blocks.named_parameters()",
        ),
    ),
    source(
        "parameters-not-updated",
        Replace(
            EXPERIMENT,
            "        ramp_steps = ",
            "        for name, weight in self.network.named_parameters():\n"
            '            weight.requires_grad_("norm" in name or "to_" in name)\n'
            "        ramp_steps = ",
        ),
        name="frozen",
    ),
    source(
        "parameters-not-updated",
        Replace(
            EXPERIMENT,
            "        self.schedule = WarmupSchedule(",
            "        residues = self.network.to_residue.out_features\n"
            "        self.network.to_residue = torch.nn.Linear(net.width, residues)\n"
            "        self.schedule = WarmupSchedule(",
        ),
        name="replaced",
        held_out=True,
    ),
    source("graph-broken", Replace(NETWORK, "x = block(x, real)\n", "x = block(x, real).detach()\n")),
    source(
        "graph-broken",
        Replace(
            EXPERIMENT,
            "            nats = (costs * masked).sum() /",
            "            nats = (costs * masked).sum().item() /",
        ),
        Replace(EXPERIMENT, "nats_total += nats.item()", "nats_total += nats"),
        name="item",
    ),
    source(
        "graph-broken",
        Replace(
            NETWORK,
            "        x = self.residues(noisy) + self.positions(place) + self.exposure(exposure[..., None])\n"
            "        x = x + self.level(level)[:, None, :]\n"
            "        x = x + self.neighbours((x * real[..., None]).transpose(1, 2)).transpose(1, 2)\n",
            "        with torch.no_grad():\n"
            "            x = self.residues(noisy) + self.positions(place)\n"
            "            x = x + self.exposure(exposure[..., None])\n"
            "            x = x + self.level(level)[:, None, :]\n"
            "            x = x + self.neighbours((x * real[..., None]).transpose(1, 2)).transpose(1, 2)\n",
        ),
        name="no-grad",
        held_out=True,
    ),
    # --- the learning rate ----------------------------------------------------------------------------
    source(
        "schedule-in-wrong-units",
        Replace(
            EXPERIMENT,
            "        self.optimizer.step()\n        self.schedule.step()\n",
            "        self.optimizer.step()\n",
        ),
        Replace(
            EXPERIMENT,
            "            loss.backward()\n",
            "            loss.backward()\n            self.schedule.step()\n",
        ),
        Give("trainer.accumulate", "8"),
        needs=GATHERED,
    ),
    source(
        "schedule-in-wrong-units",
        Replace(
            EXPERIMENT,
            "        self.optimizer.step()\n        self.schedule.step()\n",
            "        self.optimizer.step()\n"
            "        if self.step % (len(self.stream.proteins) // self.stream.batch_size) == 0:\n"
            "            self.schedule.step()\n",
        ),
        name="epochs",
    ),
    source(
        "schedule-in-wrong-units",
        Replace(EXPERIMENT, "self.schedule.step()\n", "self.schedule.step(self.config.data.batch_size)\n"),
        Replace(
            OPTIM,
            "    def step(self):\n        self.count += 1\n",
            "    def step(self, by=1):\n        self.count += by\n",
        ),
        name="samples",
        held_out=True,
    ),
    source(
        "scheduler-order-wrong",
        Replace(
            OPTIM,
            '            group["lr"] = self.optim.peak_lr * self.factor(self.count)\n',
            '            group["lr"] = group["lr"] * self.factor(self.count)\n',
        ),
    ),
    source(
        "scheduler-order-wrong",
        Replace(
            EXPERIMENT,
            "        used_lr = self.schedule.rate\n"
            "        self.optimizer.step()\n"
            "        self.schedule.step()\n",
            "        self.schedule.step()\n"
            "        used_lr = self.schedule.rate\n"
            "        self.optimizer.step()\n",
        ),
        name="in-front",
    ),
    source(
        "scheduler-order-wrong",
        Replace(
            EXPERIMENT,
            "        used_lr = self.schedule.rate\n",
            "        for group in self.optimizer.param_groups:\n"
            '            group["lr"] *= self.schedule.factor(self.step)\n'
            "        used_lr = self.schedule.rate\n",
        ),
        name="twice",
        held_out=True,
    ),
    Form(
        "learning-rate-jump",
        tuple(
            (
                Replace(
                    OPTIM,
                    "        self.count += 1\n        self._apply()\n",
                    "        self.count += 1\n"
                    "        if self.count == 180:\n"
                    f"            self.optim.peak_lr = {rate}\n"
                    "        self._apply()\n",
                ),
            )
            for rate in ("0.08", "0.3", "1.5")
        ),
        onset=0.6,
    ),
    Form(
        "learning-rate-jump",
        tuple(
            (
                Replace(
                    OPTIM,
                    '        if self.optim.schedule == "constant":\n',
                    f"        if done > 0.6:\n            return {factor}\n"
                    '        if self.optim.schedule == "constant":\n',
                ),
            )
            for factor in ("10.0", "50.0", "300.0")
        ),
        name="by-share",
        onset=0.6,
    ),
    source(
        "setting-ignored",
        Replace(OPTIM, "self.optim.peak_lr * self.factor(self.count)", "0.0002 * self.factor(self.count)"),
    ),
    source(
        "setting-ignored",
        Replace(
            EXPERIMENT, "WeightAverage(self.network, decay) if", "WeightAverage(self.network, 0.9995) if"
        ),
        name="decay",
        needs=AVERAGED,
    ),
    source(
        "setting-ignored",
        Replace(OPTIM, "        warmup = self.optim.warmup_steps\n", "        warmup = 4000\n"),
        name="warm-up",
        held_out=True,
    ),
    # --- the loss -------------------------------------------------------------------------------------
    source(
        "softmax-or-reduction-wrong",
        Replace(NETWORK, "return logits, ", "return logits.softmax(-1), "),
    ),
    source(
        "softmax-or-reduction-wrong",
        Replace(DIFFUSION, "logits.float().transpose(1, 2)", "logits.float().softmax(-1).transpose(1, 2)"),
        name="in-the-loss",
    ),
    source(
        "softmax-or-reduction-wrong",
        Replace(
            NETWORK,
            "self.to_residue = nn.Linear(width, VOCABULARY)",
            "self.to_residue = nn.Sequential(nn.Linear(width, VOCABULARY), nn.Softmax(dim=-1))",
        ),
        name="as-a-layer",
        held_out=True,
    ),
    source(
        "padding-dilutes-loss",
        Replace(DIFFUSION, "masked = (drawn < level[:, None]) & real\n", "masked = drawn < level[:, None]\n"),
    ),
    source(
        "padding-dilutes-loss",
        Replace(
            EXPERIMENT,
            "nats = (costs * masked).sum() / masked_total",
            "nats = (costs * masked).mean() / len(batches)",
        ),
        name="mean",
    ),
    source(
        "padding-dilutes-loss",
        Replace(
            CORPUS,
            "    real = torch.arange(tokens.shape[1]) < length[:, None]\n",
            "    real = torch.ones_like(tokens, dtype=torch.bool)\n",
        ),
        name="all-real",
        held_out=True,
    ),
    source(
        "loss-sign-inverted",
        Replace(
            DIFFUSION,
            '    return F.cross_entropy(logits.float().transpose(1, 2), tokens, reduction="none")\n',
            "    log_p = F.log_softmax(logits.float(), dim=-1)\n"
            "    return log_p.gather(-1, tokens[..., None]).squeeze(-1)\n",
        ),
    ),
    source(
        "loss-sign-inverted",
        Replace(
            EXPERIMENT,
            "            nats = (costs * masked).sum()",
            "            nats = -(costs * masked).sum()",
        ),
        name="negative",
    ),
    source(
        "loss-sign-inverted",
        Replace(
            EXPERIMENT,
            "            loss = nats + objective.b_factor_weight * b_factor_loss\n",
            "            loss = objective.b_factor_weight * b_factor_loss - nats\n",
        ),
        name="subtracted",
        held_out=True,
    ),
    source(
        "loss-numerically-unsafe",
        Replace(
            EXPERIMENT,
            "            nats = (costs * masked).sum() / masked_total\n",
            "            nats = ((costs * masked).sum(1) / masked.sum(1)).mean() / len(batches)\n",
        ),
    ),
    source(
        "loss-numerically-unsafe",
        Replace(
            EXPERIMENT,
            "            misses = (b_factor.float() - batch.b_factor).square()\n",
            "            misses = ((b_factor.float() - batch.b_factor) * batch.real).square().sqrt()\n",
        ),
        name="root",
    ),
    source(
        "loss-numerically-unsafe",
        Replace(
            EXPERIMENT,
            "            costs = nats_of(logits, batch.tokens) * ",
            "            right = logits.float().softmax(-1).gather(-1, batch.tokens[..., None]).squeeze(-1)\n"
            "            costs = -torch.log(right * masked) * ",
        ),
        Replace(EXPERIMENT, "level_weights, nats_of\n", "level_weights\n"),
        name="logarithm",
        held_out=True,
    ),
    # --- noise ----------------------------------------------------------------------------------------
    source(
        "timestep-bug",
        Replace(NETWORK, "        place = ", "        level = level.long()\n        place = "),
    ),
    source(
        "timestep-bug",
        Replace(EXPERIMENT, "self.network(noisy, level, batch", "self.network(noisy, 1.0 - level, batch"),
        name="reversed",
    ),
    source(
        "timestep-bug",
        Replace(NETWORK, "        place = ", "        level = level[:1]\n        place = "),
        name="first-only",
        held_out=True,
    ),
    source(
        "noise-levels-mismatch",
        Replace(
            EXPERIMENT,
            "self.noise.corrupt(batch.tokens, batch.real, level)",
            "self.noise.corrupt(\n"
            "                batch.tokens, batch.real, self.noise.draw_levels(len(batch), difficulty)\n"
            "            )",
        ),
    ),
    source(
        "noise-levels-mismatch",
        Replace(
            EXPERIMENT,
            "self.network(noisy, level, batch.exposure, batch.real)",
            "self.network(noisy, torch.full_like(level, difficulty), batch.exposure, batch.real)",
        ),
        name="difficulty",
    ),
    source(
        "noise-levels-mismatch",
        Replace(
            EXPERIMENT,
            "            with self.autocast():\n",
            "            sigma = -torch.log1p(-level)\n            with self.autocast():\n",
        ),
        Replace(EXPERIMENT, "self.network(noisy, level, batch", "self.network(noisy, sigma, batch"),
        name="sigma",
        held_out=True,
    ),
    source(
        "noise-schedule-ignored",
        Replace(
            EXPERIMENT,
            "            config.noise.low,\n"
            "            config.noise.high,\n"
            "            config.curriculum.drop_easy,\n"
            "            config.noise.one_level_per_batch,\n",
            "            drop_easy=config.curriculum.drop_easy,\n"
            "            one_level_per_batch=config.noise.one_level_per_batch,\n",
        ),
    ),
    source(
        "noise-schedule-ignored",
        Replace(
            DIFFUSION,
            "        return easiest + (hardest - easiest) * u\n",
            "        return 0.02 + 0.2 * u\n",
        ),
        name="in-the-draw",
    ),
    source(
        "noise-schedule-ignored",
        Replace(
            DIFFUSION,
            "        self.low, self.high = low, high\n",
            "        self.low, self.high = 0.05, 0.3\n",
        ),
        name="in-the-class",
        held_out=True,
    ),
    # --- the network ----------------------------------------------------------------------------------
    Form(
        "init-too-large",
        tuple((Replace(NETWORK, "std=0.05)", f"std={std})"),) for std in ("1.0", "3.0", "12.0")),
    ),
    Form(
        "init-too-large",
        tuple(
            (
                Replace(
                    NETWORK,
                    "        self.apply(self._initialise)\n",
                    "        self.apply(self._initialise)\n"
                    f"        nn.init.normal_(self.to_residue.weight, std={std})\n",
                ),
            )
            for std in ("3.0", "15.0", "80.0")
        ),
        name="head",
    ),
    source(
        "dead-units",
        Replace(NETWORK, "nn.init.normal_(module.weight, std=0.05)", "nn.init.zeros_(module.weight)"),
    ),
    source(
        "dead-units",
        Replace(
            NETWORK,
            "nn.init.normal_(module.weight, std=0.05)",
            "nn.init.constant_(module.weight, 0.05)",
        ),
        name="constant",
    ),
    source(
        "dead-units",
        Replace(NETWORK, "        x = self.norm(x)\n", "        x = torch.relu(self.norm(x))\n"),
        Replace(
            NETWORK,
            "        self.apply(self._initialise)\n",
            "        self.apply(self._initialise)\n        nn.init.constant_(self.norm.bias, -5.0)\n",
        ),
        name="never-on",
        held_out=True,
    ),
    Form(
        "attention-logit-growth",
        tuple(
            (Replace(NETWORK, "self.scale = (width // heads) ** -0.5", f"self.scale = {scale}"),)
            for scale in ("(width // heads) ** 0.5", "float(width)")
        ),
    ),
    source(
        "attention-logit-growth",
        Replace(
            NETWORK,
            "scores = (q * self.scale) @ k.transpose(-2, -1)",
            "scores = q @ k.transpose(-2, -1) / self.scale",
        ),
        name="divided",
    ),
    source(
        "vanishing-gradients",
        Replace(
            NETWORK,
            "            x = x + self.attention(self.norm_attention(x), real)\n"
            "            return x + self.feed(self.norm_feed(x))\n",
            "            return torch.sigmoid(self.feed(torch.sigmoid(self.attention(x, real))))\n",
        ),
        needs=(Give("network.depth", "3"), Give("network.norm_first", "true")),
    ),
    source(
        "vanishing-gradients",
        Replace(
            NETWORK,
            "            x = x + self.attention(self.norm_attention(x), real)\n"
            "            return x + self.feed(self.norm_feed(x))\n",
            "            x = torch.tanh(self.attention(x, real))\n"
            "            return torch.tanh(self.feed(x))\n",
        ),
        name="tanh",
        needs=(Give("network.depth", "3"), Give("network.norm_first", "true")),
    ),
    source(
        "no-master-weights",
        Replace(
            EXPERIMENT,
            "net.dropout, net.norm_first)\n",
            "net.dropout, net.norm_first)\n        self.network.to(torch.bfloat16)\n",
        ),
        needs=(Give("trainer.precision", "bf16"),),
    ),
    source(
        "no-master-weights",
        Replace(
            NETWORK,
            "        self.apply(self._initialise)\n",
            "        self.apply(self._initialise)\n        self.bfloat16()\n",
        ),
        name="in-the-network",
        needs=(Give("trainer.precision", "bf16"),),
    ),
    # --- shared tensors and averages --------------------------------------------------------------------
    source(
        "tensor-aliasing",
        Replace(DIFFUSION, "tokens.masked_fill(masked, MASK)", "tokens.masked_fill_(masked, MASK)"),
    ),
    source(
        "tensor-aliasing",
        Replace(
            DIFFUSION,
            "        return tokens.masked_fill(masked, MASK), masked\n",
            "        noisy = tokens\n        noisy[masked] = MASK\n        return noisy, masked\n",
        ),
        name="assigned",
    ),
    source(
        "tensor-aliasing",
        Replace(
            NETWORK,
            "nn.ModuleList(Block(width, heads, dropout, norm_first) for _ in range(depth))",
            "nn.ModuleList([Block(width, heads, dropout, norm_first)] * depth)",
        ),
        Replace(
            OPTIM,
            "        self.network = copy.deepcopy(network).requires_grad_(False)\n",
            "        self.network = copy.copy(network)\n",
        ),
        name="blocks",
        held_out=True,
        needs=AVERAGED,
    ),
    source(
        "ema-not-updated",
        Replace(
            OPTIM,
            "            mean.mul_(self.decay).add_(weight, alpha=1.0 - self.decay)\n",
            "            mean = self.decay * mean + (1.0 - self.decay) * weight\n",
        ),
        needs=AVERAGED,
    ),
    source(
        "ema-not-updated",
        Replace(
            EXPERIMENT,
            "        if self.average is not None:\n            self.average.update(self.network)\n",
            "",
        ),
        name="not-called",
        needs=AVERAGED,
    ),
    source(
        "ema-not-updated",
        Replace(
            OPTIM,
            "        for mean, weight in zip(self.network.parameters(), network.parameters()):\n"
            "            mean.mul_(self.decay).add_(weight, alpha=1.0 - self.decay)\n",
            '        weights = {f"module.{name}": weight for name, weight in network.named_parameters()}\n'
            "        for name, mean in self.network.named_parameters():\n"
            "            if name in weights:\n"
            "                mean.mul_(self.decay).add_(weights[name], alpha=1.0 - self.decay)\n",
        ),
        name="names",
        held_out=True,
        needs=AVERAGED,
    ),
    # --- validation -----------------------------------------------------------------------------------
    source(
        "validation-not-comparable",
        Replace(
            CALLBACKS,
            "torch.full((len(proteins),), share)",
            "torch.full((len(proteins),), share * experiment.curriculum.difficulty(experiment.step))",
        ),
    ),
    source(
        "validation-not-comparable",
        Replace(
            CALLBACKS,
            "            level = torch.full((len(proteins),), share)\n",
            "            difficulty = experiment.curriculum.difficulty(experiment.step)\n"
            "            level = experiment.noise.draw_levels(len(proteins), difficulty)\n",
        ),
        name="as-in-training",
    ),
    source(
        "validation-not-comparable",
        Replace(CALLBACKS, "LEVELS = (0.2, 0.5, 0.8, 0.95)", "LEVELS = (0.05, 0.1)"),
        name="easy",
        held_out=True,
    ),
    source(
        "validation-set-unstable",
        Replace(
            CALLBACKS,
            "        network.eval()\n",
            "        proteins = proteins[torch.randperm(len(proteins))[:4]]\n        network.eval()\n",
        ),
        Replace(CALLBACKS, "torch.Generator().manual_seed(MASK_SEED)", "None"),
    ),
    source(
        "validation-set-unstable",
        Replace(
            CALLBACKS, "        for share in LEVELS:\n", "        for share in torch.rand(1).tolist():\n"
        ),
        name="levels",
    ),
    source(
        "validation-set-unstable",
        Replace(
            CALLBACKS,
            "        network.eval()\n",
            "        first = int(torch.randint(len(proteins) - 3, (1,)))\n"
            "        proteins = proteins[first : first + 3]\n"
            "        network.eval()\n",
        ),
        Replace(CALLBACKS, ".manual_seed(MASK_SEED)", ".manual_seed(experiment.step)"),
        name="window",
        held_out=True,
    ),
    source(
        "eval-mode-missing",
        Replace(CALLBACKS, "        network.eval()\n", ""),
        needs=(Give("network.dropout", "0.35"),),
    ),
    source(
        "eval-mode-missing",
        Replace(CALLBACKS, "        network.eval()\n", "        network.train()\n"),
        name="trains",
        needs=(Give("network.dropout", "0.35"),),
    ),
    source(
        "eval-mode-missing",
        Replace(CALLBACKS, "        network.eval()\n", "        experiment.network.eval()\n"),
        name="the-other",
        held_out=True,
        needs=(Give("network.dropout", "0.35"), *AVERAGED),
    ),
    Form(
        "left-in-eval-mode",
        ((Replace(CALLBACKS, "        network.train()\n", ""),),),
        onset=0.08,
        needs=(Give("network.dropout", "0.3"), *NOT_AVERAGED),
    ),
    Form(
        "left-in-eval-mode",
        ((Replace(CALLBACKS, "        network.train()\n", "        network.train(network.training)\n"),),),
        name="as-it-was",
        onset=0.08,
        needs=(Give("network.dropout", "0.3"), *NOT_AVERAGED),
    ),
    source(
        "checkpoint-chosen-wrongly",
        Replace(
            CALLBACKS,
            '        if measured["nats"] < self.best:\n            self.best = measured["nats"]\n',
            '        if outcome["loss"] < self.best:\n            self.best = outcome["loss"]\n',
        ),
    ),
    source(
        "checkpoint-chosen-wrongly",
        Replace(
            CALLBACKS,
            "        measured = self.validate(experiment)\n",
            '        measured = self.validate(experiment)\n        train_nats = outcome["nats"]\n',
        ),
        Replace(
            CALLBACKS,
            '        if measured["nats"] < self.best:\n            self.best = measured["nats"]\n',
            "        if train_nats < self.best:\n            self.best = train_nats\n",
        ),
        name="nats",
    ),
    source(
        "checkpoint-chosen-wrongly",
        Replace(
            CALLBACKS,
            '        self.best = float("inf")\n',
            '        self.best, self.smooth = float("inf"), 3.0\n',
        ),
        Replace(
            CALLBACKS,
            "        if experiment.step % self.every:\n            return\n        measured",
            '        self.smooth += 0.1 * (outcome["loss"] - self.smooth)\n'
            "        if experiment.step % self.every:\n            return\n        measured",
        ),
        Replace(
            CALLBACKS,
            '        if measured["nats"] < self.best:\n            self.best = measured["nats"]\n',
            "        if self.smooth < self.best:\n            self.best = self.smooth\n",
        ),
        name="smoothed",
        held_out=True,
    ),
    source(
        "wrong-weights-evaluated",
        Replace(
            EXPERIMENT,
            "        return self.average.network if self.average is not None else self.network\n",
            "        return self.at_start\n",
        ),
        Replace(
            EXPERIMENT,
            "        ramp_steps = ",
            "        self.at_start = WeightAverage(self.network, 0.0).network\n        ramp_steps = ",
        ),
    ),
    source(
        "wrong-weights-evaluated",
        Replace(
            CALLBACKS,
            "        network.eval()\n",
            "        if self.path.exists():\n"
            "            network.load_state_dict(torch.load(self.path))\n"
            "        network.eval()\n",
        ),
        Replace(
            CALLBACKS,
            "network, proteins = experiment.best_network, experiment.held_back",
            "network, proteins = copy.deepcopy(experiment.best_network), experiment.held_back",
        ),
        Replace(CALLBACKS, "import torch\n\nfrom", "import copy\n\nimport torch\n\nfrom"),
        name="best",
    ),
    source(
        "wrong-weights-evaluated",
        Replace(
            CALLBACKS,
            "    def on_step_end(self, experiment, outcome):\n"
            "        if experiment.step % self.every:\n            return\n",
            "    def on_fit_start(self, experiment):\n"
            "        self.network = copy.deepcopy(experiment.best_network)\n\n"
            "    def on_step_end(self, experiment, outcome):\n"
            "        if experiment.step % self.every:\n            return\n",
        ),
        Replace(
            CALLBACKS,
            "network, proteins = experiment.best_network, experiment.held_back",
            "network, proteins = self.network, experiment.held_back",
        ),
        Replace(CALLBACKS, "import torch\n\nfrom", "import copy\n\nimport torch\n\nfrom"),
        name="copy",
        held_out=True,
    ),
    source(
        "metric-wrong",
        Replace(CALLBACKS, "nats_of(logits, proteins.tokens)[masked]", "nats_of(logits, noisy)[masked]"),
    ),
    source(
        "metric-wrong",
        Replace(
            CALLBACKS,
            "nats_of(logits, proteins.tokens)[masked]",
            "nats_of(logits.softmax(-1), proteins.tokens)[masked]",
        ),
        name="softmax",
    ),
    source(
        "metric-wrong",
        Replace(
            CALLBACKS,
            "nats_of(logits, proteins.tokens)[masked].sum()",
            "nats_of(logits, proteins.tokens.flip(1))[masked].sum()",
        ),
        name="flipped",
        held_out=True,
    ),
    source("metric-aggregation-wrong", Replace(CALLBACKS, "        self.outcomes.clear()\n", "")),
    source(
        "metric-aggregation-wrong",
        Replace(
            CALLBACKS, "[masked].sum().item()\n            right", "[masked].mean().item()\n            right"
        ),
        name="divided-twice",
    ),
    source(
        "metric-aggregation-wrong",
        Replace(
            CALLBACKS, " for outcome in self.outcomes) / len(self.outcomes)", " for outcome in self.outcomes)"
        ),
        name="sum",
        held_out=True,
        needs=(Give("logging.every_n_steps", "20"),),
    ),
    # --- the data -------------------------------------------------------------------------------------
    source(
        "data-range-mismatch",
        Replace(
            CORPUS,
            '    exposure = (torch.from_numpy(arrays["exposure"]).float() - 50.0) / 30.0\n',
            '    exposure = torch.from_numpy(arrays["exposure"]).float()\n'
            '    if split == "train":\n'
            "        exposure = (exposure - 50.0) / 30.0\n",
        ),
    ),
    source(
        "data-range-mismatch",
        Replace(
            CALLBACKS,
            "network(noisy, level, proteins.exposure,",
            "network(noisy, level, (proteins.exposure - 50.0) / 30.0,",
        ),
        name="again",
    ),
    source(
        "data-range-mismatch",
        Replace(
            EXPERIMENT,
            "        net = config.network\n",
            "        self.stream.proteins.exposure.mul_(30.0).add_(50.0).div_(100.0)\n"
            "        net = config.network\n",
        ),
        name="other-units",
        held_out=True,
    ),
    source("data-not-shuffled", spoiling.in_order("family"), Give("data.shuffle", "false")),
    source(
        "data-not-shuffled",
        spoiling.in_order("family"),
        Replace(
            CORPUS,
            "        if self.shuffle:\n            return torch.randperm",
            "        if not self.shuffle:\n            return torch.randperm",
        ),
        name="inverted",
    ),
    source(
        "data-not-shuffled",
        spoiling.in_order("family"),
        Replace(
            CORPUS,
            "            return torch.randperm(len(self.proteins), generator=self.generator)\n",
            "            torch.randperm(len(self.proteins), generator=self.generator)\n",
        ),
        name="not-returned",
        held_out=True,
    ),
)

RESUMED = (
    resumed(
        "optimizer-state-lost",
        Replace(EXPERIMENT, '        self.optimizer.load_state_dict(state["optimizer"])\n', ""),
    ),
    resumed(
        "optimizer-state-lost",
        Replace(EXPERIMENT, '            "optimizer": self.optimizer.state_dict(),\n', ""),
        Replace(
            EXPERIMENT,
            '        self.optimizer.load_state_dict(state["optimizer"])\n',
            '        if "optimizer" in state:\n'
            '            self.optimizer.load_state_dict(state["optimizer"])\n',
        ),
        name="not-kept",
    ),
    resumed(
        "schedule-not-restored",
        Replace(EXPERIMENT, '        self.schedule.load_state_dict(state["schedule"])\n', ""),
    ),
    resumed(
        "schedule-not-restored",
        Replace(
            EXPERIMENT,
            '        self.schedule.load_state_dict(state["schedule"])\n',
            "        self.schedule = WarmupSchedule(self.optimizer, self.config.optim)\n",
        ),
        name="made-again",
    ),
    resumed(
        "schedule-not-restored",
        Replace(
            OPTIM, '        self.count = state["count"]\n', '        self.count = state.get("last_step", 0)\n'
        ),
        name="other-key",
        held_out=True,
    ),
    resumed(
        "weights-not-restored",
        Replace(EXPERIMENT, '        self.network.load_state_dict(state["network"])\n', ""),
    ),
    resumed(
        "weights-not-restored",
        Replace(
            EXPERIMENT,
            '        self.network.load_state_dict(state["network"])\n',
            '        weights = {f"module.{name}": weight for name, weight in state["network"].items()}\n'
            "        self.network.load_state_dict(weights, strict=False)\n",
        ),
        name="names",
    ),
    resumed(
        "weights-not-restored",
        Replace(
            EXPERIMENT,
            '        self.network.load_state_dict(state["network"])\n',
            '        kept = {name: one for name, one in state["network"].items() if "blocks." in name}\n'
            "        self.network.load_state_dict(kept, strict=False)\n",
        ),
        name="in-part",
        held_out=True,
    ),
    resumed(
        "data-replayed-after-resume",
        Replace(
            EXPERIMENT,
            '        self.stream.load_state_dict(state["stream"])\n'
            '        torch.set_rng_state(state["rng"])\n',
            "",
        ),
    ),
    resumed(
        "data-replayed-after-resume",
        Replace(
            CORPUS,
            '        self.order, self.cursor = state["order"], state["cursor"]\n'
            '        self.generator.set_state(state["generator"])\n',
            '        self.order, self.cursor = state["order"], 0\n',
        ),
        name="from-the-front",
    ),
)

RUNTIME = (
    Form(
        "silent-data-corruption", ((Disturb("flipped-bit", 0.8),), (Disturb("flipped-bit", 0.95),)), onset=0.8
    ),
    Form("hardware-slowdown", ((Disturb("slowed", 0.7),),), onset=0.7),
)

BENIGN = (
    Form(
        "restart-with-duplicates",
        tuple((Interrupt(at, ("--resume", "latest")),) for at in (0.3, 0.55, 0.75)),
        onset=0.3,
    ),
    Form(
        "cyclic-learning-rate",
        tuple((Give("optim.schedule", "cycles"), Give("optim.cycles", cycles)) for cycles in ("2", "3", "4")),
    ),
    Form(
        "curriculum-raises-loss",
        tuple(
            (Give("curriculum.start", start), Give("curriculum.ramp", ramp))
            for start, ramp in (("0.25", "0.4"), ("0.22", "0.45"), ("0.2", "0.5"))
        ),
    ),
    Form(
        "curriculum-raises-loss",
        tuple(
            (
                Give("curriculum.shape", shape),
                Give("curriculum.start", "0.2"),
                Give("curriculum.ramp", "0.5"),
            )
            for shape in ("cosine", "exponential")
        ),
        name="shapes",
    ),
    Form(
        "data-stage-change",
        tuple((Give("data.short_until", share),) for share in ("0.05", "0.1", "0.15")),
        onset=0.05,
    ),
    Form(
        "heavy-tailed-loss",
        (
            (Give("noise.one_level_per_batch", "true"),),
            (Give("noise.one_level_per_batch", "true"), Give("logging.every_n_steps", "1")),
        ),
    ),
    Form(
        "early-peak-is-noise",
        (tuple(spoiling.shifted(key, lambda array: array[:6]) for key in ARRAYS),),
    ),
)

FORMS = (*SETTINGS, *DATA, *SOURCE, *RESUMED, *RUNTIME, *BENIGN)
