"""The patient too-fast: a transformer without norms whose learning rate warms up to more than it bears."""

from __future__ import annotations

from pathlib import Path

from stethoscope.clinic.case import Case, Change, Metric, Role, Size
from stethoscope.clinic.edit import Edit

PROJECT = Path(__file__).parent
SOURCES = ("bells.toml", "fit.py", "transformer.py", "ringing.py", "judge.py")
SETTINGS, PROGRAM = "bells.toml", "fit.py"


def _setting(old: str, to: str, why: str) -> Edit:
    """A line of the settings replaced by another, whatever remark follows it."""
    return Edit(SETTINGS, f"\n{old}", f"\n{to}", why)


# What cures it

A_THIRD = Change(
    "third-of-the-rate",
    "A third of the learning rate",
    Role.CURE,
    (_setting("lr = 0.03", "lr = 0.01", "updates overshoot at the peak of the rate"),),
    predicted=("necessary", "sufficient"),
)

# What people advise against a loss that explodes

ADVICE = (
    Change(
        "tenth-of-the-rate",
        "A tenth of the learning rate",
        Role.ADVICE,
        (_setting("lr = 0.03", "lr = 0.003", "if a third is still too much"),),
        predicted=("helpful", "sufficient"),
    ),
    Change(
        "clip",
        "Clip the gradients at 1",
        Role.ADVICE,
        (_setting("clip = 0.0", "clip = 1.0", "no step is larger than this"),),
        predicted=("helpful", "no effect"),
    ),
    Change(
        "longer-warm-up",
        "A warm-up 1.6 times as long",
        Role.ADVICE,
        (
            Edit(
                PROGRAM,
                'share_of_rate(step, optim["warmup"], optim["steps"])',
                'share_of_rate(step, round(1.6 * optim["warmup"]), optim["steps"])',
                "begin more gently",
            ),
        ),
        predicted=("no effect",),
    ),
    Change(
        "larger-batch",
        "A batch twice as large",
        Role.ADVICE,
        (_setting("batch = 32", "batch = 64", "calmer gradients"),),
        predicted=("no effect",),
    ),
    Change(
        "larger-epsilon",
        "Raise the epsilon of Adam to 1e-6",
        Role.ADVICE,
        (_setting("eps = 1e-8", "eps = 1e-6", "numerical stability"),),
        predicted=("no effect",),
    ),
    Change(
        "shorter-memory",
        "Lower the second beta of Adam to .95",
        Role.ADVICE,
        (_setting("beta2 = 0.999", "beta2 = 0.95", "Adam notices large gradients sooner"),),
        predicted=("helpful", "no effect"),
    ),
    Change(
        "skip-nan",
        "Leave out the batches whose loss is not a number",
        Role.ADVICE,
        (
            Edit(
                PROGRAM,
                "        optimizer.step()\n",
                "        if torch.isfinite(loss):\n            optimizer.step()\n",
                "a bad batch does no harm",
            ),
        ),
        predicted=("no effect",),
    ),
)

# What cannot act. The last of them draws other random numbers and changes nothing else.

PLACEBOS = (
    Change(
        "other-description",
        "Another description, which nothing reads",
        Role.PLACEBO,
        (
            Edit(
                SETTINGS,
                'description = "reads bells"',
                'description = "reads all bells"',
                "a setting without a reader",
            ),
        ),
        predicted=("no effect",),
    ),
    Change(
        "denser-tests",
        "Test every 10 steps instead of 25",
        Role.PLACEBO,
        (_setting("test_every = 25", "test_every = 10", "a test learns nothing"),),
        predicted=("no effect",),
    ),
    Change(
        "denser-log",
        "Print every second step instead of every fifth",
        Role.PLACEBO,
        (_setting("print_every = 5", "print_every = 2", "a log is only read"),),
        predicted=("no effect",),
    ),
    Change(
        "other-bells",
        "Learn from other bells of the same kind",
        Role.PLACEBO,
        (
            Edit(
                PROGRAM,
                "chance = torch.Generator().manual_seed(args.seed)",
                "chance = torch.Generator().manual_seed(args.seed + 1_000_000)",
                "draws other random numbers, and no more",
            ),
        ),
        predicted=("no effect",),
    ),
)

SIZES = (
    Size(
        "ci",
        (
            _setting("steps = 600", "steps = 200", "a shorter run"),
            _setting("blocks = 3", "blocks = 5", "in so few steps only a deeper network gets that far"),
            _setting("warmup = 250", "warmup = 80", "the same share, nearly"),
            _setting("save_every = 100", "save_every = 40", "as many checkpoints, nearly"),
        ),
        seconds=6.0,
    ),
    Size("small", (), seconds=10.0),
)

COMMAND = """
mkdir -p out
python fit.py bells.toml --seed {seed} 2>&1 | tee out/fit.log
"""

CASE = Case(
    name="too-fast",
    title="A learning rate that is more than the network bears",
    story=(
        "A transformer without norms tells frequency and damping of bells from sixteen noisy samples. The "
        "loss falls while the rate warms up. Before the rate has reached its peak, updates overshoot, the "
        "loss explodes, and it does not come back."
    ),
    project=PROJECT,
    sources=SOURCES,
    command=COMMAND,
    run="out",
    evaluate="python judge.py {run}",
    metric=Metric("error", goal="min", unit="of saying the mean", bar=1.0),
    changes=(A_THIRD, *ADVICE, *PLACEBOS),
    sizes=SIZES,
    exaggerated=(
        "the network has no norms, which would let it bear more",
        "the rate is ten times what is usual for Adam, and a third of it is still high",
        "the warm-up is two fifths of the run, so that the loss falls before it explodes",
    ),
    needs=("torch",),
)
