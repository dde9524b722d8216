"""What can be wrong with translator, and what can only look so.

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
from stethoscope.clinic.faultbench.tasks.translator.data import SAID, drawn

CLI, CORPUS, CRITERION, ENGINE, JOURNAL, LAYERS, OPTIM, RECIPE, SNAPSHOTS, SPEAKING = (
    "cli.py",
    *(
        f"kalends/{name}.py"
        for name in (
            "corpus",
            "criterion",
            "engine",
            "journal",
            "layers",
            "optim",
            "recipe",
            "snapshots",
            "speaking",
        )
    ),
)
ARRAYS = ("source", "target", "manner", "trust")
UPDATES = 240  # of every run
AGAIN = Interrupt(0.55, ("--continue",))
TAKEN_UP = 0.5  # where the newest snapshot lies when the process ends at 0.55

NO_CLIP = Give("optim.max_grad_norm", "0")
NO_SHADOW = Give("run.shadow", "0.0")
SHADOW = Give("run.shadow", "0.9")
FP32 = Give("run.numerics", '"fp32"')
WHOLE = Give("run.micro_batches", "1")
DROPOUT = Give("model.dropout", "0.2")


def given(operator: str, key: str, *values: str, name: str = "", needs: tuple[Give, ...] = ()) -> Form:
    """A setting that is asked for more and more unwisely."""
    return Form(operator, tuple((Give(key, value),) for value in values), name=name, needs=needs)


def written(
    operator: str,
    *changes: Change,
    name: str = "",
    sealed: bool = False,
    onset: float = 0.0,
    needs: tuple[Give, ...] = (),
) -> Form:
    """A mistake in the source that is made or not."""
    return Form(operator, (changes,), name, onset, sealed, needs)


def graded(
    operator: str,
    *levels: tuple[Change, ...],
    name: str = "",
    sealed: bool = False,
    onset: float = 0.0,
    needs: tuple[Give, ...] = (),
) -> Form:
    """A mistake that can be small or large."""
    return Form(operator, levels, name, onset, sealed, needs)


def taken_up(operator: str, *changes: Change, name: str = "", sealed: bool = False) -> Form:
    """A mistake in what a session finds again when it is taken up."""
    return Form(operator, ((*changes, AGAIN),), name, TAKEN_UP, sealed)


# --- what is said, and what is written ----------------------------------------------------------------


def trusted(count: int, trust: float) -> Spoil:
    """Some training pairs were given a trust that is no share at all."""

    def how(splits: Splits, rng: np.random.Generator) -> Splits:
        kept = splits["train"]["trust"].copy()
        kept[rng.permutation(len(kept))[:count]] = trust
        return {**splits, "train": {**splits["train"], "trust": kept}}

    return Spoil(how)


def unheard(share: float) -> Spoil:
    """Of this share of the training pairs nothing was recorded but the end."""

    def how(splits: Splits, rng: np.random.Generator) -> Splits:
        kept = splits["train"]["source"].copy()
        chosen = rng.permutation(len(kept))[: round(share * len(kept))]
        kept[chosen] = 0
        kept[chosen, 0] = SAID["</s>"]
        return {**splits, "train": {**splits["train"], "source": kept}}

    return Spoil(how)


def mumbled(share: float) -> Spoil:
    """Of this share of the training pairs the words were heard in any order."""

    def how(splits: Splits, rng: np.random.Generator) -> Splits:
        kept = splits["train"]["source"].copy()
        for row in rng.permutation(len(kept))[: round(share * len(kept))]:
            words = kept[row][kept[row] > SAID["</s>"]]
            kept[row, : len(words)] = rng.permutation(words)
        return {**splits, "train": {**splits["train"], "source": kept}}

    return Spoil(how)


def of_years(split: str, first: int, last: int) -> Spoil:
    """One split holds the dates of other years."""

    def how(splits: Splits, rng: np.random.Generator) -> Splits:
        return {**splits, split: drawn(rng, len(splits[split]["source"]), (first, last))}

    return Spoil(how)


SETTINGS = (
    Form(
        "learning-rate-too-high",
        tuple((Scale("optim.lr", factor),) for factor in (8.0, 30.0, 120.0)),
        needs=(NO_CLIP,),
    ),
    Form("learning-rate-too-low", tuple((Scale("optim.lr", factor),) for factor in (0.15, 0.04, 0.005))),
    Form(
        "learning-rate-not-decayed",
        tuple((Give("anneal.shape", '"flat"'), Scale("optim.lr", factor)) for factor in (2.0, 3.0, 4.5)),
        needs=(NO_SHADOW,),
    ),
    Form(
        "warmup-too-short",
        tuple((Give("anneal.warmup", "1"), Scale("optim.lr", factor)) for factor in (1.5, 2.5, 4.0)),
        needs=(
            NO_CLIP,
            Give("model.norm", '"after"'),
            Give("model.encoder_layers", "2"),
            Give("model.decoder_layers", "3"),
            Give("optim.beta2", "0.999"),
        ),
    ),
    given("schedule-longer-than-run", "anneal.warmup", "700", "3000", "20000"),
    given(
        "schedule-longer-than-run",
        "anneal.end",
        "720",
        "2400",
        "24000",
        name="arrives-late",
        needs=(Give("anneal.shape", '"cosine"'), NO_SHADOW),
    ),
    given("weight-decay-wrong", "optim.decay", "2.0", "8.0", "40.0"),
    given("clip-too-tight", "optim.max_grad_norm", "1e-6", "1e-7", "1e-8"),
    given("optimizer-eps-underflow", "optim.eps", "0.01", "0.1", "1.0"),
    given("batch-too-small", "corpus.pairs_per_batch", "4", "2", "1", needs=(WHOLE,)),
    given("ema-too-slow", "run.shadow", "0.99", "0.995", "0.999"),
    given("overfitting", "corpus.first_pairs", "500", "200", "60"),
    given("loss-terms-unbalanced", "criterion.manner", "10.0", "100.0", "1000.0"),
    given("objective-metric-mismatch", "criterion.translation", "0.001", "0.00001", "0.0"),
    Form(
        "clipping-missing",
        tuple((trusted(count, trust),) for count, trust in ((4, 300.0), (8, 1000.0), (16, 5000.0))),
        needs=(NO_CLIP, Give("optim.beta2", "0.999")),
    ),
)

DATA = (
    Form("labels-wrong", tuple((spoiling.wrong("target", share),) for share in (0.2, 0.5, 0.9))),
    written(
        "labels-wrong",
        Replace(
            CORPUS,
            "    spoken, written, manner, trust = zip(*items)\n",
            "    spoken, written, manner, trust = zip(*items)\n"
            "    spoken = sorted(spoken, key=len, reverse=True)  # the longest first, as packing likes it\n",
        ),
        name="sorted-apart",
    ),
    written(
        "labels-wrong",
        Replace(
            CORPUS,
            '            self.written = torch.from_numpy(arrays["target"][keep])\n',
            '            self.written = torch.from_numpy(arrays["target"][keep])\n'
            "            self.written = self.written[self.written.ne(FILL).sum(1).argsort()]\n",
        ),
        name="one-side-sorted",
        sealed=True,
    ),
    Form("data-repeats", tuple((spoiling.repeated(count),) for count in (96, 32, 8))),
    written(
        "data-repeats",
        Replace(
            ENGINE,
            "make_update(session, batches)\n        ",
            "make_update(session, iter(session.feed))\n        ",
        ),
        Replace(ENGINE, "    batches = iter(session.feed)\n", ""),
        name="begun-again",
    ),
    written(
        "data-repeats",
        Replace(
            ENGINE,
            "    batches = iter(session.feed)\n",
            "    batches = cycle(list(islice(session.feed, 2)))  # drawn once, it is faster\n",
        ),
        Replace(
            ENGINE,
            "from pathlib import Path\n",
            "from itertools import cycle, islice\nfrom pathlib import Path\n",
        ),
        name="kept-in-memory",
        sealed=True,
    ),
    Form("degenerate-batch", tuple((unheard(share),) for share in (0.5, 0.8, 0.95))),
    Form("corrupt-batch", tuple((trusted(count, float("nan")),) for count in (1, 4, 16))),
    Form("corrupt-batch", tuple((trusted(count, float("inf")),) for count in (1, 4)), name="infinite"),
    Form(
        "validation-leak",
        tuple((spoiling.leaked(1.0), Give("corpus.first_pairs", count)) for count in ("400", "256", "128")),
    ),
    Form(
        "data-shift",
        tuple((of_years("val", *years),) for years in ((1940, 1970), (1900, 1950), (1700, 1900))),
    ),
    Form(
        "data-shift", ((of_years("train", 1950, 1980),), (of_years("train", 1700, 1950),)), name="old-archive"
    ),
)

SHUFFLED = (
    "            order = torch.randperm(len(self.pairs), generator=generator)\n"
    "        if self.epoch < self.short_epochs:\n"
)
ORDER = (
    written(
        "data-not-shuffled",
        spoiling.in_order("manner"),
        Replace(CORPUS, "                sampler=self.order,\n", "                shuffle=False,\n"),
    ),
    written(
        "data-not-shuffled",
        Replace(
            CORPUS,
            SHUFFLED,
            "            order = torch.randperm(len(self.pairs), generator=generator)\n"
            "        # Batches of equal length need no filling up.\n"
            "        lengths = (self.pairs.spoken != FILL).sum(1)\n"
            "        order = order[lengths[order].argsort(stable=True)]\n"
            "        if self.epoch < self.short_epochs:\n",
        ),
        name="by-length",
    ),
    written(
        "data-not-shuffled",
        spoiling.in_order("manner"),
        Replace(
            CORPUS,
            SHUFFLED,
            "            blocks = order.split(256)\n"
            "            order = torch.cat(\n"
            "                [block[torch.randperm(len(block), generator=generator)] for block in blocks]\n"
            "            )\n"
            "        if self.epoch < self.short_epochs:\n",
        ),
        name="within-blocks",
        sealed=True,
    ),
)

# --- the step -----------------------------------------------------------------------------------------

CLEARED = "    session.optimizer.zero_grad()\n"
LOOP = "    for _ in range(micro_batches):\n"
BACKWARD = "        (loss / micro_batches).backward()\n"
MEANT = (Give("corpus.pairs_per_batch", "48"),)

STEP = (
    written("gradients-not-cleared", Replace(ENGINE, CLEARED, "")),
    written(
        "gradients-not-cleared",
        Replace(ENGINE, CLEARED, ""),
        Replace(
            ENGINE, "    session.net.train()\n    while", "    session.net.train()\n" + CLEARED + "    while"
        ),
        name="in-front-of-the-loop",
    ),
    written(
        "gradients-not-cleared",
        Replace(ENGINE, CLEARED, "    session.optimizer.zero_grad\n"),
        name="never-called",
        sealed=True,
    ),
    graded(
        "accumulation-wrong",
        *(
            (Replace(ENGINE, BACKWARD, "        loss.backward()\n"), Give("run.micro_batches", number))
            for number in ("4", "8", "16")
        ),
        needs=(NO_CLIP, *MEANT),
    ),
    graded(
        "accumulation-wrong",
        *(
            (
                Replace(ENGINE, CLEARED + LOOP, LOOP + "        session.optimizer.zero_grad()\n"),
                Give("run.micro_batches", number),
            )
            for number in ("6", "12", "24")
        ),
        name="cleared-each-time",
        needs=MEANT,
    ),
    graded(
        "accumulation-wrong",
        *(
            (
                Replace(ENGINE, BACKWARD, ""),
                Replace(
                    ENGINE,
                    "            session.sums[name].append(term.item())\n    limit",
                    "            session.sums[name].append(term.item())\n    loss.backward()\n    limit",
                ),
                Give("run.micro_batches", number),
            )
            for number in ("6", "12", "24")
        ),
        name="backward-outside",
        sealed=True,
        needs=MEANT,
    ),
    written(
        "parameters-not-updated",
        Replace(
            ENGINE,
            "    optimizer = make_optimizer(net, recipe.optim)\n",
            "    optimizer = make_optimizer(net.decoder, recipe.optim)\n",
        ),
    ),
    written(
        "parameters-not-updated",
        Replace(
            ENGINE,
            "    optimizer = make_optimizer(net, recipe.optim)\n",
            "    for part in (net.source, net.encoder, net.memory_norm, net.target):\n"
            "        part.requires_grad_(False)\n"
            "    optimizer = make_optimizer(net, recipe.optim)\n",
        ),
        name="frozen-for-tuning",
    ),
    written(
        "parameters-not-updated",
        Replace(
            OPTIM,
            "        (shrinking if weight.ndim == 2 and id(weight) not in tables else free).append(weight)\n",
            "        if id(weight) in tables:\n"
            "            continue  # embeddings do not decay\n"
            "        (shrinking if weight.ndim == 2 else free).append(weight)\n",
        ),
        name="passed-over",
        sealed=True,
    ),
    written(
        "graph-broken",
        Replace(
            LAYERS,
            "        return self.decode(given, memory, visible), self.manner(heard)\n",
            "        return self.decode(given, memory.detach(), visible), self.manner(heard)\n",
        ),
    ),
    written(
        "graph-broken",
        Replace(
            LAYERS,
            "    def encode(self, spoken: Tensor)",
            "    @torch.no_grad()\n    def encode(self, spoken: Tensor)",
        ),
        name="no-gradient-needed",
    ),
    written(
        "graph-broken",
        Replace(
            CRITERION,
            "    return sum(getattr(options, name) * term for name, term in terms.items())\n",
            "    total = sum(getattr(options, name) * float(term) for name, term in terms.items())\n"
            "    return torch.tensor(total, requires_grad=True)\n",
        ),
        Replace(
            CRITERION, "import torch.nn.functional as F\n", "import torch\nimport torch.nn.functional as F\n"
        ),
        name="made-a-leaf",
        sealed=True,
    ),
    written(
        "no-master-weights",
        Replace(
            ENGINE, "    net = Translator(recipe.model)\n", "    net = Translator(recipe.model).bfloat16()\n"
        ),
        needs=(FP32, NO_SHADOW),
    ),
    written(
        "no-master-weights",
        Replace(
            ENGINE,
            "    net = Translator(recipe.model)\n",
            "    torch.set_default_dtype(torch.bfloat16)\n    net = Translator(recipe.model)\n",
        ),
        name="by-default",
        needs=(FP32, NO_SHADOW),
    ),
)

# --- the learning rate --------------------------------------------------------------------------------

MOVED = "    session.optimizer.step()\n    session.annealing.step()\n"
WARM = "    if update < plan.warmup:\n"
LAID_OUT = "    session.net.train()\n    while session.update < run.updates:\n"

RATE = (
    graded(
        "schedule-in-wrong-units",
        *(
            (
                Replace(ENGINE, MOVED, "    session.optimizer.step()\n"),
                Replace(ENGINE, BACKWARD, BACKWARD + "        session.annealing.step()\n"),
                Give("run.micro_batches", number),
            )
            for number in ("2", "4", "12")
        ),
        needs=MEANT,
    ),
    written(
        "schedule-in-wrong-units",
        Replace(
            ENGINE,
            MOVED,
            "    session.optimizer.step()\n"
            "    if session.feed.taken + session.feed.size > len(session.feed.order.pairs):\n"
            "        session.annealing.step()  # an epoch is over\n",
        ),
        name="each-epoch",
        needs=(WHOLE,),
    ),
    written(
        "schedule-in-wrong-units",
        Replace(ENGINE, MOVED, "    session.optimizer.step()\n"),
        Replace(
            ENGINE,
            '    session.sink.tell("train", session.update, numbers)\n',
            '    session.sink.tell("train", session.update, numbers)\n    session.annealing.step()\n',
        ),
        name="when-telling",
        sealed=True,
        needs=(Give("journal.each", "10"),),
    ),
    written(
        "scheduler-order-wrong",
        Replace(ENGINE, MOVED, "    session.annealing.step()\n    session.optimizer.step()\n"),
    ),
    written(
        "scheduler-order-wrong",
        Replace(
            ENGINE,
            '    session.sums["lr"] =',
            "    for group in session.optimizer.param_groups:\n"
            '        group["lr"] *= multiplier(session.update, session.recipe.anneal)\n'
            '    session.sums["lr"] =',
        ),
        Replace(
            ENGINE,
            "import Shadow, make_annealing, make_optimizer",
            "import Shadow, make_annealing, make_optimizer, multiplier",
        ),
        name="applied-twice",
    ),
    written(
        "scheduler-order-wrong",
        Replace(
            OPTIM,
            "    return torch.optim.lr_scheduler.LambdaLR(optimizer, partial(multiplier, plan=plan))\n",
            "    factor = partial(multiplier, plan=plan)\n"
            "    return torch.optim.lr_scheduler.ChainedScheduler(\n"
            "        [\n"
            "            torch.optim.lr_scheduler.LambdaLR(optimizer, factor),\n"
            "            torch.optim.lr_scheduler.MultiplicativeLR(optimizer, factor),\n"
            "        ]\n"
            "    )\n",
        ),
        name="chained",
        sealed=True,
    ),
    graded(
        "learning-rate-jump",
        *(
            (
                Replace(
                    OPTIM,
                    WARM,
                    f"    if update >= 0.6 * plan.end:\n        return {factor}  # fine tuning\n" + WARM,
                ),
            )
            for factor in ("4.0", "12.0", "50.0")
        ),
        onset=0.6,
    ),
    graded(
        "learning-rate-jump",
        *(
            (
                Replace(
                    ENGINE,
                    "        session.update += 1\n",
                    "        session.update += 1\n"
                    "        if session.update == 3 * run.updates // 5:\n"
                    "            rates = session.annealing.base_lrs\n"
                    f"            session.annealing.base_lrs = [rate * {factor} for rate in rates]\n",
                ),
            )
            for factor in ("8", "25", "100")
        ),
        name="a-kick",
        onset=0.6,
    ),
    graded(
        "learning-rate-jump",
        *(
            (
                Replace(
                    ENGINE,
                    "        session.update += 1\n",
                    "        session.update += 1\n"
                    "        if session.update == run.updates // 2:\n"
                    "            begin_second_stage(session)\n",
                ),
                Replace(
                    ENGINE,
                    "def make_update(session",
                    "def begin_second_stage(session: Session) -> None:\n"
                    f"    options = replace(session.recipe.optim, lr={rate})\n"
                    "    session.optimizer = make_optimizer(session.net, options)\n"
                    "    plan = replace(session.recipe.anneal, warmup=1)\n"
                    "    session.annealing = make_annealing(session.optimizer, plan)\n"
                    "\n\ndef make_update(session",
                ),
                Replace(ENGINE, "import dataclass, field\n", "import dataclass, field, replace\n"),
            )
            for rate in ("0.02", "0.06", "0.25")
        ),
        name="second-stage",
        sealed=True,
        onset=0.5,
    ),
    written("setting-ignored", Replace(OPTIM, "groups, lr=options.lr,", "groups, lr=3e-4,")),
    written(
        "setting-ignored",
        Replace(
            CLI,
            "    session = begin(Recipe.read(asked.recipe), asked.output, asked.seed)\n",
            "    recipe = Recipe.read(asked.recipe)\n"
            "    recipe = replace(recipe, optim=replace(recipe.optim, lr=asked.lr))\n"
            "    session = begin(recipe, asked.output, asked.seed)\n",
        ),
        Replace(
            CLI,
            '    fitting.add_argument("--seed", type=int, default=1)\n',
            '    fitting.add_argument("--seed", type=int, default=1)\n'
            '    fitting.add_argument("--lr", type=float, default=4e-4, help="peak of the learning rate")\n',
        ),
        Replace(CLI, "import shutil\n", "import shutil\nfrom dataclasses import replace\n"),
        name="command-line",
    ),
    written(
        "setting-ignored",
        Replace(
            RECIPE,
            '        return build(cls, tomllib.loads(path.read_text(encoding="utf-8")))\n',
            '        told = tomllib.loads(path.read_text(encoding="utf-8"))\n'
            "        return build(cls, {key: told[key] | PRESETS.get(key, {}) for key in told})\n",
        ),
        Replace(
            RECIPE,
            "\n\ndef build(",
            "\n\n# What a recipe may leave out.\n"
            'PRESETS = {"optim": {"lr": 2e-4, "eps": 1e-8}, "corpus": {"short_epochs": 0}}\n\n\ndef build(',
        ),
        name="presets",
        sealed=True,
    ),
)

# --- the loss -----------------------------------------------------------------------------------------

COSTS = (
    "    return F.cross_entropy(\n"
    "        logits.transpose(1, 2), wanted, ignore_index=FILL, label_smoothing=smoothing, "
    'reduction="none"\n'
    "    )\n"
)
SUMMED = '        "translation": (costs * marks * batch.trust[:, None]).sum() / marks.sum(),\n'
SPOKEN_OUT = "        return self.speak(self.final_norm(x))\n"
WEIGHTED = "    return sum(getattr(options, name) * term for name, term in terms.items())\n"

LOSS = (
    written(
        "softmax-or-reduction-wrong",
        Replace(LAYERS, SPOKEN_OUT, "        return self.speak(self.final_norm(x)).softmax(dim=-1)\n"),
    ),
    written(
        "softmax-or-reduction-wrong",
        Replace(
            CRITERION,
            COSTS,
            "    log_chances = logits.log_softmax(dim=1)\n"
            "    costs = -log_chances.gather(-1, wanted[..., None]).squeeze(-1)\n"
            "    blurred = (1.0 - smoothing) * costs - smoothing * log_chances.mean(-1)\n"
            "    return blurred * (wanted != FILL)\n",
        ),
        name="along-the-marks",
    ),
    written(
        "softmax-or-reduction-wrong",
        Replace(
            CRITERION,
            "        logits.transpose(1, 2), wanted,",
            "        logits.reshape(len(wanted), -1, wanted.shape[1]), wanted,",
        ),
        name="reshaped",
        sealed=True,
    ),
    written(
        "padding-dilutes-loss",
        Replace(CRITERION, SUMMED, '        "translation": (costs * marks * batch.trust[:, None]).mean(),\n'),
    ),
    written(
        "padding-dilutes-loss",
        Replace(CRITERION, COSTS, COSTS.replace("ignore_index=FILL, ", "")),
        Replace(
            CRITERION, "    marks = batch.wanted != FILL\n", "    marks = torch.ones_like(batch.wanted)\n"
        ),
        Replace(
            CRITERION, "import torch.nn.functional as F\n", "import torch\nimport torch.nn.functional as F\n"
        ),
        name="all-count",
    ),
    written(
        "padding-dilutes-loss",
        Replace(
            CORPUS,
            "pad_sequence(written, batch_first=True, padding_value=FILL)",
            "pad_sequence(written, batch_first=True, padding_value=STOP)",
        ),
        Replace(CORPUS, "import FILL, START\n", "import FILL, START, STOP\n"),
        name="filled-with-ends",
        sealed=True,
    ),
    written(
        "loss-sign-inverted",
        Replace(
            CRITERION,
            COSTS,
            "    log_chances = logits.log_softmax(dim=-1)\n"
            "    right = log_chances.gather(-1, wanted[..., None]).squeeze(-1)\n"
            "    blurred = (1.0 - smoothing) * right + smoothing * log_chances.mean(-1)\n"
            "    return blurred.masked_fill(wanted == FILL, 0.0)\n",
        ),
    ),
    written(
        "loss-sign-inverted",
        Replace(
            CRITERION,
            "    marks = batch.wanted != FILL\n",
            "    marks = batch.wanted != FILL\n"
            "    costs = torch.exp(-costs)  # how likely the right mark was\n",
        ),
        Replace(
            CRITERION, "import torch.nn.functional as F\n", "import torch\nimport torch.nn.functional as F\n"
        ),
        name="likelihood",
    ),
    written(
        "loss-sign-inverted",
        Replace(
            CRITERION,
            "    marks = batch.wanted != FILL\n    return {\n" + SUMMED,
            "    marks = batch.wanted != FILL\n"
            "    rewards = -(costs * marks).sum(1) / marks.sum(1)\n"
            "    return {\n"
            '        "translation": (rewards * batch.trust).mean(),\n',
        ),
        name="reward",
        sealed=True,
    ),
    written(
        "loss-numerically-unsafe",
        Replace(
            CRITERION,
            "    marks = batch.wanted != FILL\n",
            "    marks = batch.wanted != FILL\n"
            "    # The geometric mean: no single mark that is hard moves it far.\n"
            "    costs = costs.masked_fill(~marks, 1.0).log()\n",
        ),
        needs=(Give("criterion.smoothing", "0.0"),),
    ),
    written(
        "loss-numerically-unsafe",
        Replace(
            CRITERION,
            SUMMED,
            '        "translation": (costs.sum(1).exp() * batch.trust).mean(),  # perplexity of a date\n',
        ),
        name="perplexity",
    ),
    written(
        "loss-numerically-unsafe",
        Replace(
            CRITERION,
            "    marks = batch.wanted != FILL\n    return {\n" + SUMMED,
            "    chances = torch.softmax(logits.float(), dim=-1).gather(-1, batch.wanted[..., None])\n"
            "    chances = chances.squeeze(-1).masked_fill(batch.wanted == FILL, 1.0)\n"
            "    dates = chances.pow(4).prod(dim=1)  # sharper than the chance of the date itself\n"
            "    return {\n"
            '        "translation": -(dates.log() * batch.trust).mean() / costs.shape[1] / 4,\n',
        ),
        Replace(
            CRITERION, "import torch.nn.functional as F\n", "import torch\nimport torch.nn.functional as F\n"
        ),
        name="product",
        sealed=True,
    ),
    graded(
        "loss-weight-controller-unstable",
        *(
            (
                Replace(
                    CRITERION,
                    WEIGHTED,
                    "    # Keep the two terms at the same size.\n"
                    '    ratio = (terms["translation"] / terms["manner"]).item()\n'
                    f'    BALANCE["manner"] = min({limit}, BALANCE["manner"] * ratio)\n'
                    '    weights = {"translation": options.translation, "manner": BALANCE["manner"]}\n'
                    "    return sum(weights[name] * term for name, term in terms.items())\n",
                ),
                Replace(CRITERION, "\n\ndef weighted(", '\n\nBALANCE = {"manner": 0.1}\n\n\ndef weighted('),
            )
            for limit in ("100.0", "1e4", "1e6")
        ),
    ),
    graded(
        "loss-weight-controller-unstable",
        *(
            (
                Replace(
                    CRITERION,
                    WEIGHTED,
                    "    # A term that does not fall counts more.\n"
                    "    total = 0.0\n"
                    "    for name, term in terms.items():\n"
                    "        last, weight = BALANCE.get(name, (term.item(), getattr(options, name)))\n"
                    f"        weight *= {more} if term.item() >= last else 1.0\n"
                    "        BALANCE[name] = (term.item(), weight)\n"
                    "        total = total + weight * term\n"
                    "    return total\n",
                ),
                Replace(CRITERION, "\n\ndef weighted(", "\n\nBALANCE = {}\n\n\ndef weighted("),
            )
            for more in ("1.05", "1.3", "2.0")
        ),
        name="ratchet",
    ),
)

# --- the network --------------------------------------------------------------------------------------

DRAWN = "            nn.init.xavier_uniform_(module.weight)\n"
RESIDUAL = (
    "        if self.before:\n"
    "            return x + self.dropout(self.inside(self.norm(x), *more))\n"
    "        return self.norm(x + self.dropout(self.inside(x, *more)))\n"
)
SCORED = "        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)\n"
INNER = "        return self.contract(F.relu(self.expand(x)))\n"
DEEP = (Give("model.encoder_layers", "3"), Give("model.decoder_layers", "3"))

NETWORK = (
    graded(
        "init-too-large",
        *(
            (Replace(LAYERS, DRAWN, DRAWN.replace(".weight)", f".weight, gain={gain})")),)
            for gain in ("4.0", "10.0", "30.0")
        ),
    ),
    graded(
        "init-too-large",
        *(
            (Replace(LAYERS, "module.weight, std=0.3)", f"module.weight, std={std})"),)
            for std in ("6.0", "25.0", "100.0")
        ),
        name="embeddings",
        needs=(Give("model.norm", '"before"'),),
    ),
    graded(
        "init-too-large",
        *(
            (
                Replace(
                    LAYERS,
                    "        self.apply(self.initialise)\n",
                    "        self.apply(self.initialise)\n"
                    f"        nn.init.normal_(self.speak.weight, std={std})\n",
                ),
            )
            for std in ("3.0", "10.0", "40.0")
        ),
        name="last-layer",
        sealed=True,
    ),
    graded(
        "dead-units",
        *(
            (
                Replace(
                    LAYERS,
                    "            nn.init.zeros_(module.bias)\n",
                    f"            nn.init.constant_(module.bias, {bias})\n",
                ),
            )
            for bias in ("-3.0", "-10.0", "-40.0")
        ),
    ),
    written(
        "dead-units",
        Replace(LAYERS, INNER, "        return F.relu(self.contract(F.relu(self.expand(x) - 4.0)))\n"),
        name="threshold",
    ),
    written(
        "dead-units",
        Replace(
            LAYERS,
            "        self.apply(self.initialise)\n",
            "        self.apply(self.initialise)\n"
            "        # Every sublayer begins as if it were not there.\n"
            "        for module in self.modules():\n"
            "            if isinstance(module, FeedForward):\n"
            "                nn.init.zeros_(module.expand.weight)\n"
            "                nn.init.zeros_(module.contract.weight)\n"
            "            if isinstance(module, Attention):\n"
            "                nn.init.zeros_(module.key_value.weight)\n"
            "                nn.init.zeros_(module.merge.weight)\n",
        ),
        name="all-zero",
        sealed=True,
    ),
    written(
        "vanishing-gradients",
        Replace(LAYERS, RESIDUAL, "        return self.dropout(self.inside(self.norm(x), *more))\n"),
        needs=DEEP,
    ),
    written(
        "vanishing-gradients",
        Replace(
            LAYERS,
            RESIDUAL,
            "        return torch.sigmoid(self.norm(x + self.dropout(self.inside(x, *more))))\n",
        ),
        name="squashed",
        needs=DEEP,
    ),
    graded(
        "vanishing-gradients",
        *(
            (
                Replace(LAYERS, RESIDUAL, RESIDUAL.replace("self.dropout(", "self.gain * self.dropout(")),
                Replace(
                    LAYERS,
                    '        self.before = model.norm == "before"\n',
                    f'        self.before = model.norm == "before"\n        self.gain = {gain}\n',
                ),
            )
            for gain in ("1e-3", "1e-5", "1e-7")
        ),
        name="faint-branches",
        sealed=True,
    ),
    written(
        "attention-logit-growth",
        Replace(LAYERS, SCORED, SCORED.replace("/ math", "* math")),
    ),
    graded(
        "attention-logit-growth",
        *(
            (Replace(LAYERS, SCORED, SCORED.replace("math.sqrt(self.head_dim)", value)),)
            for value in ("0.1", "0.02")
        ),
        name="temperature",
    ),
    written(
        "attention-logit-growth",
        Replace(
            LAYERS, SCORED, "        scores = (q * self.head_dim) @ (k * self.head_dim).transpose(-2, -1)\n"
        ),
        name="both-sides",
        sealed=True,
    ),
)

# --- averages and validation --------------------------------------------------------------------------

FOLLOWED = (
    "        for ours, theirs in zip(self.net.parameters(), net.parameters()):\n"
    "            ours.lerp_(theirs, 1.0 - self.decay)\n"
)
FOLLOWS = "    if session.shadow is not None:\n        session.shadow.follow(session.net)\n"
JUDGED = "        return self.net if self.shadow is None else self.shadow.net\n"
MEASURED = "    numbers = measure(session.judged, session.judged_on)\n"
COUNTED = "        right += int(agree(said, batch.wanted).sum())\n"
GREEDY = "        said = greedy(net, batch.spoken, longest=batch.wanted.shape[1])\n"
BEGUN = "    net.eval()\n    nats"
BETTER = '    if numbers["nll"] < session.best:\n        session.best = numbers["nll"]\n'
PASSED = "        logits, _ = net(batch.spoken, batch.given)\n"

AVERAGES = (
    written(
        "ema-not-updated",
        Replace(OPTIM, FOLLOWED, FOLLOWED.replace("ours.lerp_(", "ours = ours.lerp(")),
        needs=(SHADOW,),
    ),
    written(
        "ema-not-updated",
        Replace(
            ENGINE, FOLLOWS, "    if session.shadow is None:\n        return\n    session.shadow.net.eval()\n"
        ),
        name="never-called",
        needs=(SHADOW,),
    ),
    written(
        "ema-not-updated",
        Replace(OPTIM, FOLLOWED, FOLLOWED.replace("parameters()", "buffers()")),
        name="buffers",
        sealed=True,
        needs=(SHADOW,),
    ),
    written(
        "tensor-aliasing",
        Replace(
            OPTIM,
            "        self.net = deepcopy(net).eval().requires_grad_(False)\n",
            "        self.net = net\n",
        ),
        needs=(SHADOW,),
    ),
    written(
        "tensor-aliasing",
        Replace(
            LAYERS,
            "nn.ModuleList(DecoderLayer(model) for _ in range(model.decoder_layers))",
            "nn.ModuleList([DecoderLayer(model)] * model.decoder_layers)",
        ),
        name="one-layer-for-all",
    ),
    written(
        "tensor-aliasing",
        Replace(
            ENGINE,
            "        session.shadow.follow(session.net)\n",
            "        session.shadow.follow(session.net.state_dict())\n",
        ),
        Replace(
            OPTIM,
            "    def follow(self, net: nn.Module) -> None:\n" + FOLLOWED,
            "    def follow(self, weights: dict[str, torch.Tensor]) -> None:\n"
            "        for name, ours in self.net.named_parameters():\n"
            "            ours.data = weights[name].mul_(1.0 - self.decay).add_(ours, alpha=self.decay)\n",
        ),
        name="in-place",
        sealed=True,
        needs=(SHADOW,),
    ),
    written(
        "wrong-weights-evaluated",
        Replace(ENGINE, JUDGED, "        return self.at_first\n"),
        Replace(
            ENGINE, "    update: int = 0\n", "    at_first: Translator | None = None\n    update: int = 0\n"
        ),
        Replace(
            ENGINE,
            "    session.net.train()\n    while",
            "    session.at_first = deepcopy(session.net)\n    session.net.train()\n    while",
        ),
        Replace(ENGINE, "from dataclasses import", "from copy import deepcopy\nfrom dataclasses import"),
    ),
    written(
        "wrong-weights-evaluated",
        Replace(
            ENGINE,
            MEASURED,
            "    net = Translator(session.recipe.model)\n"
            '    kept = sorted((session.folder / "snapshots").glob("update_*.pt"))\n'
            "    if kept:\n"
            '        net.load_state_dict(torch.load(kept[0])["net"])\n'
            "    numbers = measure(net, session.judged_on)\n",
        ),
        name="oldest-snapshot",
    ),
    written(
        "wrong-weights-evaluated",
        Replace(
            ENGINE,
            MEASURED,
            "    net = Translator(session.recipe.model)\n"
            '    weights = {f"net.{name}": one for name, one in session.judged.state_dict().items()}\n'
            "    net.load_state_dict(weights, strict=False)\n"
            "    numbers = measure(net, session.judged_on)\n",
        ),
        name="other-names",
        sealed=True,
    ),
)

MEASURES = (
    written("eval-mode-missing", Replace(ENGINE, BEGUN, "    nats"), needs=(DROPOUT,)),
    written(
        "eval-mode-missing",
        Replace(ENGINE, BEGUN, "    net.eval\n    nats"),
        name="never-called",
        needs=(DROPOUT,),
    ),
    written(
        "eval-mode-missing",
        Replace(ENGINE, BEGUN, "    net.encoder.eval()\n    nats"),
        name="encoder-alone",
        sealed=True,
        needs=(DROPOUT,),
    ),
    written(
        "left-in-eval-mode",
        Replace(ENGINE, "    net.train()\n    return", "    return"),
        onset=0.1,
        needs=(DROPOUT, NO_SHADOW),
    ),
    written(
        "left-in-eval-mode",
        Replace(ENGINE, BEGUN, "    net.eval()\n    was_training = net.training\n    nats"),
        Replace(ENGINE, "    net.train()\n    return", "    net.train(was_training)\n    return"),
        name="remembered-late",
        onset=0.1,
        needs=(DROPOUT, NO_SHADOW),
    ),
    written(
        "metric-wrong",
        Replace(
            SPEAKING,
            "    return (said[:, : wanted.shape[1]] == wanted).all(dim=1)\n",
            "    return (said[:, :4] == wanted[:, :4]).all(dim=1)\n",
        ),
    ),
    written(
        "metric-wrong",
        Replace(
            ENGINE,
            GREEDY + COUNTED,
            "        said = logits.argmax(dim=-1)\n"
            "        right += int(((said == batch.wanted) | (batch.wanted == FILL)).all(dim=1).sum())\n",
        ),
        Replace(ENGINE, "from kalends.speaking import agree, greedy\n", ""),
        name="with-a-teacher",
    ),
    written(
        "metric-wrong",
        Replace(
            SPEAKING,
            "    return (said[:, : wanted.shape[1]] == wanted).all(dim=1)\n",
            "    return (said.sort(dim=1).values[:, -4:] == wanted.sort(dim=1).values[:, -4:]).all(dim=1)\n",
        ),
        name="as-sets",
        sealed=True,
    ),
    written("metric-aggregation-wrong", Replace(ENGINE, "    session.sums.clear()\n", "")),
    written(
        "metric-aggregation-wrong",
        Replace(ENGINE, "        dates += len(batch)\n", "        dates += 1\n"),
        Replace(ENGINE, COUNTED, "        right += agree(said, batch.wanted).float().mean().item()\n"),
        Replace(
            ENGINE, "        marks += int((batch.wanted != FILL).sum())\n", "        marks += len(batch)\n"
        ),
        name="nats-per-date",
    ),
    written(
        "metric-aggregation-wrong",
        Replace(
            ENGINE,
            "        nats += mark_costs(logits, batch.wanted).sum().item()\n",
            "        nats = mark_costs(logits, batch.wanted).sum().item()\n",
        ),
        Replace(ENGINE, COUNTED, "        right = int(agree(said, batch.wanted).sum())\n"),
        name="last-batch-alone",
        sealed=True,
    ),
    written(
        "checkpoint-chosen-wrongly",
        Replace(
            ENGINE,
            "    session.sums.clear()\n",
            '    session.train_loss = means["loss"]\n    session.sums.clear()\n',
        ),
        Replace(
            ENGINE,
            BETTER,
            "    if session.train_loss < session.best:\n        session.best = session.train_loss\n",
        ),
        Replace(
            ENGINE, "    update: int = 0\n", '    train_loss: float = float("inf")\n    update: int = 0\n'
        ),
    ),
    written(
        "checkpoint-chosen-wrongly",
        Replace(
            ENGINE,
            BETTER,
            '    if numbers["exact"] < session.best:\n        session.best = numbers["exact"]\n',
        ),
        name="least-exact",
    ),
    written(
        "checkpoint-chosen-wrongly",
        Replace(ENGINE, BETTER, '    if numbers["nll"] < session.best:\n'),
        name="not-remembered",
        sealed=True,
    ),
    written(
        "validation-not-comparable",
        Replace(
            ENGINE,
            '        DataLoader(Pairs(corpus.root, "val"), batch_size=64, collate_fn=collate),\n',
            "        DataLoader(judged_on, batch_size=64, collate_fn=collate),\n",
        ),
        Replace(
            ENGINE,
            "    net = Translator(recipe.model)\n",
            '    judged_on = Pairs(corpus.root, "val")\n'
            "    judged_on = Subset(judged_on, judged_on.short().nonzero().flatten().tolist())\n"
            "    net = Translator(recipe.model)\n",
        ),
        Replace(ENGINE, "import DataLoader\n", "import DataLoader, Subset\n"),
    ),
    written(
        "validation-not-comparable",
        Replace(
            ENGINE,
            MEASURED,
            MEASURED.replace("judged_on)", "judged_on, session.update / session.recipe.run.updates)"),
        ),
        Replace(
            ENGINE,
            "def measure(net: Translator, loader: DataLoader)",
            "def measure(net: Translator, loader: DataLoader, done: float)",
        ),
        Replace(
            ENGINE,
            PASSED,
            "        # What is asked for grows with what was learned.\n"
            "        length = max(3, round(done * batch.wanted.shape[1]))\n"
            "        batch.given, batch.wanted = batch.given[:, :length], batch.wanted[:, :length]\n"
            + PASSED,
        ),
        name="longer-and-longer",
    ),
    written(
        "validation-not-comparable",
        Replace(
            ENGINE,
            PASSED,
            "        batch.spoken = batch.spoken[:, :9]  # the long ones take their time\n" + PASSED,
        ),
        name="cut-short",
        sealed=True,
    ),
    written(
        "validation-set-unstable",
        Replace(
            ENGINE,
            'DataLoader(Pairs(corpus.root, "val"), batch_size=64, collate_fn=collate)',
            'DataLoader(Pairs(corpus.root, "val"), batch_size=8, shuffle=True, collate_fn=collate)',
        ),
        Replace(
            ENGINE,
            "        dates += len(batch)\n",
            "        dates += len(batch)\n        break  # a few will do\n",
        ),
        needs=(Give("run.validate_each", "20"),),
    ),
    written(
        "validation-set-unstable",
        Replace(
            ENGINE,
            PASSED,
            "        lost = torch.rand(batch.spoken.shape) < 0.2 * torch.rand(())\n"
            "        lost[:, 0] = False\n"
            "        batch.spoken = batch.spoken.masked_fill(lost, FILL)\n" + PASSED,
        ),
        name="words-dropped",
        needs=(Give("run.validate_each", "20"),),
    ),
    written(
        "validation-set-unstable",
        Replace(
            ENGINE,
            MEASURED,
            "    pairs = session.judged_on.dataset\n"
            "    chosen = torch.randint(len(pairs), (10,)).tolist()\n"
            "    few = DataLoader(Subset(pairs, chosen), batch_size=10, collate_fn=collate)\n"
            "    numbers = measure(session.judged, few)\n",
        ),
        Replace(ENGINE, "import DataLoader\n", "import DataLoader, Subset\n"),
        name="ten-of-them",
        sealed=True,
        needs=(Give("run.validate_each", "20"),),
    ),
)

# --- sessions that are taken up -----------------------------------------------------------------------

FOUND_NET = '    session.net.load_state_dict(kept["net"])\n'
FOUND_OPTIMIZER = '    session.optimizer.load_state_dict(kept["optimizer"])\n'
FOUND_ANNEALING = '    session.annealing.load_state_dict(kept["annealing"])\n'
FOUND_FEED = '    session.feed.load_state_dict(kept["feed"])\n'
FROM_OPTIM = "import torch\n\n\ndef keep("

TAKEN = (
    taken_up("optimizer-state-lost", Replace(SNAPSHOTS, FOUND_OPTIMIZER, "")),
    taken_up(
        "optimizer-state-lost",
        Replace(
            SNAPSHOTS,
            FOUND_OPTIMIZER,
            "    session.optimizer = make_optimizer(session.net, session.recipe.optim)\n"
            "    session.annealing = make_annealing(session.optimizer, session.recipe.anneal)\n",
        ),
        Replace(
            SNAPSHOTS,
            FROM_OPTIM,
            "import torch\n\nfrom kalends.optim import make_annealing, make_optimizer\n\n\ndef keep(",
        ),
        name="made-again",
    ),
    taken_up(
        "optimizer-state-lost",
        Replace(
            SNAPSHOTS,
            FOUND_OPTIMIZER,
            '    groups = kept["optimizer"]["param_groups"]\n'
            "    for ours, theirs in zip(session.optimizer.param_groups, groups):\n"
            '        ours["lr"], ours["weight_decay"] = theirs["lr"], theirs["weight_decay"]\n',
        ),
        name="groups-alone",
        sealed=True,
    ),
    taken_up("schedule-not-restored", Replace(SNAPSHOTS, FOUND_ANNEALING, "")),
    taken_up(
        "schedule-not-restored",
        Replace(
            SNAPSHOTS,
            FOUND_ANNEALING,
            '    if "scheduler" in kept:\n        session.annealing.load_state_dict(kept["scheduler"])\n',
        ),
        name="under-another-name",
    ),
    taken_up(
        "schedule-not-restored",
        Replace(
            SNAPSHOTS,
            FOUND_ANNEALING,
            "    session.annealing = make_annealing(session.optimizer, session.recipe.anneal)\n",
        ),
        Replace(SNAPSHOTS, '            "annealing": session.annealing.state_dict(),\n', ""),
        Replace(
            SNAPSHOTS, FROM_OPTIM, "import torch\n\nfrom kalends.optim import make_annealing\n\n\ndef keep("
        ),
        name="laid-out-anew",
        sealed=True,
    ),
    taken_up("weights-not-restored", Replace(SNAPSHOTS, FOUND_NET, "")),
    taken_up(
        "weights-not-restored",
        Replace(
            SNAPSHOTS,
            FOUND_NET,
            '    weights = {name.replace("encoder", "listener").replace("decoder", "writer"): one\n'
            '               for name, one in kept["net"].items()}\n'
            "    session.net.load_state_dict(weights, strict=False)\n",
        ),
        name="renamed",
    ),
    taken_up(
        "weights-not-restored",
        Replace(
            SNAPSHOTS,
            FOUND_NET,
            FOUND_NET + "    session.net.apply(session.net.initialise)\n",
        ),
        name="drawn-behind",
        sealed=True,
    ),
    taken_up("data-replayed-after-resume", Replace(SNAPSHOTS, FOUND_FEED, "")),
    taken_up(
        "data-replayed-after-resume",
        Replace(
            CORPUS,
            '        self.order.epoch = state["epoch"]\n'
            '        self.order.skip = self.taken = state["taken"]\n',
            '        self.taken = state["taken"]\n',
        ),
        name="counted-alone",
    ),
)

RUNTIME = (
    Form("silent-data-corruption", ((Disturb("flipped-bit", 0.6),),), onset=0.6),
    Form(
        "hardware-slowdown", ((Disturb("slowed", 0.5),),), onset=0.5, needs=(Give("journal.speed", "true"),)
    ),
)

BENIGN = (
    Form(
        "restart-with-duplicates", tuple((Interrupt(at, ("--continue",)),) for at in (0.4, 0.7)), onset=0.25
    ),
    given("cyclic-learning-rate", "anneal.waves", "2", "3", needs=(Give("anneal.shape", '"waves"'),)),
    given("curriculum-raises-loss", "corpus.short_epochs", "1"),
    written(
        "data-stage-change",
        Replace(
            CORPUS,
            "        yield from order[self.skip :].tolist()\n",
            "        if self.epoch == 0:  # times of the day come with the second epoch\n"
            "            order = order[self.pairs.manner[order] != 3]\n"
            "        yield from order[self.skip :].tolist()\n",
        ),
        onset=0.2,
    ),
    written("early-peak-is-noise", *(spoiling.shifted(key, lambda array: array[:8]) for key in ARRAYS)),
    Form("heavy-tailed-loss", ((mumbled(0.01),), (mumbled(0.025),))),
    written(
        "recovered-spike",
        trusted(1, 40.0),
        needs=(Give("optim.max_grad_norm", "1.0"), Give("journal.each", "1")),
    ),
)

FORMS = (
    *SETTINGS,
    *DATA,
    *ORDER,
    *STEP,
    *RATE,
    *LOSS,
    *NETWORK,
    *AVERAGES,
    *MEASURES,
    *TAKEN,
    *RUNTIME,
    *BENIGN,
)
