"""The patient memorising: a network that learns its few pictures by heart, wrong labels included."""

from __future__ import annotations

import math
from pathlib import Path

from stethoscope.clinic.case import Case, Change, Metric, Role, Size
from stethoscope.clinic.edit import Edit

PROJECT = Path(__file__).parent
SOURCES = ("train.sh", "train.py", "network.py", "stripes.py", "judge.py")
SETTINGS, PROGRAM = "train.sh", "train.py"

HANDED_OVER = '    torch.save(model.state_dict(), args.out / "model.pt")\n'
AFTER_VALIDATION = "            val_loss, val_acc = validate(model, val_pictures, val_labels)\n"
HEADING = "        log.writerow(COLUMNS)\n"


def _flag(old: str, to: str, why: str) -> Edit:
    """An option of the command replaced by another."""
    return Edit(SETTINGS, f"    --{old} \\\n", f"    --{to} \\\n", why)


# What cures it

KEEP_THE_MINIMUM = Change(
    "keep-the-minimum",
    "Hand over the weights of the epoch with the lowest validation loss",
    Role.CURE,
    (
        Edit(PROGRAM, HEADING, HEADING + '        lowest = float("inf")\n', "nothing is lowest yet"),
        Edit(
            PROGRAM,
            HANDED_OVER,
            "            if val_loss < lowest:\n"
            "                lowest = val_loss\n"
            '                torch.save(model.state_dict(), args.out / "model.pt")\n',
            "the last epoch is not the best one",
        ),
    ),
    predicted=("sufficient", "necessary"),
)

# Eight times the pictures in an eighth of the epochs: as many steps, and as much time.
MORE_DATA = Change(
    "more-data",
    "Learn from eight times as many pictures, for as many steps",
    Role.CURE,
    (
        Edit(
            PROGRAM,
            "draw(args.samples, TRAIN_SEED + args.seed)",
            "draw(8 * args.samples, TRAIN_SEED + args.seed)",
            "too few pictures to tell a rule from a coincidence",
        ),
        Edit(PROGRAM, "range(1, args.epochs + 1)", "range(1, args.epochs // 8 + 1)", "for as many steps"),
    ),
    predicted=("sufficient", "helpful"),
)

# What people advise against it

ADVICE = (
    Change(
        "stop-early",
        "Stop when the validation loss has not fallen for five epochs, and hand over what is there",
        Role.ADVICE,
        (
            Edit(
                PROGRAM,
                HEADING,
                HEADING + '        lowest, waited = float("inf"), 0\n',
                "nothing is lowest yet",
            ),
            Edit(
                PROGRAM,
                AFTER_VALIDATION,
                AFTER_VALIDATION
                + "            waited = 0 if val_loss < lowest else waited + 1\n"
                + "            lowest = min(lowest, val_loss)\n",
                "count the epochs since the minimum",
            ),
            Edit(
                PROGRAM,
                HANDED_OVER,
                f"            if waited == 5:\n                break\n{HANDED_OVER}",
                "what comes behind the minimum is worse",
            ),
        ),
        predicted=("helpful", "sufficient"),
    ),
    Change(
        "weight-decay",
        "Weight decay of .1",
        Role.ADVICE,
        (_flag("weight-decay 0.0", "weight-decay 0.1", "smaller weights know less by heart"),),
        predicted=("no effect", "helpful"),
    ),
    Change(
        "dropout",
        "Drop half of the features",
        Role.ADVICE,
        (_flag("dropout 0.0", "dropout 0.5", "what is missing cannot be relied on"),),
        predicted=("helpful",),
    ),
    Change(
        "label-smoothing",
        "Smooth the labels by .1",
        Role.ADVICE,
        (_flag("smoothing 0.0", "smoothing 0.1", "never be certain"),),
        predicted=("helpful",),
    ),
    Change(
        "half-the-rate",
        "Halve the learning rate",
        Role.ADVICE,
        (_flag("lr 2e-3", "lr 1e-3", "learn more slowly"),),
        predicted=("no effect", "helpful"),
    ),
    Change(
        "larger-batch",
        "A batch four times as large",
        Role.ADVICE,
        (_flag("batch-size 32", "batch-size 128", "calmer gradients"),),
        predicted=("no effect", "helpful"),
    ),
    Change(
        "larger-epsilon",
        "Raise the epsilon of AdamW to 1e-6",
        Role.ADVICE,
        (_flag("eps 1e-8", "eps 1e-6", "numerical stability"),),
        predicted=("no effect",),
    ),
)

# What cannot act. The last of them draws other random numbers and changes nothing else.

PLACEBOS = (
    Change(
        "other-note",
        "Another note, which is kept with the options and read by nothing",
        Role.PLACEBO,
        (_flag('note "first try"', 'note "second try"', "a setting without a reader"),),
        predicted=("no effect",),
    ),
    Change(
        "denser-checkpoints",
        "A checkpoint every second epoch instead of every fifth",
        Role.PLACEBO,
        (Edit(SETTINGS, "    --save-every 5\n", "    --save-every 2\n", "a checkpoint is only written"),),
        predicted=("no effect",),
    ),
    Change(
        "other-column-order",
        "Log the validation before the training",
        Role.PLACEBO,
        (
            Edit(
                PROGRAM,
                'COLUMNS = ("epoch", "lr", "train_loss", "train_acc", "val_loss", "val_acc")',
                'COLUMNS = ("epoch", "lr", "val_loss", "val_acc", "train_loss", "train_acc")',
                "a log is only read",
            ),
            Edit(
                PROGRAM,
                "(args.lr, train_loss, train_acc, val_loss, val_acc)",
                "(args.lr, val_loss, val_acc, train_loss, train_acc)",
                "a log is only read",
            ),
        ),
        predicted=("no effect",),
    ),
    Change(
        "another-shuffle",
        "Shuffle the pictures in another random order",
        Role.PLACEBO,
        (
            Edit(
                PROGRAM,
                "shuffle=True, drop_last=True)",
                "shuffle=True, drop_last=True, generator=torch.Generator().manual_seed(args.seed))",
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
            _flag("samples 512", "samples 256", "fewer pictures are sooner known by heart"),
            _flag("epochs 40", "epochs 24", "192 steps"),
        ),
        seconds=6.0,
    ),
    Size("small", (), seconds=8.0),
)

CASE = Case(
    name="memorising",
    title="A network that learns its pictures by heart",
    story=(
        "A convolutional network learns the direction of stripes from 512 small pictures, of whose labels "
        "three in ten were guessed. The training loss goes to zero; the validation loss turns after a few "
        "epochs and ends above the level of guessing. The weights of the last epoch are handed over."
    ),
    project=PROJECT,
    sources=SOURCES,
    command="bash train.sh {seed}\n",
    run="runs/stripes",
    evaluate="python judge.py {run}",
    metric=Metric("test_loss", goal="min", unit="nats", bar=round(math.log(8), 4)),
    changes=(KEEP_THE_MINIMUM, MORE_DATA, *ADVICE, *PLACEBOS),
    sizes=SIZES,
    exaggerated=(
        "three labels in ten are guessed, so that learning them by heart is certainly wrong",
        "512 pictures for a network of 15,000 weights, gone through forty times",
    ),
    needs=("torch",),
)
