"""Boxes by their corners, or by a corner or centre with their extent: which form a comparison is given.

The form is what the author calls it (`pred_xyxy`, `box_cxcywh_to_xyxy(...)`), or how a target is written
(`[x, y, x + w, y + h]`).
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from stethoscope.program.data.ingredients import ingredients, peeled
from stethoscope.program.index import Index, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.minimised import minimised
from stethoscope.program.walk.values import Applied, Delayed, FunctionValue, Items, Site, Value

CORNERS = "xyxy"
REGRESSIONS = frozenset({
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss",
})  # fmt: skip
# Losses of torchvision, which take corners on both sides.
OVERLAPS = frozenset({
    "generalized_box_iou_loss", "complete_box_iou_loss", "distance_box_iou_loss", "box_iou",
    "generalized_box_iou", "complete_box_iou", "distance_box_iou",
})  # fmt: skip
NAMED = re.compile(r"(cxcywh|xyxy|ltrb|x1y1x2y2|xywh)")
SAME = {"ltrb": CORNERS, "x1y1x2y2": CORNERS}


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """A comparison of boxes whose sides are in two forms; `wanted` is the other side's or the loss's."""

    given: str
    wanted: str
    compared: Site
    sink: Site


@remembered
def boxes(index: Index, settings: SettingsTree) -> tuple[Boxes, ...]:
    """Every comparison on the way to a loss that takes boxes of two forms."""
    if not any(NAMED.search(source.text) for source in index.program.sources):
        return ()
    found: dict[int, Boxes] = {}
    for one in minimised(index, settings):
        one.run.steps = max(one.run.steps, STEPS // 4)
        try:
            for value in ingredients(one.run, one.sink.value):
                if not isinstance(value, Applied) or len(value.args) < 2:
                    continue
                last = value.callee.removesuffix("()").rpartition(".")[2]
                written = value.site.node.args if isinstance(value.site.node, ast.Call) else []
                if last not in REGRESSIONS | OVERLAPS or len(written) < 2:
                    continue
                sides = [_form(one.run, value.args[at], written[at]) for at in (0, 1)]
                wanted = CORNERS if last in OVERLAPS else sides[1]
                given = next((side for side in sides if side is not None and side != wanted), None)
                if given is not None and wanted is not None:
                    found.setdefault(id(value.site.node), Boxes(given, wanted, value.site, one.sink.site))
        except (Exhausted, RecursionError):
            continue
    return tuple(found.values())


def _form(run: Execution, value: Value, node: ast.expr) -> str | None:
    """The form of a box; by its maker first, which knows better than a name."""
    value = peeled(value)
    match value:
        case Delayed(callee=FunctionValue(function=function)):
            by_maker = _of_name(function.name) if "to" in function.name or "2" in function.name else None
            if by_maker is not None:
                return by_maker
        case Applied(callee=callee, args=[Items(items=[left, top, right, bottom]), *_]):
            is_made = callee.rpartition(".")[2] in {"tensor", "stack", "as_tensor", "FloatTensor"}
            if is_made and _is_beyond(right, left) and _is_beyond(bottom, top):
                return CORNERS
    if isinstance(node, ast.Call):
        return _of_name((dotted(node.func) or "").rpartition(".")[2])
    if isinstance(node, ast.Subscript):
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        return _of_name(key) if isinstance(key, str) else None
    return _of_name((dotted(node) or "").rpartition(".")[2])


def _is_beyond(end: Value, start: Value) -> bool:
    return isinstance(end, Applied) and end.callee == "+" and any(arg is start for arg in end.args)


def _of_name(name: str) -> str | None:
    """The last form that a name speaks of: what `cxcywh_to_xyxy` gives back are corners."""
    found = NAMED.findall(name.lower())
    return SAME.get(found[-1], found[-1]) if found else None
