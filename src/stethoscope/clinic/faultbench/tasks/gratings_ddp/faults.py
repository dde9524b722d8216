"""What can be wrong with gratings_ddp, and what can only look so.

A fault of the source is written in three ways where that is possible, one of them held out.
"""

from __future__ import annotations

from stethoscope.clinic.faultbench import spoiling
from stethoscope.clinic.faultbench.task import Change, Disturb, Form, Give, Interrupt, Replace, Scale

TRAIN = "train_ddp.py"
RESUME = ("--resume", "latest")
NO_CLIP = (Give("optimizer.max_grad_norm", "0.0"),)
FORWARD = "        logits = model(x)\n"
UPDATE = "        optimizer.step()\n"
SAMPLER = "DistributedSampler(dataset, num_replicas=world, rank=rank, shuffle=True, seed=seed)\n"
RATE = 'lr=cfg["optimizer"]["base_lr"] * global_batch / 32,\n'
LOOP = '    while step < cfg["run"]["max_steps"]:\n'
CLEAR = "        optimizer.zero_grad(set_to_none=True)\n"


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


PROCESSES = (
    once("gradients-not-synchronised", Replace(TRAIN, FORWARD, "        logits = model.module(x)\n")),
    once(
        "gradients-not-synchronised",
        Replace(
            TRAIN,
            FORWARD,
            "        with model.no_sync():\n            logits = model(x)\n",
        ),
        name="no-sync",
    ),
    once(
        "gradients-not-synchronised",
        Replace(
            TRAIN,
            '    model = DDP(GratingNet(cfg["net"]["width"]))\n',
            '    net = GratingNet(cfg["net"]["width"])\n    model = DDP(net)\n',
        ),
        Replace(TRAIN, FORWARD, "        logits = net(x)\n"),
        name="the-inner-one",
        held_out=True,
    ),
    once(
        "uneven-shards",
        Replace(TRAIN, SAMPLER, SAMPLER.replace("rank=rank", "rank=0")),
    ),
    once(
        "uneven-shards",
        Replace(TRAIN, SAMPLER, SAMPLER.replace("num_replicas=world, rank=rank", "num_replicas=1, rank=0")),
        name="no-replicas",
    ),
    once(
        "uneven-shards",
        Replace(
            TRAIN,
            '    dataset = read_split("train")\n',
            '    dataset = read_split("train")\n'
            "    dataset = torch.utils.data.Subset(dataset, range(len(dataset) // world // 8))\n",
        ),
        Replace(TRAIN, SAMPLER, SAMPLER.replace("num_replicas=world, rank=rank", "num_replicas=1, rank=0")),
        name="first-part",
        held_out=True,
    ),
    once(
        "ranks-disagree",
        Replace(
            TRAIN,
            UPDATE,
            "        usual = 0.9 * usual + 0.1 * loss.item()\n"
            "        if loss.item() < 1.1 * usual:\n"
            "            optimizer.step()\n",
        ),
        Replace(TRAIN, LOOP, "    usual = 3.0\n" + LOOP),
        name="skips",
    ),
    once(
        "ranks-disagree",
        Replace(
            TRAIN,
            "        scheduler.step()\n        step += 1\n",
            "        usual = 0.9 * usual + 0.1 * loss.item()\n"
            "        if loss.item() < usual:\n"
            "            scheduler.step()\n"
            "        step += 1\n",
        ),
        Replace(TRAIN, LOOP, "    usual = 3.0\n" + LOOP),
        name="schedules",
    ),
    once(
        "ranks-disagree",
        Replace(
            TRAIN,
            UPDATE,
            "        if loss.item() > 1.0:\n"
            "            for group in optimizer.param_groups:\n"
            '                group["lr"] *= 0.5\n' + UPDATE,
        ),
        name="rates",
        held_out=True,
    ),
    Form(
        "world-size-scaling-wrong",
        tuple((Scale("optimizer.base_lr", factor),) for factor in (8.0, 32.0, 128.0)),
        needs=NO_CLIP,
    ),
    once(
        "world-size-scaling-wrong",
        Replace(TRAIN, RATE, RATE.replace(" / 32", "")),
        name="not-divided",
        needs=NO_CLIP,
    ),
    once(
        "world-size-scaling-wrong",
        Replace(TRAIN, RATE, RATE.replace("/ 32", "* world")),
        name="twice",
        held_out=True,
        needs=NO_CLIP,
    ),
)

SETTINGS = (
    Form(
        "learning-rate-too-low",
        tuple((Scale("optimizer.base_lr", factor),) for factor in (0.02, 0.005, 0.0005)),
    ),
    Form(
        "clip-too-tight",
        tuple((Give("optimizer.max_grad_norm", value),) for value in ("0.01", "0.003", "0.0005")),
    ),
    Form(
        "batchnorm-tiny-batch",
        tuple((Give("loader.batch_per_process", value),) for value in ("4", "3", "2")),
    ),
    Form(
        "schedule-longer-than-run",
        tuple((Give("schedule.warmup", value),) for value in ("600", "2000", "20000")),
    ),
    Form("labels-wrong", tuple((spoiling.wrong("labels", share),) for share in (0.3, 0.6, 1.0))),
    Form("data-repeats", tuple((spoiling.repeated(count),) for count in (64, 32))),
)

EVAL = "    net.eval()\n    totals"
VAL_SUM = "    dist.all_reduce(totals)\n    net.train()\n"

SOURCE = (
    once("gradients-not-cleared", Replace(TRAIN, CLEAR, "")),
    once(
        "gradients-not-cleared",
        Replace(TRAIN, CLEAR, "        if step == 0:\n            optimizer.zero_grad(set_to_none=True)\n"),
        name="at-first",
    ),
    once(
        "gradients-not-cleared",
        Replace(
            TRAIN,
            CLEAR,
            "        if step % len(train_loader) == 0:\n            optimizer.zero_grad(set_to_none=True)\n",
        ),
        name="by-the-epoch",
        held_out=True,
    ),
    once(
        "metric-aggregation-wrong",
        Replace(TRAIN, VAL_SUM, "    net.train()\n"),
        Replace(
            TRAIN,
            "    return loss / count, right / count\n",
            "    return loss / len(loader), right / (count * dist.get_world_size())\n",
        ),
    ),
    once(
        "metric-aggregation-wrong",
        Replace(TRAIN, VAL_SUM, "    dist.all_reduce(totals[:2])\n    net.train()\n"),
        name="in-part",
    ),
    once("eval-mode-missing", Replace(TRAIN, EVAL, "    totals")),
    once("eval-mode-missing", Replace(TRAIN, EVAL, "    net.train()\n    totals"), name="trains"),
    once(
        "left-in-eval-mode",
        Replace(TRAIN, VAL_SUM, "    dist.all_reduce(totals)\n"),
        onset=0.08,
    ),
    once(
        "data-not-shuffled",
        spoiling.in_order("labels"),
        Replace(TRAIN, SAMPLER, SAMPLER.replace("shuffle=True", "shuffle=False")),
    ),
    once(
        "parameters-not-updated",
        Replace(
            TRAIN,
            "    optimizer = torch.optim.SGD(\n        model.parameters(),\n",
            "    optimizer = torch.optim.SGD(\n        model.module.fc.parameters(),\n",
        ),
    ),
)

RESUMED = (
    once(
        "weights-not-restored",
        Replace(TRAIN, '        model.module.load_state_dict(state["net"])\n', ""),
        Interrupt(0.65, RESUME),
        onset=0.6,
    ),
    once(
        "weights-not-restored",
        Replace(
            TRAIN,
            '        model.module.load_state_dict(state["net"])\n',
            '        model.load_state_dict(state["net"], strict=False)\n',
        ),
        Interrupt(0.65, RESUME),
        name="prefix",
        onset=0.6,
    ),
    once(
        "schedule-not-restored",
        Replace(TRAIN, '        scheduler.load_state_dict(state["scheduler"])\n', ""),
        Interrupt(0.65, RESUME),
        onset=0.6,
        needs=(Give("schedule.kind", "cosine"),),
    ),
)

RUNTIME = (once("hardware-slowdown", Disturb("slowed", 0.6), onset=0.6),)

BENIGN = (
    once("restart-with-duplicates", Interrupt(0.65, RESUME), onset=0.65),
    once(
        "early-peak-is-noise",
        spoiling.shifted("images", lambda images: images[:24]),
        spoiling.shifted("labels", lambda labels: labels[:24]),
    ),
    once(
        "cyclic-learning-rate",
        Replace(
            TRAIN,
            "        return 0.5 * (1.0 + math.cos(math.pi * progress))\n",
            "        return 0.5 * (1.0 + math.cos(math.pi * (4 * min(progress, 0.999) % 1.0)))\n",
        ),
        needs=(Give("schedule.kind", "cosine"),),
    ),
)

FORMS = (*PROCESSES, *SETTINGS, *SOURCE, *RESUMED, *RUNTIME, *BENIGN)
