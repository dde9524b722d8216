"""What can be wrong with gratings, and what can only look so.

A fault of the source is written in three ways where that is possible, one of them held out.
"""

from __future__ import annotations

import numpy as np

from stethoscope.clinic.faultbench import spoiling
from stethoscope.clinic.faultbench.task import Disturb, Form, Give, Interrupt, Replace, Scale

TRAIN, MODEL = "train.py", "model.py"

SETTINGS = (
    Form(
        "learning-rate-too-high",
        ((Scale("optim.lr", 12.0),), (Scale("optim.lr", 40.0),), (Scale("optim.lr", 150.0),)),
        needs=(Give("optim.clip_norm", "0.0"),),
    ),
    Form(
        "learning-rate-too-low",
        ((Scale("optim.lr", 0.02),), (Scale("optim.lr", 0.005),), (Scale("optim.lr", 0.0005),)),
    ),
    Form(
        "weight-decay-wrong", tuple((Give("optim.weight_decay", value),) for value in ("0.1", "0.3", "1.0"))
    ),
    Form(
        "clip-too-tight",
        tuple((Give("optim.clip_norm", value),) for value in ("0.01", "0.003", "0.0005")),
    ),
    Form("batchnorm-tiny-batch", tuple((Give("data.batch_size", value),) for value in ("4", "3", "2"))),
    Form(
        "schedule-longer-than-run",
        tuple((Give("optim.warmup_steps", value),) for value in ("600", "2000", "20000")),
    ),
    Form(
        "ema-too-slow",
        tuple((Give("train.ema_decay", value),) for value in ("0.995", "0.998", "0.9995")),
    ),
)

DATA = (
    Form("labels-wrong", tuple((spoiling.wrong("labels", share),) for share in (0.3, 0.6, 1.0))),
    Form("data-repeats", tuple((spoiling.repeated(count),) for count in (64, 32, 16))),
    Form("degenerate-batch", tuple((spoiling.emptied("images", share),) for share in (0.5, 0.8, 0.95))),
    Form("validation-leak", ((spoiling.leaked(1.0), spoiling.wrong("labels", 0.3)),)),
    Form(
        "data-shift",
        (
            (spoiling.shifted("images", lambda images: 255 - images // 2),),
            (spoiling.shifted("images", lambda images: np.rot90(images, axes=(1, 2)).copy()),),
        ),
    ),
)

SOURCE = (
    Form(
        "gradients-not-cleared",
        ((Replace(TRAIN, "        optimizer.zero_grad()\n        for _", "        for _"),),),
    ),
    Form(
        "gradients-not-cleared",
        (
            (
                Replace(
                    TRAIN,
                    "        optimizer.zero_grad()\n        for _",
                    "        if step == 0:\n            optimizer.zero_grad()\n        for _",
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
                    "        optimizer.zero_grad()\n        for _",
                    "        for weight in model.body.parameters():\n"
                    "            weight.grad = None\n"
                    "        for _",
                ),
            ),
        ),
        name="in-part",
        held_out=True,
    ),
    Form(
        "softmax-or-reduction-wrong",
        (
            (
                Replace(
                    MODEL,
                    "        return self.head(self.dropout(pooled))\n",
                    "        return self.head(self.dropout(pooled)).softmax(1)\n",
                ),
            ),
        ),
    ),
    Form(
        "softmax-or-reduction-wrong",
        (
            (
                Replace(
                    TRAIN,
                    "            loss = F.cross_entropy(logits.float(), labels,",
                    "            logits = F.softmax(logits.float(), dim=-1)\n"
                    "            loss = F.cross_entropy(logits, labels,",
                ),
            ),
        ),
        name="in-the-loop",
    ),
    Form(
        "softmax-or-reduction-wrong",
        (
            (
                Replace(
                    MODEL,
                    "        self.head = nn.Linear(4 * width, CLASSES)\n",
                    "        self.head = nn.Sequential(nn.Linear(4 * width, CLASSES), nn.Softmax(dim=1))\n",
                ),
            ),
        ),
        name="as-a-layer",
        held_out=True,
    ),
    Form(
        "eval-mode-missing",
        ((Replace(TRAIN, "    model.eval()\n    loss, right", "    loss, right"),),),
    ),
    Form(
        "eval-mode-missing",
        ((Replace(TRAIN, "    model.eval()\n    loss, right", "    model.train()\n    loss, right"),),),
        name="trains",
    ),
    Form(
        "eval-mode-missing",
        (
            (
                Replace(
                    TRAIN,
                    "    model.eval()\n    loss, right",
                    "    model.train(not model.training)\n    loss, right",
                ),
                Replace(TRAIN, "    model.train()\n    return loss", "    return loss"),
            ),
        ),
        name="toggled",
        held_out=True,
    ),
    Form(
        "left-in-eval-mode",
        ((Replace(TRAIN, "    model.train()\n    return loss", "    return loss"),),),
        onset=0.1,
        needs=(Give("train.ema_decay", "0.0"),),
    ),
    Form(
        "parameters-not-updated",
        (
            (
                Replace(
                    TRAIN,
                    "    return torch.optim.SGD(\n        model.parameters(),",
                    "    return torch.optim.SGD(\n        model.head.parameters(),",
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
                    "    decay = config",
                    "    for weight in model.body.parameters():\n"
                    "        weight.requires_grad_(False)\n"
                    "    decay = config",
                ),
            ),
        ),
        name="frozen",
    ),
    Form(
        "parameters-not-updated",
        (
            (
                Replace(
                    TRAIN,
                    "    scheduler = torch.optim",
                    '    model.body = Classifier(config["model"]["width"]).body\n    scheduler = torch.optim',
                ),
            ),
        ),
        name="replaced",
        held_out=True,
    ),
    Form(
        "graph-broken",
        (
            (
                Replace(
                    MODEL,
                    "        features = self.body(images)\n",
                    "        features = self.body(images).detach()\n",
                ),
            ),
        ),
    ),
    Form(
        "data-range-mismatch",
        (
            (
                Replace(
                    TRAIN,
                    "    images = (images - 0.5) / 0.25\n",
                    '    if split == "train":\n        images = (images - 0.5) / 0.25\n',
                ),
            ),
        ),
    ),
    Form(
        "data-range-mismatch",
        (
            (
                Replace(
                    TRAIN,
                    ".unsqueeze(1) / 255.0\n",
                    '.unsqueeze(1)\n    images = images / 255.0 if split == "train" else images\n',
                ),
            ),
        ),
        name="not-divided",
        held_out=True,
    ),
    Form(
        "data-not-shuffled",
        ((spoiling.in_order("labels"), Give("data.shuffle", "false")),),
    ),
    Form(
        "accumulation-wrong",
        tuple(
            (
                Give("train.accumulate", number),
                Replace(TRAIN, '(loss / config["train"]["accumulate"]).backward()', "loss.backward()"),
            )
            for number in ("4", "8")
        ),
        needs=(Give("train.steps", "160"), Give("optim.clip_norm", "0.0")),
    ),
    Form(
        "init-too-large",
        tuple(
            (
                Replace(
                    MODEL,
                    "        self.head = nn.Linear(4 * width, CLASSES)\n",
                    "        self.head = nn.Linear(4 * width, CLASSES)\n"
                    f"        nn.init.normal_(self.head.weight, std={std})\n",
                ),
            )
            for std in ("3.0", "10.0", "40.0")
        ),
    ),
    Form(
        "metric-wrong",
        (
            (
                Replace(
                    TRAIN,
                    "right += (logits.argmax(1) == labels).sum().item()\n        count",
                    "right += (logits.argmax(0)[0] == labels).sum().item()\n        count",
                ),
            ),
        ),
    ),
    Form(
        "schedule-in-wrong-units",
        ((Replace(TRAIN, "    done = (step - ", "    done = 24 * (step - "),),),
        needs=(Give("optim.schedule", "linear"),),
    ),
    Form(
        "ema-not-updated",
        (
            (
                Replace(
                    TRAIN,
                    "        mean.lerp_(weight, 1.0 - decay)\n",
                    "        mean = mean.lerp(weight, 1.0 - decay)\n",
                ),
            ),
        ),
        needs=(Give("train.ema_decay", "0.95"),),
    ),
    Form(
        "setting-ignored",
        (
            (
                Replace(TRAIN, '        weight_decay=optim["weight_decay"],\n', ""),
                Give("optim.weight_decay", "0.02"),
            ),
        ),
    ),
)

RESUMED = (
    Form(
        "optimizer-state-lost",
        (
            (
                Replace(TRAIN, '        optimizer.load_state_dict(state["optimizer"])\n', ""),
                Interrupt(0.55, ("--resume", "latest")),
            ),
        ),
        onset=0.5,
    ),
    Form(
        "schedule-not-restored",
        (
            (
                Replace(TRAIN, '        scheduler.load_state_dict(state["scheduler"])\n', ""),
                Interrupt(0.55, ("--resume", "latest")),
            ),
        ),
        onset=0.5,
    ),
    Form(
        "weights-not-restored",
        (
            (
                Replace(TRAIN, '        model.load_state_dict(state["model"])\n', ""),
                Interrupt(0.55, ("--resume", "latest")),
            ),
        ),
        onset=0.5,
    ),
)

RUNTIME = (
    Form("silent-data-corruption", ((Disturb("flipped-bit", 0.6),),), onset=0.6),
    Form("hardware-slowdown", ((Disturb("slowed", 0.5),),), onset=0.5),
)

BENIGN = (
    Form("restart-with-duplicates", ((Interrupt(0.6, ("--resume", "latest")),),), onset=0.6),
    Form(
        "cyclic-learning-rate",
        (
            (
                Replace(
                    TRAIN,
                    "    return 0.5 * (1.0 + math.cos(math.pi * min(1.0, done)))",
                    "    return 0.5 * (1.0 + math.cos(math.pi * ((4 * done) % 1.0)))",
                ),
            ),
        ),
        needs=(Give("optim.schedule", "cosine"),),
    ),
    Form(
        "early-peak-is-noise",
        (
            (
                spoiling.shifted("images", lambda images: images[:24]),
                spoiling.shifted("labels", lambda labels: labels[:24]),
            ),
        ),
    ),
)

FORMS = (*SETTINGS, *DATA, *SOURCE, *RESUMED, *RUNTIME, *BENIGN)
