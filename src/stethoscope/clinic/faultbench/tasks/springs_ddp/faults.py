"""What can be wrong with springs where two processes train, and what can only look so."""

from __future__ import annotations

from stethoscope.clinic.faultbench import spoiling
from stethoscope.clinic.faultbench.task import Disturb, Form, Give, Interrupt, Replace, Scale

TRAINER, DATASET, AVERAGE, SCHEDULE = (
    "springs/trainer.py",
    "springs/dataset.py",
    "springs/average.py",
    "springs/schedule.py",
)

AVERAGED = Give("fit.ema", "0.95")
RESUME = Interrupt(0.55, ("--resume", "latest"))

PREDICTED = "self.objective.parts(self.parallel(inputs), targets, raw)"
BACKWARD = "        loss.backward()\n"
CLIPPED = "        norm = torch.nn.utils.clip_grad_norm_(self.network.parameters(), limit)\n"
SHARED = "        shared = self.world.sums([loss.item()])[0] / self.world.size\n"
SAMPLER = "data, world.size, world.rank, shuffle=settings.shuffle, seed=seed, drop_last=True"
LOADER = (
    "            data, settings.batch // world.size, sampler=self.sampler, drop_last=True, num_workers=0\n"
)
CLEARED = "        self.optimizer.zero_grad()\n"
RATE = "            lr=options.learning_rate,\n"
WRAPPED = "        self.parallel = DistributedDataParallel(self.network)\n"
COUNTED = "        loss, squared, count = self.world.sums([loss, squared, count])\n"
MOVED = "            mean.mul_(self.decay).add_(weight, alpha=1.0 - self.decay)\n"
NETWORK_RESTORED = '        self.network.load_state_dict(state["network"])\n'
OPTIMIZER_RESTORED = '        self.optimizer.load_state_dict(state["optimizer"])\n'
SCHEDULER_RESTORED = '        self.scheduler.load_state_dict(state["scheduler"])\n'
FOUND = "        found = self.evaluate(self.network if self.average is None else self.average.network)\n"

SETTINGS = (
    Form(
        "learning-rate-too-high",
        tuple((Scale("optimizer.learning_rate", factor),) for factor in (15.0, 50.0, 300.0)),
    ),
    Form(
        "learning-rate-too-low",
        tuple((Scale("optimizer.learning_rate", factor),) for factor in (0.05, 0.01, 0.001)),
    ),
    Form("batch-too-small", tuple((Give("data.batch", size),) for size in ("8", "4", "2"))),
    Form("labels-wrong", tuple((spoiling.wrong("targets", share),) for share in (0.2, 0.5, 1.0))),
    Form("data-repeats", tuple((spoiling.repeated(count),) for count in (384, 192, 96))),
)

PROCESSES = (
    Form(
        "gradients-not-synchronised",
        ((Replace(TRAINER, PREDICTED, PREDICTED.replace("self.parallel(", "self.parallel.module(")),),),
    ),
    Form(
        "gradients-not-synchronised",
        (
            (
                Replace(
                    TRAINER,
                    f"        parts = {PREDICTED}\n        loss = self.objective.total(parts)\n" + BACKWARD,
                    "        with self.parallel.no_sync():\n"
                    f"            parts = {PREDICTED}\n"
                    "            loss = self.objective.total(parts)\n"
                    "            loss.backward()\n",
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
                    TRAINER,
                    WRAPPED,
                    "        self.parallel = self.network\n"
                    "        if torch.cuda.is_available():\n"
                    "            self.parallel = DistributedDataParallel(self.network.cuda())\n",
                ),
            ),
        ),
        name="not-wrapped",
        held_out=True,
    ),
    Form(
        "uneven-shards",
        ((Replace(DATASET, SAMPLER, SAMPLER.replace("data, world.size, world.rank", "data, 1, 0")),),),
    ),
    Form(
        "uneven-shards",
        (
            (
                Replace(
                    DATASET,
                    LOADER,
                    "            data, settings.batch // world.size, settings.shuffle, drop_last=True\n",
                ),
            ),
        ),
        name="no-sampler",
    ),
    Form(
        "uneven-shards",
        (
            (
                Replace(
                    DATASET,
                    SAMPLER,
                    SAMPLER.replace("world.rank", 'int(os.environ.get("SLURM_PROCID", 0))'),
                ),
                Replace(DATASET, "from pathlib", "import os\nfrom pathlib"),
            ),
        ),
        name="other-launcher",
        held_out=True,
    ),
    Form(
        "ranks-disagree",
        tuple(
            (
                Replace(TRAINER, SHARED, ""),
                Replace(TRAINER, "if self.is_usual(shared):", "if self.is_usual(loss.item()):"),
                Give("optimizer.skip_above", times),
            )
            for times in ("1.5", "1.2", "1.0")
        ),
    ),
    Form(
        "ranks-disagree",
        tuple(
            (
                Replace(
                    TRAINER,
                    CLIPPED,
                    "        norm = torch.tensor(0.0)\n"
                    "        if self.world.is_main:\n"
                    "            norm = torch.nn.utils.clip_grad_norm_(self.network.parameters(), limit)\n",
                ),
                Give("optimizer.max_norm", limit),
            )
            for limit in ("0.2", "0.05")
        ),
        name="main-clips",
    ),
    Form(
        "ranks-disagree",
        (
            (
                Replace(
                    TRAINER,
                    "        self.scheduler.step()\n        return",
                    "        self.scheduler.step()\n"
                    "        if loss.item() > 1.1 * self.usual:\n"
                    "            for group in self.optimizer.param_groups:\n"
                    '                group["lr"] *= 0.1\n'
                    "        return",
                ),
            ),
        ),
        name="local-rate",
        held_out=True,
    ),
    Form(
        "world-size-scaling-wrong",
        (
            (
                Replace(TRAINER, RATE, "            lr=options.learning_rate * self.world.size,\n"),
                Replace(
                    TRAINER,
                    "LambdaLR(self.optimizer, self.schedule.factor)\n",
                    "LambdaLR(\n"
                    "            self.optimizer, lambda update: world.size * self.schedule.factor(update)\n"
                    "        )\n",
                ),
            ),
        ),
        needs=(Give("optimizer.learning_rate", "0.012"), Give("optimizer.max_norm", "0.0")),
    ),
    Form(
        "world-size-scaling-wrong",
        tuple(
            (
                Replace(
                    TRAINER,
                    "        options = self.settings.optimizer\n",
                    "        options = self.settings.optimizer\n"
                    f"        samples = self.world.size * self.settings.data.batch / {usual}\n",
                ),
                Replace(TRAINER, RATE, "            lr=options.learning_rate * samples,\n"),
            )
            for usual in ("32", "8")
        ),
        name="with-the-batch",
        needs=(Give("optimizer.learning_rate", "0.012"), Give("optimizer.max_norm", "0.0")),
    ),
)

SOURCE = (
    Form("gradients-not-cleared", ((Replace(TRAINER, CLEARED, ""),),)),
    Form(
        "gradients-not-cleared",
        (
            (
                Replace(
                    TRAINER, CLEARED, "        if self.update == 0:\n            self.optimizer.zero_grad()\n"
                ),
            ),
        ),
        name="once",
    ),
    Form(
        "gradients-not-cleared",
        ((Replace(TRAINER, CLEARED, "        self.network.head.zero_grad()\n"),),),
        name="in-part",
        held_out=True,
    ),
    Form(
        "parameters-not-updated",
        (
            (
                Replace(
                    TRAINER,
                    "            self.network.parameters(),\n",
                    "            self.network.head.parameters(),\n",
                ),
            ),
        ),
    ),
    Form(
        "parameters-not-updated",
        ((Replace(TRAINER, WRAPPED, "        self.network.blocks.requires_grad_(False)\n" + WRAPPED),),),
        name="frozen",
    ),
    Form(
        "data-not-shuffled",
        ((spoiling.in_order("inputs"), Give("data.shuffle", "false")),),
    ),
    Form(
        "data-not-shuffled",
        (
            (
                spoiling.in_order("inputs"),
                Replace(DATASET, "shuffle=settings.shuffle, seed=seed,", "shuffle=False,"),
            ),
        ),
        name="in-the-call",
    ),
    Form(
        "ema-not-updated",
        (
            (
                Replace(
                    AVERAGE,
                    "        for mean, weight in zip(self.network.parameters(), network.parameters()):\n"
                    + MOVED,
                    "        averaged = dict(self.network.named_parameters())\n"
                    "        for name, weight in network.named_parameters():\n"
                    "            if name in averaged:\n"
                    "                averaged[name].mul_(self.decay).add_(weight, alpha=1.0 - self.decay)\n",
                ),
                Replace(TRAINER, "self.average.update(self.network)", "self.average.update(self.parallel)"),
            ),
        ),
        needs=(AVERAGED,),
    ),
    Form(
        "ema-not-updated",
        ((Replace(AVERAGE, MOVED, "            mean = self.decay * mean + (1.0 - self.decay) * weight\n"),),),
        name="not-in-place",
        needs=(AVERAGED,),
    ),
    Form(
        "metric-aggregation-wrong",
        (
            (
                Replace(
                    TRAINER,
                    COUNTED,
                    "        loss, squared = self.world.sums([loss, squared])\n",
                ),
            ),
        ),
    ),
    Form(
        "metric-aggregation-wrong",
        (
            (
                Replace(TRAINER, "raw)).item() * len(inputs)\n", "raw)).item()\n"),
                Replace(TRAINER, ".square().mean(1).sum().item()", ".square().mean().item()"),
            ),
        ),
        name="counted-twice",
    ),
    Form(
        "wrong-weights-evaluated",
        (
            (
                Replace(
                    TRAINER,
                    FOUND,
                    "        network = SpringNet(*vars(self.settings.network).values())\n"
                    "        network.load_state_dict(self.parallel.state_dict(), strict=False)\n"
                    "        found = self.evaluate(network)\n",
                ),
            ),
        ),
    ),
)

RESUMED = (
    Form(
        "optimizer-state-lost",
        ((Replace(TRAINER, OPTIMIZER_RESTORED, ""), RESUME),),
        onset=0.4,
    ),
    Form(
        "optimizer-state-lost",
        (
            (
                Replace(
                    TRAINER,
                    OPTIMIZER_RESTORED,
                    '        if "optim" in state:\n'
                    '            self.optimizer.load_state_dict(state["optim"])\n',
                ),
                RESUME,
            ),
        ),
        name="other-key",
        onset=0.4,
        held_out=True,
    ),
    Form(
        "schedule-not-restored",
        ((Replace(TRAINER, SCHEDULER_RESTORED, ""), RESUME),),
        onset=0.4,
    ),
    Form(
        "weights-not-restored",
        (
            (
                Replace(
                    TRAINER,
                    NETWORK_RESTORED,
                    '        self.parallel.load_state_dict(state["network"], strict=False)\n',
                ),
                RESUME,
            ),
        ),
        onset=0.4,
    ),
    Form(
        "weights-not-restored",
        ((Replace(TRAINER, NETWORK_RESTORED, ""), RESUME),),
        name="left-out",
        onset=0.4,
    ),
)

RUNTIME = (Form("silent-data-corruption", ((Disturb("flipped-bit", 0.6),),), onset=0.6),)

BENIGN = (
    Form("restart-with-duplicates", ((Interrupt(0.7, ("--resume", "latest")),),), onset=0.6),
    Form(
        "cyclic-learning-rate",
        ((Replace(SCHEDULE, "math.cos(math.pi * done))", "math.cos(math.pi * (4.0 * done % 1.0)))"),),),
        needs=(Give("schedule.kind", '"cosine"'),),
    ),
    Form(
        "early-peak-is-noise",
        (
            (
                spoiling.shifted("inputs", lambda inputs: inputs[:16]),
                spoiling.shifted("targets", lambda targets: targets[:16]),
            ),
        ),
    ),
)

FORMS = (*SETTINGS, *PROCESSES, *SOURCE, *RESUMED, *RUNTIME, *BENIGN)
