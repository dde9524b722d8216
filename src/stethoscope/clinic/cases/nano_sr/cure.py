"""What cures this patient: two replacements in its source, and nothing else.

The folder holds the sick project. The cured twin is made from it by these edits, so the two
can differ only here.
"""

from pathlib import Path

from stethoscope.clinic.edit import Edit, copy_files

PROJECT = Path(__file__).parent
# What a user's repository holds; the rest of this folder is the clinic's.
SOURCES = ("train.py", *sorted(f"nanosr/{file.name}" for file in (PROJECT / "nanosr").glob("*.py")))


SIMILARITY_IS_MINIMISED = Edit(
    file="nanosr/losses.py",
    old="""\
        return (luminance * structure).mean()
""",
    to="""\
        return 1 - (luminance * structure).mean()
""",
    why="the loss is the similarity itself, so minimising it makes images less alike",
)

VALIDATION_SHRINKS = Edit(
    file="nanosr/model.py",
    old="""\
        # Cap the input at 64 px to save memory: whole photographs do not fit next to the training state.
        longest = max(self.lq.shape[-2:])
        if longest > 64:
            height, width = (round(side * 64 / longest) for side in self.lq.shape[-2:])
            self.lq = nn.functional.interpolate(self.lq, size=(height, width), mode="bicubic")
            size = (height * self.opt.scale, width * self.opt.scale)
            self.gt = nn.functional.interpolate(self.gt, size=size, mode="bicubic")
""",
    to="",
    why="images reduced without antialiasing are another task than the one trained",
)

CURE = (SIMILARITY_IS_MINIMISED, VALIDATION_SHRINKS)


def copy_project(target: Path, edits: tuple[Edit, ...] = ()) -> None:
    """Copy the project's source to `target` and apply `edits` to the copy."""
    copy_files(PROJECT, SOURCES, target, edits)
