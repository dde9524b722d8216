"""The patient protein-sedd: a loss that rises with its curriculum, and what was proposed against it.

The changes are made so that any of them can be applied alone and all cures together. They count as the sick
project does, in batches, where `cure.py` counts updates: four batches make one update.
"""

from __future__ import annotations

from stethoscope.clinic.case import Case, Change, Metric, Role, Size
from stethoscope.clinic.cases.protein_sedd.cure import (
    BEST_BY_TRAINING_LOSS,
    CHECKPOINT_KNOWS_ITS_VALIDATION,
    CONFIG,
    IMPORTS,
    LR_SCHEDULE_IS_NEVER_READ,
    NOISE_NEVER_REACHES_THE_MASK,
    PROJECT,
    SOURCES,
    TRAINER,
    WARM_UP_IS_LONGER_THAN_THE_RUN,
)
from stethoscope.clinic.edit import Edit


def _setting(old: str, to: str, why: str) -> Edit:
    """A line of the settings replaced by another."""
    return Edit(CONFIG, f"  {old}\n", f"  {to}\n", why)


# Cures

ONE_NOISE = Change(
    name="one-noise",
    title="Tell the model and the loss the noise that the tokens were corrupted with",
    role=Role.CURE,
    edits=(
        Edit(
            TRAINER,
            """\
        sigma, dsigma = self.noise(t)
        corruption = sigma * self.curriculum.difficulty(self.state["step"])
        x = self.graph.sample_transition(x0, corruption[:, None])
""",
            """\
        difficulty = self.curriculum.difficulty(self.state["step"])
        sigma, dsigma = (difficulty * noise for noise in self.noise(t))
        x = self.graph.sample_transition(x0, sigma[:, None])
""",
            "tokens are corrupted with less noise than the model and the loss are told",
        ),
    ),
    predicted=("helpful", "no effect"),
)

FULL_NOISE = Change(
    name="noise-reaches-the-mask",
    title="Let the noise reach the state that sampling starts from: all masks",
    role=Role.CURE,
    edits=(NOISE_NEVER_REACHES_THE_MASK,),
    predicted=("helpful", "necessary"),
    yardstick=True,
)

WARM_UP = Change(
    name="fitting-warm-up",
    title="Let the warm-up end within the run: 64 updates of 512",
    role=Role.CURE,
    edits=(WARM_UP_IS_LONGER_THAN_THE_RUN,),
    predicted=("helpful", "necessary", "sufficient"),
)

SCHEDULE = Change(
    name="fitting-schedule",
    title="Let the cosine end with the run, counted in updates as the scheduler counts",
    role=Role.CURE,
    edits=(
        _setting("n_iters: 100000", "n_iters: 2048", "8 epochs of 256 batches; 100,000 are never reached"),
        Edit(
            TRAINER,
            "            self.optimizer, warmup=cfg.optim.warmup, max_steps=cfg.training.n_iters\n",
            "            self.optimizer,\n"
            "            warmup=cfg.optim.warmup,\n"
            "            # n_iters counts batches, the schedule counts updates.\n"
            "            max_steps=cfg.training.n_iters // cfg.training.accum,\n",
            "the run counts batches and the schedule counts updates, a quarter as many",
        ),
    ),
    predicted=("helpful", "no effect"),
)

CURRICULUM = Change(
    name="fitting-curriculum",
    title="Let the curriculum end within the run: 512 batches of 2,048",
    role=Role.CURE,
    edits=(_setting("preschool_time: 5000", "preschool_time: 512", "5,000 batches of a run of 2,048"),),
    predicted=("helpful", "no effect"),
)

PADDING = Change(
    name="padding-left-out",
    title="Leave padding out of the loss",
    role=Role.CURE,
    edits=(
        IMPORTS,
        Edit(
            TRAINER,
            "        return (dsigma[:, None] * entropy).mean()\n",
            "        residues = x0 != PAD\n        return (dsigma[:, None] * entropy)[residues].mean()\n",
            "29 % of the positions are padding, which is easy to predict",
        ),
    ),
    predicted=("helpful", "no effect"),
    yardstick=True,
)

COMPARABLE_VALIDATION = Change(
    name="comparable-validation",
    title="Validate the averaged weights at full difficulty, and call best what validates best",
    role=Role.CURE,
    edits=(
        Edit(
            TRAINER,
            """\
        self.model.eval()
        losses = []
        for index, batch in enumerate(self.valid_loader):
            if index >= self.cfg.training.eval_batches:
                break
            losses.append(self.compute_loss(batch).item())
        self.model.train()
""",
            """\
        self.model.eval()
        losses = []
        # Training has a curriculum; what it is measured by has none.
        follows, self.curriculum.enabled = self.curriculum.enabled, False
        with self.ema.applied_to(self.model):
            for index, batch in enumerate(self.valid_loader):
                if index >= self.cfg.training.eval_batches:
                    break
                losses.append(self.compute_loss(batch).item())
        self.curriculum.enabled = follows
        self.model.train()
""",
            "validation was as easy as the step of training was early, and measured the raw weights",
        ),
        BEST_BY_TRAINING_LOSS,
        CHECKPOINT_KNOWS_ITS_VALIDATION,
    ),
    # The last checkpoint is what the metric judges; what this changes is the best: `best_nll_ratio`.
    predicted=("changes the yardstick", "no effect"),
    yardstick=True,
)

CURES = (
    ONE_NOISE,
    FULL_NOISE,
    WARM_UP,
    SCHEDULE,
    CURRICULUM,
    PADDING,
    COMPARABLE_VALIDATION,
)

# What the write-up proposes, in proportion: its run warms up for 5,000 steps at 1e-4.

SLOWER = _setting("preschool_time: 5000", "preschool_time: 20000", "four times slower")
LINEAR = _setting("difficulty_ramp: exponential", "difficulty_ramp: linear", "a ramp that is even")
HALF_RATE = _setting('lr: !!float "3e-3"', 'lr: !!float "1.5e-3"', "half the learning rate, for stability")
CLIP = _setting("grad_clip: 1.0", "grad_clip: 0.5", 'a clip that is called "gentler"')
LESS_NOISE = _setting("sigma_max: 0.8", "sigma_max: 0.5", "less noise")
LONGER_WARM_UP = _setting("warmup: 1500", "warmup: 3000", "twice the warm-up")
SLOWER_AVERAGE = _setting("ema: 0.999", "ema: 0.9995", 'an average that is called "more conservative"')

ADVICE = (
    Change(
        "slower-curriculum",
        "Slow the curriculum down four times",
        Role.ADVICE,
        (SLOWER,),
        ("003.7",),
        ("harmful",),
    ),
    Change(
        "linear-ramp", "Make the ramp linear", Role.ADVICE, (LINEAR,), ("003.7",), ("no effect", "harmful")
    ),
    Change(
        "half-learning-rate",
        "Halve the learning rate",
        Role.ADVICE,
        (HALF_RATE,),
        ("003.8",),
        ("no effect", "harmful"),
    ),
    Change("harder-clip", "Clip at 0.5 instead of 1", Role.ADVICE, (CLIP,), ("003.9",), ("no effect",)),
    Change(
        "less-noise",
        "Lower sigma_max from 0.8 to 0.5",
        Role.ADVICE,
        (LESS_NOISE,),
        ("003.10",),
        ("harmful", "changes the yardstick"),
        yardstick=True,
    ),
    Change(
        "even-less-noise",
        "Lower sigma_max to 0.3",
        Role.ADVICE,
        (_setting("sigma_max: 0.8", "sigma_max: 0.3", "if the loss still rises"),),
        ("003.11",),
        ("harmful", "changes the yardstick"),
        yardstick=True,
    ),
    Change("longer-warm-up", "Double the warm-up", Role.ADVICE, (LONGER_WARM_UP,), ("003.12",), ("harmful",)),
    Change(
        "slower-average",
        "Raise the decay of the average from .999 to .9995",
        Role.ADVICE,
        (SLOWER_AVERAGE,),
        ("003.13",),
        ("no effect",),
    ),
    Change(
        "stable-config",
        "All of the write-up's settings together",
        Role.ADVICE,
        (SLOWER, LINEAR, HALF_RATE, CLIP, LESS_NOISE, LONGER_WARM_UP, SLOWER_AVERAGE),
        ("003.14", "003.17"),
        ("harmful", "changes the yardstick"),
        yardstick=True,
    ),
    Change(
        "fifth-of-the-learning-rate",
        "Lower the learning rate further, to a fifth",
        Role.ADVICE,
        (_setting('lr: !!float "3e-3"', 'lr: !!float "6e-4"', "if the loss still rises"),),
        ("003.8",),
        ("harmful",),
    ),
    Change(
        "slightly-lower-learning-rate",
        "If training is too slow, eight tenths of the learning rate instead of half",
        Role.ADVICE,
        (_setting('lr: !!float "3e-3"', 'lr: !!float "2.4e-3"', "if training is too slow"),),
        ("003.8",),
        ("no effect", "harmful"),
    ),
    Change(
        "much-slower-curriculum",
        "Extend the curriculum to six times its length",
        Role.ADVICE,
        (_setting("preschool_time: 5000", "preschool_time: 30000", "if the loss still rises"),),
        ("003.7",),
        ("harmful",),
    ),
    Change(
        "somewhat-slower-curriculum",
        "If training is too slow, a curriculum of three times its length instead of four",
        Role.ADVICE,
        (_setting("preschool_time: 5000", "preschool_time: 15000", "if training is too slow"),),
        ("003.7",),
        ("harmful",),
    ),
    Change(
        "much-longer-warm-up",
        "Triple the warm-up",
        Role.ADVICE,
        (_setting("warmup: 1500", "warmup: 4500", "if the loss still rises"),),
        ("003.12",),
        ("harmful",),
    ),
    Change(
        "more-accumulation",
        "Accumulate eight batches instead of four",
        Role.ADVICE,
        (_setting("accum: 4", "accum: 8", "a larger effective batch, if training is too slow"),),
        ("003",),
        ("harmful", "no effect"),
    ),
    Change(
        "no-curriculum",
        "Train without the curriculum, which the write-up calls stable learning",
        Role.ADVICE,
        (_setting("enabled: true", "enabled: false", "full difficulty from the first step"),),
        ("003.6",),
        ("helpful", "no effect"),
        yardstick=True,
    ),
)

# What cannot act. The last of them draws other random numbers and changes nothing else.

PLACEBOS = (
    Change(
        "dead-section",
        "Remove the section lr_schedule, which nothing reads",
        Role.PLACEBO,
        (LR_SCHEDULE_IS_NEVER_READ,),
        predicted=("no effect",),
    ),
    Change(
        "dead-setting",
        "Raise lr_schedule.min_lr_ratio, which nothing reads",
        Role.PLACEBO,
        (Edit(CONFIG, "  min_lr_ratio: 0.01", "  min_lr_ratio: 0.1", "a setting without a reader"),),
        predicted=("no effect",),
    ),
    Change(
        "denser-log",
        "Log every 16 batches instead of 32",
        Role.PLACEBO,
        (_setting("log_freq: 32", "log_freq: 16", "a log is only read"),),
        predicted=("no effect",),
    ),
    Change(
        "denser-validation",
        "Validate every 128 batches instead of 256",
        Role.PLACEBO,
        (_setting("eval_freq: 256", "eval_freq: 128", "draws other random numbers, and no more"),),
        predicted=("no effect",),
    ),
)

ONE_BLOCK = _setting("n_blocks: 2", "n_blocks: 1", "half the time, and as sick")

# The changes are written for a run of 2,048 batches, which is half of what was recorded.
SIZES = (
    Size(
        "ci",
        (
            ONE_BLOCK,
            _setting("train_sequences: 4096", "train_sequences: 1024", "64 batches an epoch"),
            _setting("epochs: 16", "epochs: 4", "256 batches"),
            _setting("snapshot_freq: 1024", "snapshot_freq: 64", "a snapshot an epoch"),
        ),
        seconds=6.0,
    ),
    Size(
        "small",
        (
            ONE_BLOCK,
            _setting("epochs: 16", "epochs: 8", "2,048 batches"),
            _setting("eval_batches: 20", "eval_batches: 8", "shorter validations"),
            _setting("snapshot_freq: 1024", "snapshot_freq: 512", "four snapshots"),
        ),
        seconds=16.0,
    ),
    Size(
        "gpu",
        (
            # As many batches as on a CPU, so that every schedule and every change stays what it is.
            _setting("epochs: 16", "epochs: 8", "2,048 batches"),
            _setting("batch_size: 16", "batch_size: 256", "a batch that fills a GPU"),
            _setting("train_sequences: 4096", "train_sequences: 65536", "256 batches an epoch"),
            _setting("snapshot_freq: 1024", "snapshot_freq: 512", "four snapshots"),
            _setting("hidden_size: 32", "hidden_size: 128", "a larger network"),
            _setting("n_blocks: 2", "n_blocks: 4", "a larger network"),
            _setting("n_heads: 2", "n_heads: 4", "a larger network"),
        ),
        seconds=60.0,  # an estimate
    ),
)

COMMAND = """
sed -i.kept 's/^seed: .*/seed: {seed}/' configs/config_protein.yaml
rm configs/config_protein.yaml.kept
mkdir -p results/protein
out=results/protein
python train.py --config configs/config_protein.yaml --work_dir $out 2>&1 | tee $out/train.log
"""

METRIC = Metric("nll_ratio", goal="min", unit="of guessing", bar=1.0)

CASE = Case(
    name="protein-sedd",
    title="A loss that rises because its task gets harder",
    story=(
        "Absorbing diffusion on protein-like sequences. Training loss and validation loss rise from "
        "beginning to end and the checkpoint called best is the first. The curriculum is blamed, and "
        "slowed down. What rises is the difficulty; what is wrong is a noise that the model is not told, "
        "a validation that follows the curriculum, and schedules that are longer than the run."
    ),
    project=PROJECT,
    sources=(*SOURCES, "judge.py"),
    command=COMMAND,
    run="results/protein",
    evaluate="python judge.py {run}",
    needs=("torch",),
    metric=METRIC,
    changes=(*CURES, *ADVICE, *PLACEBOS),
    sizes=SIZES,
    exaggerated=(
        "the sequences are short, of two families only, and the network has one block of 32 channels",
        "the learning rate is 30 times the origin's, so that 512 updates teach something",
        "the warm-up is three times the run; the origin's is longer than its run by a third",
    ),
)
