"""Shell scripts that start a training: the options they pass, with variables filled in.

LR=${LR:-3e-4}
torchrun --nproc_per_node=8 train.py --lr "$LR" \\
    --batch-size 32 optim.warmup=2000

A value stands where it is written, which may be the variable's line; the line that uses it is kept beside it.
What only a shell would know, such as `$(nproc)` or a variable that is never set, is unknown.
"""

from __future__ import annotations

from stethoscope.errors import UnreadableFile
from stethoscope.recipe._shell.launch import Launch, launches
from stethoscope.recipe._text import MAX_SETTINGS, Text
from stethoscope.recipe._tree import TooMuch
from stethoscope.run import Setting

SYNTAX = "shell"
ENDINGS = (".sh", ".bash", ".zsh", ".sbatch", ".slurm", ".pbs", ".lsf", ".ksh")


def read(text: str, file: str, first_line: int = 1) -> tuple[Setting, ...]:
    """The settings that a script gives to its training; none where it starts several different ones."""
    found = trainings(text, file, first_line)
    if len(found) != 1:
        return ()
    return (*found[0].settings, *found[0].overrides)


def trainings(text: str, file: str, first_line: int = 1) -> tuple[Launch, ...]:
    """The trainings that a script starts."""
    source = Text(text, file, first_line)
    try:
        found = launches(source)
    except (TooMuch, RecursionError):
        raise UnreadableFile(f"{file}: grows without end when its variables are filled in") from None
    if sum(len(launch.settings) for launch in found) > MAX_SETTINGS:
        raise source.too_many()
    train = [launch for launch in found if launch.trains]
    named = [launch for launch in train if "train" in launch.script.lower()]
    return tuple(named or train)
