"""Targets with numbers that the last layer of a network cannot give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.evaluation.metric_ranges import Range, range_of
from stethoscope.program.index import Index
from stethoscope.program.objective.addends import applied_in
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.minimised import Minimised, minimised
from stethoscope.program.walk.network_passes import comes_from_model
from stethoscope.program.walk.values import Delayed, Site, Value

LOSSES = frozenset({
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss",
    "binary_cross_entropy", "BCELoss",
})  # fmt: skip
DEPTH = 6  # networks inside networks
BEYOND = 0.1  # of the width of the target's range


@dataclass(frozen=True, slots=True, eq=False)
class UnreachableTarget:
    """A loss, what its network can give, and what its target holds."""

    loss: Site
    answers: Range
    targets: Range


def unreachable_targets(index: Index, settings: SettingsTree) -> Iterator[UnreachableTarget]:
    """The losses whose targets lie beyond what the network ends in."""
    seen: set[int] = set()
    for one in minimised(index, settings):
        one.run.steps = max(one.run.steps, STEPS // 2)
        try:
            found = list(_found(one))
        except (Exhausted, RecursionError):
            continue
        for target in found:
            if id(target.loss.node) not in seen:
                seen.add(id(target.loss.node))
                yield target


def _found(one: Minimised) -> Iterator[UnreachableTarget]:
    for call in applied_in(one.run, one.sink.value):
        if call.callee.removesuffix("()").rpartition(".")[2] not in LOSSES or len(call.args) < 2:
            continue
        sides = call.args[:2]
        made = [comes_from_model(one.run, side) for side in sides]
        if made.count(True) != 1:
            continue
        answers = range_of(one.run, _opened(one.run, sides[made.index(True)]))
        targets = range_of(one.run, sides[made.index(False)])
        if answers is not None and targets is not None and _is_beyond(answers, targets):
            yield UnreachableTarget(call.site, answers, targets)


def _opened(run: Execution, answer: Value) -> Value:
    """What a network of the repository gives, behind its forward pass."""
    for _ in range(DEPTH):
        if not isinstance(answer, Delayed):
            break
        answer = run.expand(answer)
    return answer


def _is_beyond(answers: Range, targets: Range) -> bool:
    margin = BEYOND * (targets[1] - targets[0])
    return targets[0] < answers[0] - margin or targets[1] > answers[1] + margin
