"""The patient forgetful-resume: three sessions, of which each begins the schedule of the run anew."""

from __future__ import annotations

from pathlib import Path

from stethoscope.clinic.case import Case, Change, Metric, Role, Size
from stethoscope.clinic.edit import Edit

PROJECT = Path(__file__).parent
SOURCES = ("settings.yaml", "sessions.py", "train.py", "model.py", "babble.py", "judge.py")
SETTINGS, PROGRAM = "settings.yaml", "train.py"

# What the judge gives to a model that holds all 27 characters equally likely.
GUESSING = 2.326


def _setting(old: str, to: str, why: str) -> Edit:
    """A line of the settings replaced by another."""
    return Edit(SETTINGS, f"  {old}\n", f"  {to}\n", why)


def _restored(part: str, saved_behind: str, loaded_behind: str, why: str) -> tuple[Edit, Edit]:
    """The state of a part saved behind one line and loaded behind another."""
    return (
        Edit(PROGRAM, saved_behind, f'{saved_behind}        "{part}": {part}.state_dict(),\n', why),
        Edit(
            PROGRAM,
            loaded_behind,
            f'{loaded_behind}        {part}.load_state_dict(checkpoint["{part}"])\n',
            why,
        ),
    )


# What cures it

CURES = (
    Change(
        "restore-the-schedule",
        "Save and load the state of the schedule",
        Role.CURE,
        _restored(
            "scheduler",
            '        "step": step,\n',
            '        step = checkpoint["step"]\n',
            "the schedule of the whole run begins anew in every session",
        ),
        predicted=("necessary", "sufficient"),
    ),
    Change(
        "restore-the-optimizer",
        "Save and load the state of the optimizer",
        Role.CURE,
        _restored(
            "optimizer",
            '        "model": model.state_dict(),\n',
            '        model.load_state_dict(checkpoint["model"])\n',
            "the moments of AdamW begin at nothing in every session",
        ),
        predicted=("no effect", "helpful"),
    ),
)

# What people advise against a loss that jumps at every resume

ADVICE = (
    Change(
        "one-session",
        "Ask the queue for one session that is long enough",
        Role.ADVICE,
        (
            Edit(
                "sessions.py",
                'for steps in cfg["queue"]["sessions"]:',
                'for steps in [sum(cfg["queue"]["sessions"])]:',
                "what is never resumed forgets nothing",
            ),
        ),
        predicted=("sufficient",),
    ),
    Change(
        "half-the-rate",
        "Halve the learning rate",
        Role.ADVICE,
        (_setting("lr: 0.01", "lr: 0.005", "smaller jumps"),),
        predicted=("helpful",),
    ),
    Change(
        "longer-warm-up",
        "Warm up for 100 steps instead of 20 in every session",
        Role.ADVICE,
        (_setting("warmup_steps: 20", "warmup_steps: 100", "begin gently after a resume"),),
        predicted=("no effect", "helpful"),
    ),
    Change(
        "clip",
        "Clip the gradients at 1",
        Role.ADVICE,
        (
            Edit(
                PROGRAM,
                "        loss.backward()\n",
                "        loss.backward()\n        nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n",
                "no large steps after a resume",
            ),
        ),
        predicted=("no effect",),
    ),
    Change(
        "larger-batch",
        "A batch twice as large",
        Role.ADVICE,
        (_setting("batch_size: 64", "batch_size: 128", "calmer gradients"),),
        predicted=("helpful",),
    ),
    Change(
        "larger-epsilon",
        "Raise the epsilon of AdamW to 1e-6",
        Role.ADVICE,
        (_setting("eps: 1.0e-08", "eps: 1.0e-06", "fresh moments divide by less"),),
        predicted=("no effect",),
    ),
    Change(
        "more-weight-decay",
        "Ten times the weight decay",
        Role.ADVICE,
        (_setting("weight_decay: 0.01", "weight_decay: 0.1", "smaller weights, smaller jumps"),),
        predicted=("no effect",),
    ),
)

# What cannot act. The last of them draws other random numbers and changes nothing else.

PLACEBOS = (
    Change(
        "a-comment",
        "Fill in the comment, which nothing reads",
        Role.PLACEBO,
        (Edit(SETTINGS, 'comment: ""\n', 'comment: "second try"\n', "a setting without a reader"),),
        predicted=("no effect",),
    ),
    Change(
        "denser-log",
        "Log every 10 steps instead of 20",
        Role.PLACEBO,
        (_setting("log_every: 20", "log_every: 10", "a log is only read"),),
        predicted=("no effect",),
    ),
    Change(
        "denser-validation",
        "Validate every 25 steps instead of 50",
        Role.PLACEBO,
        (_setting("validate_every: 50", "validate_every: 25", "a validation learns nothing"),),
        predicted=("no effect",),
    ),
    Change(
        "other-batches",
        "Draw the batches from other places of the text",
        Role.PLACEBO,
        (
            Edit(
                PROGRAM,
                "manual_seed(1_000_000 * seed + step)",
                "manual_seed(1_000_000 * seed + 500_000 + step)",
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
            _setting("total_steps: 1500", "total_steps: 600", "a shorter run"),
            Edit(SETTINGS, "sessions: [750, 450, 300]", "sessions: [300, 180, 120]", "the same shares"),
        ),
        seconds=6.0,
    ),
    Size("small", (), seconds=9.0),
)

COMMAND = """
sed -i.kept 's/^seed: .*/seed: {seed}/' settings.yaml
rm settings.yaml.kept
mkdir -p runs/babble
python sessions.py settings.yaml 2>&1 | tee runs/babble/log.jsonl
"""

CASE = Case(
    name="forgetful-resume",
    title="A learning rate that returns to its peak at every resume",
    story=(
        "A character model is trained in three sessions, as a queue allows. A session begins with the "
        "weights and the step of the last one, and with nothing else: the schedule of the whole run begins "
        "anew, so the rate jumps back to its peak and is still high when the run ends."
    ),
    project=PROJECT,
    sources=SOURCES,
    command=COMMAND,
    run="runs/babble",
    evaluate="python judge.py {run}",
    metric=Metric("excess", goal="min", unit="nats", bar=GUESSING),
    changes=(*CURES, *ADVICE, *PLACEBOS),
    sizes=SIZES,
    exaggerated=(
        "the language has 200 words, and the network looks at eight letters",
        "the peak of the learning rate is high, so that much is gained by leaving it",
        "the three sessions share one process, which loads its libraries once",
    ),
    needs=("torch",),
)
