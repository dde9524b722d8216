"""What can be wrong with chargpt_ddp, most of it between its processes, and what can only look so."""

from __future__ import annotations

from stethoscope.clinic.faultbench import spoiling
from stethoscope.clinic.faultbench.task import Disturb, Form, Give, Interrupt, Replace, Scale
from stethoscope.clinic.faultbench.tasks.chargpt.faults import few_lines, garbled, gibberish

TRAIN, SHARDS, NET = "train_ddp.py", "minigpt/shards.py", "minigpt/net.py"
RESUME = Interrupt(0.7, ("--resume", "latest"))
RESUMED_AT = 0.6  # the newest checkpoint lies here when the processes end at 0.7

SETTINGS = (
    Form(
        "learning-rate-too-high",
        tuple((Scale("optim.base_lr", factor),) for factor in (12.0, 40.0, 150.0)),
        needs=(Give("optim.clip", "0.0"),),
    ),
    Form(
        "learning-rate-too-low",
        tuple((Scale("optim.base_lr", factor),) for factor in (0.03, 0.005, 0.0005)),
    ),
    Form(
        "weight-decay-wrong",
        tuple((Give("optim.weight_decay", value),) for value in ("5.0", "15.0", "60.0")),
    ),
    Form(
        "schedule-longer-than-run",
        tuple((Give("optim.warmup", value),) for value in ("1000", "4000", "30000")),
    ),
    Form("ema-too-slow", tuple((Give("train.ema", value),) for value in ("0.995", "0.998", "0.9995"))),
    Form(
        "world-size-scaling-wrong",
        tuple(
            (
                Replace(TRAIN, "math.sqrt(batch / 20)\n", f"{scaled}\n"),
                Give("data.accumulate", "2"),
            )
            for scaled in (
                "batch / 20 * world**2",
                'batch / 20 * world**2 * data["accumulate"]',
                "batch * world",
            )
        ),
        needs=(Give("optim.clip", "0.0"),),
    ),
    Form(
        "world-size-scaling-wrong",
        (
            (
                Replace(
                    TRAIN,
                    "    matrices = [weight",
                    '    rate *= world * data["batch_per_rank"]\n    matrices = [weight',
                ),
            ),
        ),
        name="again",
        needs=(Give("optim.clip", "0.0"),),
    ),
    Form(
        "world-size-scaling-wrong",
        (
            (
                Replace(
                    TRAIN,
                    "        optimizer.step()\n        scheduler.step()\n",
                    "        for group in optimizer.param_groups:\n"
                    '            group["lr"] = scheduler.get_last_lr()[0] * batch\n'
                    "        optimizer.step()\n"
                    "        scheduler.step()\n",
                ),
            ),
        ),
        name="in-the-loop",
        held_out=True,
        needs=(Give("optim.clip", "0.0"),),
    ),
)

DATA = (
    Form("labels-wrong", tuple((garbled(share),) for share in (0.15, 0.3, 0.6))),
    Form("data-repeats", tuple((spoiling.repeated(count),) for count in (48, 24, 8))),
    Form("validation-leak", tuple((few_lines(count),) for count in (96, 48, 24))),
)

RANKS = (
    Form(
        "gradients-not-synchronised",
        ((Replace(TRAIN, "logits = ddp(characters)\n", "logits = ddp.module(characters)\n"),),),
    ),
    Form(
        "gradients-not-synchronised",
        (
            (
                Replace(
                    TRAIN,
                    '            is_last = part == data["accumulate"] - 1\n'
                    "            with nullcontext() if is_last else ddp.no_sync():\n",
                    "            with ddp.no_sync():\n",
                ),
            ),
        ),
        name="no-sync",
    ),
    Form(
        "gradients-not-synchronised",
        (
            (
                Replace(
                    TRAIN,
                    'is_last = part == data["accumulate"] - 1\n',
                    'is_last = part == data["accumulate"]\n',
                ),
            ),
        ),
        name="never-the-last",
        held_out=True,
    ),
    Form(
        "uneven-shards",
        ((Replace(SHARDS, "order[self.rank :: self.world]\n", "order\n"),),),
    ),
    Form(
        "uneven-shards",
        (
            (
                Replace(
                    TRAIN,
                    'Shard("data/train.npz", rank, world, data["batch_per_rank"], args.seed)',
                    'Shard("data/train.npz", 0, world, data["batch_per_rank"], args.seed)',
                ),
            ),
        ),
        name="rank-zero",
    ),
    Form(
        "uneven-shards",
        (
            (
                Replace(
                    SHARDS,
                    "        mine = order[self.rank :: self.world]\n",
                    "        mine = order[: len(order) // self.world]\n",
                ),
            ),
        ),
        name="first-part",
        held_out=True,
    ),
    Form(
        "ranks-disagree",
        (
            (
                Replace(
                    TRAIN,
                    "        optimizer.step()\n        scheduler.step()\n",
                    "        if usual is None or surprise < 1.05 * usual:\n"
                    "            optimizer.step()\n"
                    "        usual = surprise if usual is None else 0.9 * usual + 0.1 * surprise\n"
                    "        scheduler.step()\n",
                ),
                Replace(
                    TRAIN,
                    "    clock = time.perf_counter()\n    for step",
                    "    clock, usual = time.perf_counter(), None\n    for step",
                ),
            ),
        ),
    ),
    Form(
        "ranks-disagree",
        (
            (
                Replace(
                    TRAIN,
                    "        optimizer.step()\n        scheduler.step()\n",
                    "        if surprise > lowest:\n"
                    "            for group in optimizer.param_groups:\n"
                    '                group["lr"] *= 0.5\n'
                    "        lowest = min(lowest, surprise)\n"
                    "        optimizer.step()\n"
                    "        scheduler.step()\n",
                ),
                Replace(
                    TRAIN,
                    "    clock = time.perf_counter()\n    for step",
                    "    clock, lowest = time.perf_counter(), math.inf\n    for step",
                ),
            ),
        ),
        name="rate-of-its-own",
    ),
    Form(
        "ranks-disagree",
        (
            (
                Replace(
                    TRAIN,
                    "        norm = torch.nn",
                    "        if surprise > 2.0:\n            optimizer.zero_grad()\n        norm = torch.nn",
                ),
            ),
        ),
        name="drops-its-gradients",
        held_out=True,
    ),
    Form(
        "metric-aggregation-wrong",
        (
            (
                Replace(
                    TRAIN,
                    "    dist.all_reduce(sums)\n    net.train()\n    return (sums[0] / sums[1]).item()\n",
                    "    mean = sums[0] / sums[1]\n"
                    "    dist.all_reduce(mean)\n"
                    "    net.train()\n"
                    "    return mean.item()\n",
                ),
            ),
        ),
    ),
    Form(
        "metric-aggregation-wrong",
        (
            (
                Replace(
                    TRAIN,
                    '            values = {"loss": sum(one.item() for one in each) / world}\n',
                    '            values = {"loss": sum(one.item() for one in each)}\n',
                ),
                Replace(
                    TRAIN,
                    "    return (sums[0] / sums[1]).item()\n",
                    "    return (sums[0] / sums[1]).item() * dist.get_world_size()\n",
                ),
            ),
        ),
        name="summed",
    ),
    Form(
        "schedule-in-wrong-units",
        (
            (
                Replace(
                    TRAIN,
                    "        scheduler.step()\n",
                    "        for _ in range(batch):\n            scheduler.step()\n",
                ),
            ),
        ),
        needs=(Give("optim.schedule", '"cosine"'),),
    ),
    Form(
        "schedule-in-wrong-units",
        (
            (
                Replace(
                    TRAIN,
                    "        scheduler.step()\n",
                    "        if step % lines.per_epoch == 0:\n            scheduler.step()\n",
                ),
            ),
        ),
        name="by-epoch",
    ),
)

SOURCE = (
    Form("gradients-not-cleared", ((Replace(TRAIN, "        optimizer.zero_grad()\n", ""),),)),
    Form(
        "gradients-not-cleared",
        (
            (
                Replace(
                    TRAIN,
                    "        optimizer.zero_grad()\n",
                    '        if step % noted["every"] == 0:\n            optimizer.zero_grad()\n',
                ),
            ),
        ),
        name="when-noted",
        needs=(Give("journal.every", "20"),),
    ),
    Form(
        "softmax-or-reduction-wrong",
        (
            (
                Replace(
                    NET,
                    "        return self.head(self.norm(x))\n",
                    "        return self.head(self.norm(x)).softmax(-1)\n",
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
                    "    matrices = [weight for weight in net.parameters() if weight.ndim > 1]\n",
                    "    matrices = [weight for weight in net.parameters() if weight.ndim > 2]\n",
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
                    "    journal = Journal(",
                    '    net = MiniGPT(CHARACTERS, **config["model"])\n'
                    "    ddp = DistributedDataParallel(net)\n"
                    "    journal = Journal(",
                ),
            ),
        ),
        name="made-again",
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
        needs=(Give("train.ema", "0.9"),),
    ),
    Form(
        "ema-not-updated",
        (
            (
                Replace(
                    TRAIN,
                    "    for mean, weight in zip(average.parameters(), net.parameters()):\n"
                    "        mean.lerp_(weight, 1.0 - decay)\n",
                    "    means = dict(average.named_parameters())\n"
                    "    for name, weight in net.named_parameters():\n"
                    "        if name in means:\n"
                    "            means[name].lerp_(weight, 1.0 - decay)\n",
                ),
                Replace(
                    TRAIN,
                    'follow(average, net, train["ema"])',
                    'follow(average, ddp, train["ema"])',
                ),
            ),
        ),
        name="of-the-wrapper",
        needs=(Give("train.ema", "0.9"),),
    ),
    Form(
        "optimizer-state-lost",
        ((Replace(TRAIN, '        optimizer.load_state_dict(state["optimizer"])\n', ""), RESUME),),
        onset=RESUMED_AT,
    ),
    Form(
        "schedule-not-restored",
        ((Replace(TRAIN, '        scheduler.load_state_dict(state["scheduler"])\n', ""), RESUME),),
        onset=RESUMED_AT,
        needs=(Give("optim.schedule", '"cosine"'),),
    ),
    Form(
        "weights-not-restored",
        (
            (
                Replace(
                    TRAIN,
                    '        net.load_state_dict(state["net"])\n',
                    '        ddp.load_state_dict(state["net"], strict=False)\n',
                ),
                RESUME,
            ),
        ),
        onset=RESUMED_AT,
    ),
    Form(
        "weights-not-restored",
        ((Replace(TRAIN, '        net.load_state_dict(state["net"])\n', ""), RESUME),),
        name="forgotten",
        onset=RESUMED_AT,
    ),
    Form(
        "weights-not-restored",
        (
            (
                Replace(
                    TRAIN,
                    '        net.load_state_dict(state["net"])\n',
                    '        net = MiniGPT(CHARACTERS, **config["model"])\n'
                    '        net.load_state_dict(state["net"])\n',
                ),
                RESUME,
            ),
        ),
        name="into-another",
        onset=RESUMED_AT,
        held_out=True,
        needs=(Give("train.ema", "0.0"),),
    ),
)

RUNTIME = (
    Form("silent-data-corruption", ((Disturb("flipped-bit", 0.6),),), onset=0.6),
    Form(
        "hardware-slowdown", ((Disturb("slowed", 0.5),),), onset=0.5, needs=(Give("journal.seconds", "true"),)
    ),
)

BENIGN = (
    Form("restart-with-duplicates", ((RESUME,),), onset=RESUMED_AT),
    Form(
        "cyclic-learning-rate",
        (
            (
                Replace(
                    TRAIN,
                    "0.5 * (1.0 + math.cos(math.pi * done))\n",
                    "0.5 * (1.0 + math.cos(math.pi * (4 * min(done, 0.9999) % 1.0)))\n",
                ),
            ),
        ),
        needs=(Give("optim.schedule", '"cosine"'),),
    ),
    Form("heavy-tailed-loss", ((gibberish(0.01),), (gibberish(0.02),))),
    Form("early-peak-is-noise", ((spoiling.shifted("tokens", lambda tokens: tokens[:16]),),)),
)

FORMS = (*SETTINGS, *DATA, *RANKS, *SOURCE, *RUNTIME, *BENIGN)
