"""Names and axes of the series in a TensorBoard file, as the loggers that write such files mean them.

lm loss vs samples            Megatron logs each value against iterations, and again against samples
Train/Samples/train_loss      DeepSpeed's monitor logs against samples only
epoch_loss                    Keras counts epochs; evaluation_loss_vs_iterations counts steps
Progress/kimg                 StyleGAN counts thousands of images, which the value repeats
runs/x/Loss_val/events...     `add_scalars("Loss", {"val": ...})`: a file for each line, all with tag "Loss"
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.points import aggregation_of, with_lone_loss
from stethoscope.run import Aggregation, Series
from stethoscope.run.names import MINIMISED, assign, canonical, known, validated
from stethoscope.run.series import Steps, Values

FEWEST_TO_COUNT = 3  # points; fewer may equal their steps by chance

# Units of progress only: "win_rate_vs_random" is about an opponent.
_AGAINST = re.compile(
    r"[\s_-]+vs\.?[\s_-]+(?P<axis>iterations?|iters?|steps?|samples|tokens|images|examples|sequences|epochs?"
    r"|(?:wall[\s_-]?)?time|seconds|hours|[a-z]*flops)\b[^/]*$",
    re.IGNORECASE,
)
_MONITOR = re.compile(
    r"^(?P<role>train|training|val|valid|validation|eval|test)/(?P<axis>samples|tokens)/", re.IGNORECASE
)
_OF_EPOCHS = re.compile(r"epoch_(?!.*_vs_)", re.IGNORECASE)
_SUMMARY = re.compile(r"hparam/|hp_metric$")  # the one value that add_hparams compares runs by
_EVALUATION = re.compile(r"evaluation_.*_vs_iterations")
_SPOKEN = dict.fromkeys(("iterations", "iteration", "iters", "iter", "steps", "step"), "step") | {
    "epochs": "epoch"
}

Points = Mapping[str, tuple[Steps, Values]]


def series_of(points: Points, head: Head) -> tuple[Series, ...]:
    """The series of a file under canonical names."""
    tags = [_Tag(tag, *_meant(tag)) for tag, (steps, _) in points.items() if len(steps)]
    if len(tags) == 1 and (line := _line_of(tags[0].tag, head.path)):
        only = tags[0]
        points = {f"{only.tag}/{line}": points[only.tag]}
        tags = [_Tag(f"{only.tag}/{line}", f"{only.tag}/{line}", only.axis)]
    names = _names(tags, {tag: len(steps) for tag, (steps, _) in points.items()})
    counters = _counters(points)
    found = []
    for one in tags:
        steps, values = points[one.tag]
        name = names[one.tag]
        axis = _counted_axis(one, steps, counters) if one.axis == "step" else one.axis
        aggregation = aggregation_of(name, one.tag, Aggregation.UNKNOWN)
        found.append(Series(name, one.tag, steps, values, head.file, aggregation, axis))
    return with_lone_loss(tuple(found))


@dataclass(frozen=True, slots=True)
class _Tag:
    """A tag, what it says without its axis, and the axis."""

    tag: str
    bare: str
    axis: str


def _meant(tag: str) -> tuple[str, str]:
    """What a tag says without its axis, and the axis that it speaks of."""
    if against := _AGAINST.search(tag):
        axis = _SPOKEN.get(against["axis"].lower(), against["axis"].lower())
        return tag[: against.start()], axis
    if monitor := _MONITOR.match(tag):
        return f"{monitor['role']}/{tag[monitor.end() :]}", monitor["axis"].lower()
    return tag, "step"


def _names(tags: list[_Tag], counts: Mapping[str, int]) -> dict[str, str]:
    """The name of each tag: what is logged again against another axis keeps its own."""
    first: dict[str, _Tag] = {}
    for one in sorted(tags, key=lambda one: one.axis != "step"):  # stable: steps before all others
        if _SUMMARY.match(one.tag):
            continue
        if one.axis == "step" or not any(canonical(one.bare) == canonical(other) for other in first):
            first.setdefault(one.bare, one)
    plain = _without_namespaces([*first])
    named = assign({plain[bare]: counts[one.tag] for bare, one in first.items()})
    chosen = {one.tag: named[plain[bare]] for bare, one in first.items()}
    names = {one.tag: chosen.get(one.tag, one.tag) for one in tags}
    return _of_validation(names) if any(_EVALUATION.match(one.tag) for one in tags) else names


def _without_namespaces(tags: list[str]) -> dict[str, str]:
    """What each tag says without the namespace that it stands in: data/loss, exp1/val_loss.

    A namespace is a first part that says nothing a series is known by. It is left out where all losses of the
    file stand in it, and nothing else has the name that remains: gen/loss and disc/loss are two losses.
    """
    spaces = {tag: tag.partition("/")[0] for tag in tags if _in_namespace(tag)}
    with_losses = {spaces.get(tag, "") for tag in tags if _LOSS.search(tag)}
    if len(with_losses) != 1:
        return {tag: tag for tag in tags}
    (space,) = with_losses
    bare = {tag: tag.partition("/")[2] if space and spaces.get(tag) == space else tag for tag in tags}
    claims = Counter(canonical(name) for name in bare.values())
    return {tag: name if claims[canonical(name)] == 1 else tag for tag, name in bare.items()}


def _in_namespace(tag: str) -> bool:
    first, _, rest = tag.partition("/")
    if not rest or not known(rest) or known(first) or _SPEAKS.search(first):
        return False
    component = canonical(tag).rpartition("/")[2]
    return component == "data" or component not in MINIMISED  # ce/loss is a loss of its own kind


# First parts that say what a value is of: a role, a part of the loss, one of several networks.
_SPEAKS = re.compile(
    r"(?<![a-z])(?:train|training|trn|val|valid|validation|eval|evaluation|test|testing|dev|hold_?out|loss|losses"
    r"|lr|grads?|gradients?|g|d|gen|generator|disc|discriminator|critic|actor|policy|value|q|gan|adv|kl|aux|reg"
    r"|teacher|student|ema|best|epoch|step|batch|avg|hparams?)(?![a-z])",
    re.IGNORECASE,
)
_LOSS = re.compile(r"loss", re.IGNORECASE)


def _of_validation(names: Mapping[str, str]) -> dict[str, str]:
    """The names of Keras's validation file, told by its tags: what it counts by epochs is held out.

    Those stand beside the training values, which count epochs, too; the same over steps keeps its own name.
    """
    held = {tag: validated(name) for tag, name in names.items() if _OF_EPOCHS.match(tag)}
    return {tag: held.get(tag) or (tag if name in held.values() else name) for tag, name in names.items()}


# --- what a step is ---------------------------------------------------------------------------------


def _counters(points: Points) -> dict[str, Steps]:
    """The steps of tags that only repeat their step, by what they count: epochs, or thousands of images."""
    found = {}
    for tag, (steps, values) in points.items():
        counted = "kimg" if tag.lower().endswith("kimg") else canonical(tag)
        if counted in {"kimg", "epoch"} and len(steps) >= FEWEST_TO_COUNT and steps[0] != steps[-1]:
            with np.errstate(invalid="ignore"):
                if (np.abs(values - steps) < 1).all():
                    found[counted] = np.unique(steps)
    return found


def _counted_axis(one: _Tag, steps: Steps, counters: Mapping[str, Steps]) -> str:
    for axis, counted in counters.items():
        if np.isin(steps, counted).all():
            return axis
    if _OF_EPOCHS.match(one.tag.rpartition("/")[2]) and (np.diff(steps) == 1).all() and steps[0] in (0, 1):
        return "epoch"
    return "step"


# --- add_scalars ------------------------------------------------------------------------------------


def _line_of(tag: str, path: Path) -> str | None:
    """The key under which `add_scalars` was given this line; None for any other file.

    PyTorch writes it to <main>/<tag, slashes as underscores>_<key>/, tensorboardX to <main>/<tag>/<key>/,
    and both keep a file of the main run in <main>/.
    """
    folder = path.absolute().parent
    flat = tag.replace("/", "_") + "_"
    if folder.name.startswith(flat) and len(folder.name) > len(flat) and _holds_events(folder.parent):
        return folder.name.removeprefix(flat)
    parts = tuple(tag.split("/"))
    if folder.parts[-1 - len(parts) : -1] == parts and _holds_events(folder.parents[len(parts)]):
        return folder.name
    return None


def _holds_events(folder: Path) -> bool:
    try:
        return any("tfevents" in entry.name for entry in folder.iterdir())
    except OSError:
        return False
