"""What can be wrong with chargpt, and what can only look so.

A fault of the source is written in three ways where that is possible, one of them held out.
"""

from __future__ import annotations

import numpy as np

from stethoscope.clinic.faultbench import spoiling
from stethoscope.clinic.faultbench.task import (
    Disturb,
    Form,
    Give,
    Interrupt,
    Replace,
    Scale,
    Splits,
    Spoil,
)
from stethoscope.clinic.faultbench.tasks.chargpt.data import ALPHABET

TRAIN, MODEL = "train.py", "model.py"
RESUME = Interrupt(0.6, ("--resume", "latest"))
RESUMED_AT = 0.5  # the newest checkpoint lies here when the process ends at 0.6
FIRST_LETTER = 2  # what lies before it fills lines up or ends them


# --- data ---------------------------------------------------------------------------------------------


def garbled(share: float) -> Spoil:
    """This share of the characters to train with is another one."""

    def how(splits: Splits, rng: np.random.Generator) -> Splits:
        tokens = splits["train"]["tokens"].copy()
        chosen = (rng.random(tokens.shape) < share) & (tokens >= FIRST_LETTER)
        tokens[chosen] = rng.integers(FIRST_LETTER, len(ALPHABET), int(chosen.sum()))
        return {**splits, "train": {**splits["train"], "tokens": tokens}}

    return Spoil(how)


def few_lines(count: int) -> Spoil:
    """The corpus has few lines, each many times, and was split behind that."""

    def how(splits: Splits, rng: np.random.Generator) -> Splits:
        kept = {key: array[:count] for key, array in splits["train"].items()}
        return {
            name: {key: kept[key][np.arange(len(array)) % count] for key, array in arrays.items()}
            for name, arrays in splits.items()
        }

    return Spoil(how)


def gibberish(share: float) -> Spoil:
    """This share of the lines to train with is long and follows no rule."""

    def how(splits: Splits, rng: np.random.Generator) -> Splits:
        tokens = splits["train"]["tokens"].copy()
        chosen = rng.permutation(len(tokens))[: round(share * len(tokens))]
        tokens[chosen] = rng.integers(FIRST_LETTER, len(ALPHABET), (len(chosen), tokens.shape[1]))
        return {**splits, "train": {**splits["train"], "tokens": tokens}}

    return Spoil(how)


def _other_letters(tokens: np.ndarray) -> np.ndarray:
    moved = FIRST_LETTER + (tokens.astype(int) - FIRST_LETTER + 5) % (len(ALPHABET) - FIRST_LETTER)
    return np.where(tokens < FIRST_LETTER, tokens, moved).astype(tokens.dtype)


def _other_letters_in_part(tokens: np.ndarray) -> np.ndarray:
    few = np.arange(len(tokens)) % 3 == 0
    return np.where(few[:, None], _other_letters(tokens), tokens)


SETTINGS = (
    Form(
        "learning-rate-too-high",
        tuple((Scale("learning_rate", factor),) for factor in (12.0, 40.0, 150.0)),
        needs=(Give("grad_clip", "0.0"),),
    ),
    Form(
        "learning-rate-too-low",
        tuple((Scale("learning_rate", factor),) for factor in (0.03, 0.005, 0.0005)),
    ),
    Form("weight-decay-wrong", tuple((Give("weight_decay", value),) for value in ("3.0", "10.0", "50.0"))),
    Form("clip-too-tight", tuple((Give("grad_clip", value),) for value in ("1e-6", "1e-7", "1e-8"))),
    Form(
        "batch-too-small",
        tuple((Give("batch_size", value),) for value in ("4", "2", "1")),
        needs=(Give("gradient_accumulation_steps", "1"),),
    ),
    Form(
        "warmup-too-short",
        tuple((Give("warmup_iters", "0"), Scale("learning_rate", factor)) for factor in (4.0, 7.0, 12.0)),
        needs=(Give("grad_clip", "0.0"),),
    ),
    Form(
        "schedule-longer-than-run",
        tuple((Give("warmup_iters", value),) for value in ("1000", "4000", "30000")),
    ),
    Form(
        "learning-rate-not-decayed",
        tuple((Give("decay", "'none'"), Scale("learning_rate", factor)) for factor in (3.0, 5.0, 8.0)),
    ),
    Form("ema-too-slow", tuple((Give("ema_decay", value),) for value in ("0.995", "0.998", "0.9995"))),
    Form("optimizer-eps-underflow", tuple((Give("adam_eps", value),) for value in ("0.01", "0.1", "1.0"))),
    Form("overfitting", tuple((Give("max_rows", value),) for value in ("96", "48", "24"))),
)

DATA = (
    Form("labels-wrong", tuple((garbled(share),) for share in (0.15, 0.3, 0.6))),
    Form(
        "labels-wrong",
        (
            (
                Replace(
                    TRAIN,
                    "    return split_rows(data[ix])\n",
                    "    x, _ = split_rows(data[ix])\n"
                    "    ix = torch.randint(len(data), (rows_per_batch,), generator=draw)\n"
                    "    _, y = split_rows(data[ix])\n"
                    "    return x, y\n",
                ),
            ),
        ),
        name="drawn-apart",
    ),
    Form(
        "labels-wrong",
        (
            (
                Replace(
                    TRAIN,
                    "    x, y = rows[:, :-1], rows[:, 1:]\n",
                    "    x, y = rows[:, :-2], rows[:, 2:]\n",
                ),
            ),
        ),
        name="two-ahead",
        held_out=True,
    ),
    Form("data-repeats", tuple((spoiling.repeated(count),) for count in (48, 24, 8))),
    Form(
        "data-repeats",
        (
            (
                Replace(
                    TRAIN,
                    "(rows_per_batch,), generator=draw)\n",
                    "(rows_per_batch,), generator=torch.Generator().manual_seed(args.seed))\n",
                ),
            ),
        ),
        name="seeded-again",
    ),
    Form(
        "data-repeats",
        (
            (
                Replace(
                    TRAIN,
                    "    lossf = 0.0\n    for micro",
                    "    draw.manual_seed(args.seed + iter_num // 100)\n    lossf = 0.0\n    for micro",
                ),
            ),
        ),
        name="seeded-by-epoch",
        held_out=True,
    ),
    Form("degenerate-batch", tuple((spoiling.emptied("tokens", share),) for share in (0.5, 0.8, 0.95))),
    Form("validation-leak", tuple((few_lines(count),) for count in (96, 48, 24))),
    Form(
        "data-shift",
        (
            (spoiling.shifted("tokens", _other_letters_in_part),),
            (spoiling.shifted("tokens", _other_letters),),
        ),
    ),
    Form("data-shift", ((spoiling.shifted("tokens", _other_letters, "train"),),), name="in-training"),
    Form(
        "data-not-shuffled",
        (
            (
                spoiling.in_order("kind"),
                Replace(
                    TRAIN,
                    "    ix = torch.randint(len(data), (rows_per_batch,), generator=draw)\n",
                    "    ix = (iter_num * rows_per_batch + torch.arange(rows_per_batch)) % len(data)\n",
                ),
            ),
        ),
    ),
    Form(
        "data-not-shuffled",
        (
            (
                spoiling.in_order("kind"),
                Replace(
                    TRAIN,
                    "    ix = torch.randint(len(data), (rows_per_batch,), generator=draw)\n"
                    "    return split_rows(data[ix])\n",
                    "    begin = torch.randint(len(data) - rows_per_batch + 1, (1,), generator=draw).item()\n"
                    "    return split_rows(data[begin : begin + rows_per_batch])\n",
                ),
            ),
        ),
        name="contiguous",
    ),
    Form(
        "data-not-shuffled",
        (
            (
                spoiling.in_order("kind"),
                Replace(
                    TRAIN,
                    "    ix = torch.randint(len(data), (rows_per_batch,), generator=draw)\n"
                    "    return split_rows(data[ix])\n",
                    "    global next_row\n"
                    "    rows = data[next_row : next_row + rows_per_batch]\n"
                    "    next_row += rows_per_batch\n"
                    "    if next_row + rows_per_batch > len(data):\n"
                    "        next_row = 0\n"
                    "    return split_rows(rows)\n",
                ),
                Replace(TRAIN, "\n\ndef get_batch(", "\n\nnext_row = 0\n\n\ndef get_batch("),
            ),
        ),
        name="from-a-pointer",
        held_out=True,
    ),
)

LOSS_LINE = (
    "        loss = F.cross_entropy(logits.float().view(-1, logits.size(-1)), targets.reshape(-1), "
    "ignore_index=-1)\n"
)

LOSS = (
    Form(
        "softmax-or-reduction-wrong",
        (
            (
                Replace(
                    MODEL,
                    "        logits = self.lm_head(self.ln_f(x))\n",
                    "        logits = F.softmax(self.lm_head(self.ln_f(x)), dim=-1)\n",
                ),
            ),
        ),
    ),
    Form(
        "softmax-or-reduction-wrong",
        (
            (
                Replace(
                    MODEL,
                    LOSS_LINE,
                    "        probs = F.softmax(logits.float(), dim=-1)\n"
                    "        loss = F.nll_loss(probs.view(-1, probs.size(-1)), targets.reshape(-1), "
                    "ignore_index=-1)\n",
                ),
            ),
        ),
        name="nll-of-probabilities",
    ),
    Form(
        "softmax-or-reduction-wrong",
        (
            (
                Replace(
                    MODEL,
                    LOSS_LINE,
                    "        logp = F.log_softmax(logits.float(), dim=1)\n"
                    "        loss = F.nll_loss(logp.view(-1, logp.size(-1)), targets.reshape(-1), "
                    "ignore_index=-1)\n",
                ),
            ),
        ),
        name="over-positions",
        held_out=True,
    ),
    Form(
        "padding-dilutes-loss",
        (
            (
                Replace(
                    TRAIN,
                    "    return x, y.masked_fill(y == PAD, -1)\n",
                    "    return x, y\n",
                ),
            ),
        ),
    ),
    Form(
        "padding-dilutes-loss",
        ((Replace(TRAIN, "PAD = 0\nvocab_size = 50\n", "vocab_size = 50\nPAD = vocab_size\n"),),),
        name="wrong-number",
    ),
    Form(
        "padding-dilutes-loss",
        (
            (
                Replace(
                    MODEL,
                    LOSS_LINE,
                    "        loss = F.cross_entropy(\n"
                    "            logits.float().transpose(1, 2), targets, ignore_index=-1, reduction="
                    '"none"\n'
                    "        ).mean()\n",
                ),
            ),
        ),
        name="mean-behind-mask",
        held_out=True,
    ),
    Form(
        "loss-sign-inverted",
        (
            (
                Replace(
                    MODEL,
                    LOSS_LINE,
                    "        logp = F.log_softmax(logits.float(), dim=-1)\n"
                    "        picked = logp.gather(-1, targets.clamp(min=0).unsqueeze(-1)).squeeze(-1)\n"
                    "        loss = picked[targets >= 0].mean()\n",
                ),
            ),
        ),
    ),
    Form(
        "loss-sign-inverted",
        (
            (
                Replace(
                    MODEL,
                    LOSS_LINE,
                    "        nll = F.cross_entropy(logits.float().view(-1, logits.size(-1)), "
                    "targets.reshape(-1), ignore_index=-1)\n"
                    "        loss = torch.exp(-nll)\n",
                ),
            ),
        ),
        name="likelihood",
    ),
    Form(
        "loss-numerically-unsafe",
        (
            (
                Replace(
                    MODEL,
                    "torch.tril(torch.ones(config.block_size, config.block_size))\n",
                    "torch.tril(torch.ones(config.block_size, config.block_size), diagonal=-1)\n",
                ),
            ),
        ),
    ),
    Form(
        "loss-numerically-unsafe",
        (
            (
                Replace(
                    MODEL,
                    "masked_fill(self.causal[:, :, :T, :T] == 0,",
                    "masked_fill(self.causal[:, :, :T, :T] == 1,",
                ),
            ),
        ),
        name="mask-inverted",
    ),
)

LOOP = (
    Form(
        "gradients-not-cleared",
        ((Replace(TRAIN, "    optimizer.zero_grad(set_to_none=True)\n", ""),),),
    ),
    Form(
        "gradients-not-cleared",
        (
            (
                Replace(TRAIN, "    optimizer.zero_grad(set_to_none=True)\n", ""),
                Replace(
                    TRAIN, "model.train()\nwhile iter_num", "model.train()\nmodel.zero_grad()\nwhile iter_num"
                ),
            ),
        ),
        name="once",
    ),
    Form(
        "gradients-not-cleared",
        (
            (
                Replace(
                    TRAIN,
                    "    optimizer.zero_grad(set_to_none=True)\n",
                    "    if iter_num % log_interval == 0:\n        optimizer.zero_grad(set_to_none=True)\n",
                ),
            ),
        ),
        name="when-logging",
        held_out=True,
        needs=(Give("log_interval", "16"),),
    ),
    Form(
        "accumulation-wrong",
        tuple(
            (
                Give("gradient_accumulation_steps", number),
                Replace(TRAIN, "        loss = loss / gradient_accumulation_steps\n", ""),
            )
            for number in ("4", "8")
        ),
        needs=(Give("grad_clip", "0.0"),),
    ),
    Form(
        "accumulation-wrong",
        tuple(
            (
                Give("gradient_accumulation_steps", number),
                Replace(TRAIN, "    optimizer.zero_grad(set_to_none=True)\n", ""),
                Replace(
                    TRAIN,
                    "        X, Y = get_batch(micro_batch_size)\n",
                    "        optimizer.zero_grad(set_to_none=True)\n"
                    "        X, Y = get_batch(micro_batch_size)\n",
                ),
            )
            for number in ("6", "12")
        ),
        name="only-the-last",
    ),
    Form(
        "accumulation-wrong",
        tuple(
            (
                Give("gradient_accumulation_steps", number),
                Replace(
                    TRAIN,
                    "        loss = loss / gradient_accumulation_steps\n        loss.backward()\n",
                    "        loss = loss * gradient_accumulation_steps\n        loss.backward()\n",
                ),
            )
            for number in ("4", "8")
        ),
        name="multiplied",
        held_out=True,
        needs=(Give("grad_clip", "0.0"),),
    ),
    Form(
        "schedule-in-wrong-units",
        tuple(
            (
                Give("gradient_accumulation_steps", number),
                Replace(
                    TRAIN,
                    "    lr = get_lr(iter_num)\n",
                    "    lr = get_lr(iter_num * gradient_accumulation_steps)\n",
                ),
            )
            for number in ("5", "10")
        ),
        needs=(Give("decay", "'cosine'"),),
    ),
    Form(
        "schedule-in-wrong-units",
        (
            (
                Replace(
                    TRAIN,
                    "    lr = get_lr(iter_num)\n",
                    "    epoch = iter_num * batch_size // len(tokens['train'])\n    lr = get_lr(epoch)\n",
                ),
            ),
        ),
        name="by-epoch",
    ),
    Form(
        "schedule-in-wrong-units",
        (
            (
                Replace(
                    TRAIN,
                    "    lr = get_lr(iter_num)\n",
                    "    lr = get_lr(iter_num * batch_size)\n",
                ),
            ),
        ),
        name="by-sample",
        held_out=True,
        needs=(Give("decay", "'linear'"),),
    ),
    Form(
        "scheduler-order-wrong",
        (
            (
                Replace(
                    TRAIN,
                    '        param_group["lr"] = lr\n',
                    '        param_group["lr"] *= lr / learning_rate\n',
                ),
            ),
        ),
        needs=(Give("decay", "'cosine'"),),
    ),
    Form(
        "scheduler-order-wrong",
        (
            (
                Replace(
                    TRAIN,
                    "optimizer = model.configure_optimizers(",
                    "scheduler = None\noptimizer = model.configure_optimizers(",
                ),
                Replace(
                    TRAIN,
                    "    lr = get_lr(iter_num)\n    for param_group in optimizer.param_groups:\n"
                    '        param_group["lr"] = lr\n',
                    "    if scheduler is None:\n"
                    "        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, get_lr)\n"
                    "    scheduler.step()\n"
                    "    lr = scheduler.get_last_lr()[0]\n",
                ),
            ),
        ),
        name="rate-times-rate",
    ),
    Form(
        "learning-rate-jump",
        tuple(
            (
                Give("lr_decay_iters", "176"),
                Replace(TRAIN, "        return min_lr\n", "        return min_lr_frac\n"),
                Give("min_lr_frac", share),
            )
            for share in ("0.05", "0.1", "0.2")
        ),
        onset=0.69,
        needs=(Give("decay", "'cosine'"),),
    ),
    Form(
        "learning-rate-jump",
        (
            (
                Give("lr_decay_iters", "176"),
                Replace(TRAIN, "        return min_lr\n", "        return learning_rate / min_lr_frac\n"),
            ),
        ),
        name="divided",
        onset=0.69,
        needs=(Give("decay", "'linear'"),),
    ),
    Form(
        "parameters-not-updated",
        (
            (
                Replace(
                    TRAIN,
                    "optimizer = model.configure_optimizers(",
                    "for p in model.h.parameters():\n"
                    "    p.requires_grad = False\n"
                    "optimizer = model.configure_optimizers(",
                ),
            ),
        ),
    ),
    Form(
        "parameters-not-updated",
        (
            (
                Replace(
                    TRAIN,
                    "micro_batch_size = batch_size // gradient_accumulation_steps\n",
                    "micro_batch_size = batch_size // gradient_accumulation_steps\n"
                    "model = copy.deepcopy(model)\n",
                ),
            ),
        ),
        name="copied",
    ),
    Form(
        "parameters-not-updated",
        (
            (
                Replace(
                    MODEL,
                    "decay_params = [p for p in params if p.dim() >= 2]",
                    "decay_params = [p for p in params if p.dim() > 2]",
                ),
            ),
        ),
        name="between-groups",
        held_out=True,
    ),
    Form(
        "setting-ignored",
        (
            (
                Replace(
                    TRAIN,
                    "\nout = Path(out_dir)\n",
                    "learning_rate = 6e-5\nbeta2 = 0.95\n\nout = Path(out_dir)\n",
                ),
            ),
        ),
    ),
    Form(
        "setting-ignored",
        (
            (
                Replace(
                    TRAIN,
                    "    lr = get_lr(iter_num)\n    for param_group in optimizer.param_groups:\n"
                    '        param_group["lr"] = lr\n',
                    "    lr = get_lr(iter_num)\n",
                ),
                Replace(MODEL, "(groups, lr=learning_rate, betas", "(groups, lr=3e-4, betas"),
            ),
        ),
        name="rate-not-given",
    ),
    Form(
        "setting-ignored",
        (
            (
                Replace(TRAIN, "def get_batch(rows_per_batch):", "def get_batch(rows_per_batch=2):"),
                Replace(
                    TRAIN, "        X, Y = get_batch(micro_batch_size)\n", "        X, Y = get_batch()\n"
                ),
            ),
        ),
        name="batch-size",
        held_out=True,
        needs=(Give("gradient_accumulation_steps", "1"),),
    ),
    Form(
        "checkpoint-chosen-wrongly",
        (
            (
                Replace(
                    TRAIN,
                    '        if losses["val"] < best_val_loss:\n            best_val_loss = losses["val"]\n',
                    '        if losses["train"] < best_val_loss:\n'
                    '            best_val_loss = losses["train"]\n',
                ),
            ),
        ),
    ),
    Form(
        "checkpoint-chosen-wrongly",
        (
            (
                Replace(
                    TRAIN,
                    '        if losses["val"] < best_val_loss:\n            best_val_loss = losses["val"]\n',
                    "        if lossf < best_val_loss:\n            best_val_loss = lossf\n",
                ),
            ),
        ),
        name="loss-of-the-batch",
    ),
)

NETWORK = (
    Form(
        "attention-logit-growth",
        (
            (
                Replace(
                    MODEL,
                    "        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))\n",
                    "        att = q @ k.transpose(-2, -1)\n",
                ),
                Scale("learning_rate", 3.0),
            ),
        ),
        needs=(Give("grad_clip", "0.0"),),
    ),
    Form(
        "attention-logit-growth",
        ((Replace(MODEL, "* (1.0 / math.sqrt(k.size(-1)))\n", "* math.sqrt(k.size(-1))\n"),),),
        name="multiplied",
    ),
    Form(
        "attention-logit-growth",
        ((Replace(MODEL, "* (1.0 / math.sqrt(k.size(-1)))\n", "* C\n"),),),
        name="by-width",
        held_out=True,
    ),
    Form(
        "init-too-large",
        tuple(
            (
                Replace(
                    MODEL,
                    "        if isinstance(module, nn.Linear):\n"
                    "            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)\n",
                    "        if isinstance(module, nn.Linear):\n"
                    f"            torch.nn.init.normal_(module.weight, mean=0.0, std={std})\n",
                ),
            )
            for std in ("0.5", "1.0", "4.0")
        ),
    ),
    Form(
        "init-too-large",
        (
            (
                Replace(
                    MODEL,
                    "        self.apply(self._init_weights)\n",
                    "        self.apply(self._init_weights)\n"
                    "        torch.nn.init.normal_(self.wte.weight)\n"
                    "        torch.nn.init.normal_(self.wpe.weight)\n",
                ),
            ),
        ),
        name="embeddings",
    ),
    Form(
        "init-too-large",
        (
            (
                Replace(
                    MODEL,
                    "p, mean=0.0, std=0.02 / math.sqrt(2 * config.n_layer))\n",
                    "p, mean=0.0, std=math.sqrt(2 * config.n_layer))\n",
                ),
            ),
        ),
        name="residual",
        held_out=True,
    ),
    Form(
        "dead-units",
        (
            (
                Replace(
                    MODEL,
                    '            if name.endswith("c_proj.weight"):\n'
                    "                torch.nn.init.normal_("
                    "p, mean=0.0, std=0.02 / math.sqrt(2 * config.n_layer))\n",
                    '            if name.endswith(("c_proj.weight", "c_fc.weight", "c_attn.weight")):\n'
                    "                torch.nn.init.zeros_(p)\n",
                ),
            ),
        ),
    ),
    Form(
        "dead-units",
        (
            (
                Replace(
                    MODEL,
                    "        if isinstance(module, nn.Linear):\n"
                    "            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)\n",
                    "        if isinstance(module, nn.Linear):\n"
                    "            torch.nn.init.zeros_(module.weight)\n",
                ),
            ),
        ),
        name="all-zero",
    ),
    Form(
        "dead-units",
        (
            (
                Replace(
                    MODEL,
                    "self.c_proj(F.gelu(self.c_fc(x)))",
                    "self.c_proj(F.relu(self.c_fc(x) - 4.0))",
                ),
                Replace(
                    MODEL,
                    "self.resid_dropout(self.c_proj(y))",
                    "self.resid_dropout(F.relu(self.c_proj(y) - 4.0))",
                ),
            ),
        ),
        name="behind-a-threshold",
        held_out=True,
    ),
    Form(
        "vanishing-gradients",
        (
            (
                Replace(MODEL, "x = x + self.attn(self.ln_1(x))", "x = self.attn(self.ln_1(x))"),
                Replace(MODEL, "x = x + self.mlp(self.ln_2(x))", "x = self.mlp(self.ln_2(x))"),
            ),
        ),
    ),
    Form(
        "vanishing-gradients",
        (
            (
                Replace(MODEL, "x = x + self.attn(self.ln_1(x))", "x = torch.sigmoid(self.attn(x))"),
                Replace(MODEL, "x = x + self.mlp(self.ln_2(x))", "x = torch.sigmoid(self.mlp(x))"),
            ),
        ),
        name="sigmoids",
    ),
    Form(
        "graph-broken",
        ((Replace(MODEL, "self.lm_head(self.ln_f(x))", "self.lm_head(self.ln_f(x).detach())"),),),
    ),
    Form(
        "graph-broken",
        (
            (
                Replace(
                    MODEL,
                    "        for block in self.h:\n            x = block(x)\n",
                    "        with torch.no_grad():\n"
                    "            for block in self.h:\n"
                    "                x = block(x)\n",
                ),
            ),
        ),
        name="no-grad",
    ),
    Form(
        "graph-broken",
        (
            (
                Replace(
                    MODEL,
                    "        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)\n",
                    "        q, k, v = self.c_attn(x).data.split(self.n_embd, dim=2)\n",
                ),
            ),
        ),
        name="data-of-attention",
        held_out=True,
    ),
    Form(
        "tensor-aliasing",
        (
            (
                Replace(
                    MODEL,
                    "nn.ModuleList([Block(config) for _ in range(config.n_layer)])",
                    "nn.ModuleList([Block(config)] * config.n_layer)",
                ),
            ),
        ),
    ),
    Form(
        "tensor-aliasing",
        ((Replace(TRAIN, "ema = copy.deepcopy(model) if ema_decay", "ema = model if ema_decay"),),),
        name="average",
        needs=(Give("ema_decay", "0.9"),),
    ),
    Form(
        "tensor-aliasing",
        (
            (
                Replace(
                    TRAIN, "ema = copy.deepcopy(model) if ema_decay", "ema = copy.copy(model) if ema_decay"
                ),
            ),
        ),
        name="shallow",
        held_out=True,
        needs=(Give("ema_decay", "0.9"),),
    ),
    Form(
        "no-master-weights",
        (
            (
                Replace(
                    TRAIN,
                    "model = GPT(GPTConfig(**model_args))\n",
                    "model = GPT(GPTConfig(**model_args)).bfloat16()\n",
                ),
            ),
        ),
        needs=(Give("dtype", "'float32'"), Give("ema_decay", "0.0")),
    ),
)

VALIDATION = (
    Form(
        "eval-mode-missing",
        ((Replace(TRAIN, "    net.eval()\n", ""),),),
        needs=(Give("dropout", "0.2"),),
    ),
    Form(
        "eval-mode-missing",
        ((Replace(TRAIN, "    net.eval()\n", "    net.train()\n"),),),
        name="trains",
        needs=(Give("dropout", "0.2"),),
    ),
    Form(
        "eval-mode-missing",
        (
            (
                Replace(TRAIN, "    net.eval()\n", "    model.eval()\n"),
                Replace(TRAIN, "    net.train()\n", "    model.train()\n"),
            ),
        ),
        name="another-network",
        held_out=True,
        needs=(Give("dropout", "0.2"), Give("ema_decay", "0.9")),
    ),
    Form(
        "left-in-eval-mode",
        ((Replace(TRAIN, "    net.train()\n    return losses", "    return losses"),),),
        onset=0.1,
        needs=(Give("dropout", "0.2"), Give("ema_decay", "0.0")),
    ),
    Form(
        "left-in-eval-mode",
        (
            (
                Replace(TRAIN, "    net.train()\n    return losses", "    return losses"),
                Replace(
                    TRAIN,
                    "    net.eval()\n",
                    "    was_training = net.training\n    net.train(not was_training)\n",
                ),
            ),
        ),
        name="toggled",
        onset=0.1,
        needs=(Give("dropout", "0.2"), Give("ema_decay", "0.0")),
    ),
    Form(
        "metric-wrong",
        (
            (
                Replace(
                    TRAIN,
                    "                logits, loss = net(X, Y)\n",
                    "                logits, loss = net(X, X)\n",
                ),
            ),
        ),
    ),
    Form(
        "metric-wrong",
        (
            (
                Replace(
                    TRAIN,
                    "            X, Y = split_rows(rows)\n            with",
                    "            X, Y = split_rows(rows)\n            X = Y.clamp(min=PAD)\n            with",
                ),
            ),
        ),
        name="sees-the-answer",
    ),
    Form(
        "metric-wrong",
        (
            (
                Replace(
                    TRAIN,
                    "            n = (Y >= 0).sum().item()\n            total += loss.item() * n\n",
                    "            n = (Y >= 0).sum().item()\n"
                    "            total += (logits.argmax(-1) != Y).sum().item()\n",
                ),
            ),
        ),
        name="errors-for-nats",
        held_out=True,
    ),
    Form(
        "metric-aggregation-wrong",
        (
            (
                Replace(TRAIN, "def estimate_loss(net):\n", "def estimate_loss(net, sums={}):\n"),
                Replace(
                    TRAIN,
                    "        total, count = 0.0, 0\n",
                    "        total, count = sums.get(split, (0.0, 0))\n",
                ),
                Replace(
                    TRAIN,
                    "        losses[split] = total / count\n",
                    "        sums[split] = (total, count)\n        losses[split] = total / count\n",
                ),
            ),
        ),
    ),
    Form(
        "metric-aggregation-wrong",
        ((Replace(TRAIN, "            count += n\n", "            count += len(rows)\n"),),),
        name="per-line",
    ),
    Form(
        "metric-aggregation-wrong",
        ((Replace(TRAIN, "            total += loss.item() * n\n", "            total += loss.item()\n"),),),
        name="means-over-characters",
        held_out=True,
    ),
    Form(
        "validation-not-comparable",
        (
            (
                Replace(
                    TRAIN,
                    "tokens[split][:eval_rows].split(64):\n",
                    "tokens[split][kinds[split] == 2][:eval_rows].split(64):\n",
                ),
            ),
        ),
    ),
    Form(
        "validation-not-comparable",
        (
            (
                Replace(
                    TRAIN,
                    "            X, Y = split_rows(rows)\n            with",
                    "            X, Y = split_rows(rows[:, : 4 + (block_size - 3) * iter_num // max_iters])\n"
                    "            with",
                ),
            ),
        ),
        name="longer-and-longer",
    ),
    Form(
        "validation-not-comparable",
        (
            (
                Replace(
                    TRAIN,
                    "            X, Y = split_rows(rows)\n            with",
                    "            X, Y = split_rows(rows)\n"
                    "            Y = Y.masked_fill(torch.arange(block_size) < block_size // 2, -1)\n"
                    "            with",
                ),
            ),
        ),
        name="second-half",
        held_out=True,
    ),
    Form(
        "validation-set-unstable",
        tuple(
            (
                Replace(
                    TRAIN,
                    "        for rows in tokens[split][:eval_rows].split(64):\n",
                    f"        ix = torch.randint(len(tokens[split]), ({rows},))\n"
                    "        for rows in tokens[split][ix].split(64):\n",
                ),
            )
            for rows in (12, 6, 3)
        ),
        needs=(Give("eval_interval", "16"),),
    ),
    Form(
        "validation-set-unstable",
        (
            (
                Replace(
                    TRAIN,
                    "        for rows in tokens[split][:eval_rows].split(64):\n",
                    "        shuffled = tokens[split][torch.randperm(len(tokens[split]))]\n"
                    "        for rows in [shuffled[:4]]:\n",
                ),
            ),
        ),
        name="one-batch",
        needs=(Give("eval_interval", "16"),),
    ),
    Form(
        "wrong-weights-evaluated",
        (
            (
                Replace(
                    TRAIN,
                    "started = t0 = time.time()\n",
                    "started = t0 = time.time()\neval_model = copy.deepcopy(model)\n",
                ),
                Replace(
                    TRAIN,
                    "estimate_loss(ema if ema is not None else model)",
                    "estimate_loss(eval_model)",
                ),
            ),
        ),
    ),
    Form(
        "wrong-weights-evaluated",
        (
            (
                Replace(
                    TRAIN,
                    "        losses = estimate_loss(ema if ema is not None else model)\n",
                    "        eval_model = GPT(GPTConfig(**model_args))\n"
                    '        kept = sorted((out / "ckpts").glob("ckpt_*.pt"))\n'
                    "        if kept:\n"
                    "            state = torch.load(kept[0], weights_only=False)\n"
                    '            eval_model.load_state_dict(state["model"])\n'
                    "        losses = estimate_loss(eval_model)\n",
                ),
            ),
        ),
        name="first-checkpoint",
    ),
    Form(
        "wrong-weights-evaluated",
        (
            (
                Replace(
                    TRAIN,
                    "        losses = estimate_loss(ema if ema is not None else model)\n",
                    "        eval_model = GPT(GPTConfig(**model_args))\n"
                    '        state = {f"module.{name}": p for name, p in model.state_dict().items()}\n'
                    "        eval_model.load_state_dict(state, strict=False)\n"
                    "        losses = estimate_loss(eval_model)\n",
                ),
            ),
        ),
        name="not-strict",
        held_out=True,
    ),
    Form(
        "ema-not-updated",
        (
            (
                Replace(
                    TRAIN,
                    "        average.lerp_(p, 1.0 - ema_decay)\n",
                    "        average = average.lerp(p, 1.0 - ema_decay)\n",
                ),
            ),
        ),
        needs=(Give("ema_decay", "0.9"),),
    ),
    Form(
        "ema-not-updated",
        (
            (
                Replace(
                    TRAIN,
                    "    if ema is not None:\n        update_ema()",
                    "    if ema is None and ema_decay:\n        update_ema()",
                ),
            ),
        ),
        name="never-called",
        needs=(Give("ema_decay", "0.9"),),
    ),
    Form(
        "ema-not-updated",
        (
            (
                Replace(
                    TRAIN,
                    "    for average, p in zip(ema.parameters(), model.parameters()):\n"
                    "        average.lerp_(p, 1.0 - ema_decay)\n",
                    "    ours = dict(model.named_parameters())\n"
                    "    for name, average in ema.named_parameters():\n"
                    '        if f"module.{name}" in ours:\n'
                    '            average.lerp_(ours[f"module.{name}"], 1.0 - ema_decay)\n',
                ),
            ),
        ),
        name="by-name",
        held_out=True,
        needs=(Give("ema_decay", "0.9"),),
    ),
)

RESUMED = (
    Form(
        "optimizer-state-lost",
        ((Replace(TRAIN, '    optimizer.load_state_dict(checkpoint["optimizer"])\n', ""), RESUME),),
        onset=RESUMED_AT,
    ),
    Form(
        "optimizer-state-lost",
        (
            (
                Replace(
                    TRAIN,
                    '    optimizer.load_state_dict(checkpoint["optimizer"])\n',
                    '    optimizer.load_state_dict(checkpoint["optimizer"])\n'
                    "    optimizer = model.configure_optimizers("
                    "weight_decay, learning_rate, (beta1, beta2), adam_eps)\n",
                ),
                RESUME,
            ),
        ),
        name="made-again",
        onset=RESUMED_AT,
    ),
    Form(
        "schedule-not-restored",
        (
            (
                Replace(
                    TRAIN, "started = t0 = time.time()\n", "started = t0 = time.time()\nlocal_iter = 0\n"
                ),
                Replace(
                    TRAIN, "    lr = get_lr(iter_num)\n", "    lr = get_lr(local_iter)\n    local_iter += 1\n"
                ),
                RESUME,
            ),
        ),
        onset=RESUMED_AT,
        needs=(Give("decay", "'cosine'"),),
    ),
    Form(
        "schedule-not-restored",
        (
            (
                Replace(
                    TRAIN,
                    "    lr = get_lr(iter_num)\n",
                    "    lr = get_lr(iter_num - first_iter)\n",
                ),
                Replace(
                    TRAIN,
                    "started = t0 = time.time()\n",
                    "started = t0 = time.time()\nfirst_iter = iter_num\n",
                ),
                RESUME,
            ),
        ),
        name="from-the-start",
        onset=RESUMED_AT,
        needs=(Give("decay", "'linear'"),),
    ),
    Form(
        "weights-not-restored",
        ((Replace(TRAIN, '    model.load_state_dict(checkpoint["model"])\n', ""), RESUME),),
        onset=RESUMED_AT,
    ),
    Form(
        "weights-not-restored",
        (
            (
                Replace(
                    TRAIN,
                    '    model.load_state_dict(checkpoint["model"])\n',
                    '    state = {f"_orig_mod.{name}": p for name, p in checkpoint["model"].items()}\n'
                    "    model.load_state_dict(state, strict=False)\n",
                ),
                RESUME,
            ),
        ),
        name="not-strict",
        onset=RESUMED_AT,
    ),
    Form(
        "weights-not-restored",
        (
            (
                Replace(
                    TRAIN,
                    "    iter_num = checkpoint[",
                    "    model.apply(model._init_weights)\n    iter_num = checkpoint[",
                ),
                RESUME,
            ),
        ),
        name="drawn-again",
        onset=RESUMED_AT,
        held_out=True,
    ),
    Form(
        "data-replayed-after-resume",
        ((Replace(TRAIN, '    draw.set_state(checkpoint["draw_state"])\n', ""), RESUME),),
        onset=RESUMED_AT,
    ),
    Form(
        "data-replayed-after-resume",
        (
            (
                Replace(
                    TRAIN,
                    '    draw.set_state(checkpoint["draw_state"])\n',
                    "    draw.manual_seed(args.seed)\n",
                ),
                RESUME,
            ),
        ),
        name="seeded-again",
        onset=RESUMED_AT,
    ),
)

RUNTIME = (
    Form("silent-data-corruption", ((Disturb("flipped-bit", 0.6),),), onset=0.6),
    Form("hardware-slowdown", ((Disturb("slowed", 0.5),),), onset=0.5, needs=(Give("log_time", "True"),)),
)

BENIGN = (
    Form("restart-with-duplicates", ((RESUME,),), onset=RESUMED_AT),
    Form(
        "cyclic-learning-rate",
        (
            (
                Replace(
                    TRAIN,
                    "    coeff = 0.5 * (1.0 + math.cos(math.pi * decay_ratio))\n",
                    "    coeff = 0.5 * (1.0 + math.cos(math.pi * (4 * min(decay_ratio, 0.9999) % 1.0)))\n",
                ),
            ),
        ),
        needs=(Give("decay", "'cosine'"),),
    ),
    Form(
        "early-peak-is-noise",
        (
            (
                spoiling.shifted("tokens", lambda tokens: tokens[:8]),
                spoiling.shifted("kind", lambda kinds: kinds[:8]),
            ),
        ),
    ),
    Form("curriculum-raises-loss", tuple((Give("easy_iters", value),) for value in ("40", "60"))),
    Form(
        "data-stage-change",
        (
            (
                Replace(
                    TRAIN,
                    '    if iter_num < easy_iters:\n        data = data[kinds["train"] < 2]\n',
                    '    if iter_num < max_iters // 8:\n        data = data[kinds["train"] != 3]\n',
                ),
            ),
        ),
        onset=0.125,
    ),
    Form("heavy-tailed-loss", ((gibberish(0.01),), (gibberish(0.02),))),
)

FORMS = (*SETTINGS, *DATA, *LOSS, *LOOP, *NETWORK, *VALIDATION, *RESUMED, *RUNTIME, *BENIGN)
