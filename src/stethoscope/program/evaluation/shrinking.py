"""What an evaluation shrinks before it compares: a resize or a crop of the target, and how to take it out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from stethoscope.program.evaluation.comparisons import Comparison, expanded, is_inside
from stethoscope.program.evaluation.evaluation_entries import EvaluationEntry
from stethoscope.program.evaluation.extents import HEIGHT, WIDTH, Ruler
from stethoscope.program.evaluation.pictures import Mark, Picture
from stethoscope.program.evaluation.removal import removal
from stethoscope.program.evaluation.resizes import is_resize
from stethoscope.program.index import Function, Index
from stethoscope.program.likenesses import is_target_like
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.minimised import Minimised
from stethoscope.program.walk.network_passes import callable_name, is_model_call, is_network_pass
from stethoscope.program.walk.values import Applied, Delayed, Value, inputs, span_of
from stethoscope.run import Splice, Where

MOST_SHARE = 0.6  # of the area; above this it is a border or a multiple of the scale
SMALL_CROP = 256  # longest side; a larger centre crop is a usual protocol
USUAL_SIDE = 224  # from here on, a fixed size is a usual evaluation protocol


@dataclass(frozen=True, slots=True)
class Shrinking:
    """A resize or crop of what validation compares.

    `longest` is the longest side it leaves of a large picture, where that does not depend on the picture;
    `share` is the part of the area it leaves otherwise; `input_longest` is the same for the network's input.
    `conditional` says that small pictures pass unchanged, `smooth` that it is antialiased. `compared_at` is
    where the result is measured, None where that was not seen.
    """

    kind: str
    function: str
    call: str
    longest: int | None
    share: float
    input_longest: int | None
    conditional: bool
    smooth: bool
    where: Where
    compared_at: Where | None
    fixes: tuple[Splice, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Rulers:
    """The same walk measured on a large picture and on one twice as large, to tell caps from factors."""

    large: Ruler
    larger: Ruler

    @staticmethod
    def of(run: Execution) -> Rulers:
        """Rulers for one walk."""
        return Rulers(Ruler(run), Ruler(run, HEIGHT * 2, WIDTH * 2))

    def cap(self, value: Value) -> int | None:
        """The longest side that is left whatever the picture; None where it depends on the picture."""
        large, larger = self.large.picture(value), self.larger.picture(value)
        if large is None or larger is None or large.share >= MOST_SHARE:
            return None
        return large.longest if abs(large.longest - larger.longest) <= 1 else None


def shrunk_targets(comparison: Comparison, rulers: Rulers, trained: frozenset[int]) -> Iterator[Shrinking]:
    """The resizes and crops that make the targets of a comparison small."""
    for target in comparison.targets:
        found = _shrinking(target, comparison.predictions, rulers, trained, comparison.value.site.where)
        if found is not None:
            yield found


def _shrinking(
    target: Value, predictions: tuple[Value, ...], rulers: Rulers, trained: frozenset[int], at: Where | None
) -> Shrinking | None:
    try:
        picture = rulers.large.picture(target)
        if picture is None or picture.share >= MOST_SHARE:
            return None
        mark = _culprit(picture)
        if mark is None or id(mark.site.node) in trained:
            return None
        shown = next((cap for p in predictions if (cap := rulers.cap(p)) is not None), None)
        found = _described(mark, picture, rulers, rulers.cap(target), shown, at)
        return replace(found, fixes=_cuts([*_input_marks(predictions, mark, rulers), mark], rulers))
    except (Exhausted, RecursionError):
        return None


def unseen_shrinkings(
    run: Execution, entry: EvaluationEntry, rulers: Rulers, trained: frozenset[int]
) -> Iterator[Shrinking]:
    """Where no metric was met: a target by name that is shrunk together with the network's input."""
    met = [record.value for record in run.records if is_inside(record, entry)]
    fed = tuple(value for value in met if is_model_call(run.index, value))
    if not any(_is_small(value, rulers) for value in fed):
        return
    for value in met:
        if isinstance(value, Applied) and is_resize(value) and is_target_like(callable_name(value.args[0])):
            found = _shrinking(value, fed, rulers, trained, None)
            if found is not None:
                yield found


def _is_small(value: Value, rulers: Rulers) -> bool:
    try:
        picture = rulers.large.picture(value)
    except (Exhausted, RecursionError):
        return False
    return picture is not None and picture.share < MOST_SHARE


def _culprit(picture: Picture) -> Mark | None:
    """The mark that made the picture small, unless that is a usual protocol."""
    resizes = [mark for mark in picture.marks if mark.kind == "resize"]
    if resizes:
        smallest = min(resizes, key=lambda mark: mark.longest)
        usual = smallest.fixed and not picture.conditional and smallest.longest >= USUAL_SIDE
        return None if usual else smallest
    crops = [
        mark for mark in picture.marks if mark.kind == "crop" and mark.longest <= SMALL_CROP and mark.fixed
    ]
    return crops[-1] if crops else None


def _described(
    mark: Mark, picture: Picture, rulers: Rulers, cap: int | None, input_cap: int | None, at: Where | None
) -> Shrinking:
    home = _function_around(rulers.large.run.index, mark)
    return Shrinking(
        kind=mark.kind,
        function=home.spoken if home else mark.site.source.module,
        call=mark.callee.removesuffix("()").rpartition(".")[2],
        longest=cap,
        share=picture.share,
        input_longest=input_cap,
        conditional=picture.conditional or _is_under_condition(home, mark),
        smooth=mark.smooth,
        where=mark.site.where,
        compared_at=at,
    )


def _input_marks(predictions: tuple[Value, ...], shared: Mark, rulers: Rulers) -> list[Mark]:
    """The steps that make the network's input small: to mend the target alone would leave the sizes apart.

    An input made from the target after the step they share is mended with it.
    """
    pictures = [picture for value in predictions if (picture := rulers.large.picture(value)) is not None]
    apart = [p for p in pictures if all(mark.site.node is not shared.site.node for mark in p.marks)]
    small = [picture for picture in apart if picture.share < MOST_SHARE]
    return [mark for picture in small if (mark := _culprit(picture)) is not None]


def _cuts(marks: list[Mark], rulers: Rulers) -> tuple[Splice, ...]:
    """The cuts that take out every one of these steps, or none where one of them would stay."""
    cuts: list[Splice] = []
    for mark in marks:
        if any(_holds(cut, mark) for cut in cuts):
            continue
        home = _function_around(rulers.large.run.index, mark)
        own = removal(mark.site, home.node if home else None)
        if not own:
            return ()
        cuts.extend(cut for cut in own if cut not in cuts)
    return tuple(cuts)


def _holds(cut: Splice, mark: Mark) -> bool:
    span = span_of(mark.site.source, mark.site.node)
    return (
        span is not None and cut.file == mark.site.source.file and cut.start <= span[0] and span[1] <= cut.end
    )


def _function_around(names: Index, mark: Mark) -> Function | None:
    line = getattr(mark.site.node, "lineno", 0)
    inside = [
        function
        for function in names.functions
        if function.source is mark.site.source
        and function.node.lineno <= line <= (function.node.end_lineno or 0)
    ]
    return max(inside, key=lambda function: function.node.lineno, default=None)


def _is_under_condition(home: Function | None, mark: Mark) -> bool:
    line = getattr(mark.site.node, "lineno", 0)
    return home is not None and any(
        isinstance(node, ast.If) and node.lineno < line <= (node.end_lineno or 0)
        for node in own_nodes(home.node)
    )


def trained_sites(found: list[Minimised]) -> frozenset[int]:
    """The calls that training makes of its own targets too: what both do is the task."""
    sites: set[int] = set()
    for one in found:
        seen: set[int] = set()
        waiting: list[Value] = [one.sink.value]
        while waiting and len(seen) < 4_000:
            value = waiting.pop()
            if id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, Applied):
                sites.add(id(value.site.node))
            if isinstance(value, Delayed) and not is_network_pass(one.run.index, value):
                waiting.append(expanded(one.run, value))
            waiting.extend(inputs(value))
    return frozenset(sites)
