"""Whether the average of the weights that the source keeps grows its decay from small values."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.evaluation.averages_by_hand import WEIGHTS, mixes
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.amounts_in_calls import has_growing_average
from stethoscope.program.syntax import all_nodes, definitions
from stethoscope.run import Program, Run, Source
from stethoscope.signals import training_loops
from stethoscope.signals.missing import Missing

_AVERAGE = re.compile(r"ema|moving_?average|averaged_?model", re.IGNORECASE)
_NAMED = re.compile(rf"\b(?:class|def)\s+\w*(?:{_AVERAGE.pattern})", re.IGNORECASE)
# What a decay that grows is computed from, and the classes of others that have one.
_GROWS = re.compile(
    r"\b(?:num_updates|n_updates|updates|step|steps|optimization_step|power|inv_gamma|tau|warmup|ramp\w*|halflife)\b"
)
_OTHERS_WITH_RAMP = re.compile(
    r"\b(?:ema_pytorch|EMAModel|ModelEMA|torch_ema|ExponentialMovingAverageHook)\b"
)
_OTHERS_WITHOUT = re.compile(r"\bget_ema_(?:multi_)?avg_fn\b|\bModelEmaV[23]?\b")
_TAKES_WEIGHTS = re.compile(rf"\b(?:{'|'.join(sorted(WEIGHTS))})\(")
_COUNTED = re.compile(r"([\w.]+) \+= 1\b")
_COMPUTED = re.compile(r"\bmin\(|\bmax\(|\bexp\(|/|\*\*")
_TRAINS = re.compile(r"\.backward\(|\bloss\b")


@dataclass(frozen=True, slots=True)
class AverageRamp:
    """Whether any average of the source begins with a smaller decay."""

    grows: bool


def measure(run: Run) -> AverageRamp | Missing:
    """Look at the classes and functions of the source that keep an average of weights."""
    if run.program is None or not run.program.sources:
        return Missing("the training source was not found", log_this="keep a copy of the source with the run")
    loops = training_loops.measure(run)
    if not isinstance(loops, Missing) and any(map(has_growing_average, loops)):
        return AverageRamp(True)
    return _ramp(run.program)


@remembered  # a program is asked once, under however many settings it is examined
def _ramp(program: Program) -> AverageRamp | Missing:
    if any(_OTHERS_WITH_RAMP.search(source.text) for source in program):
        return AverageRamp(True)
    texts = [text for source in program for text in _averages(source)]
    texts = texts or [text for source in program for text in _unnamed_averages(source)]
    if texts:
        return AverageRamp(any(_GROWS.search(text) or _computes_with_count(text) for text in texts))
    if any(_OTHERS_WITHOUT.search(source.text) for source in program):
        return AverageRamp(False)
    return Missing("no average of the weights was found in the source")


def _computes_with_count(text: str) -> bool:
    """Whether something that is counted up is computed with, whatever it is called."""
    counted = set(_COUNTED.findall(text))
    return any(
        name in line and _COMPUTED.search(line) for line in text.splitlines() for name in counted if name
    )


def _averages(source: Source) -> list[str]:
    """The text of each class or function that is named for an average and blends weights."""
    found = []
    for node in definitions(source.tree) if _NAMED.search(source.text) else ():
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and _AVERAGE.search(node.name):
            text = ast.unparse(node)
            if re.search(r"decay|beta|alpha|lerp|mul_|momentum", text):
                found.append(text)
    return found


def _unnamed_averages(source: Source) -> Iterator[str]:
    """The text of what mixes weights into others: the class that does, or its loop where it trains, too."""
    if not _TAKES_WEIGHTS.search(source.text):
        return
    for node in definitions(source.tree):
        loops = [loop for loop in all_nodes(node, ast.For) if mixes(loop)]
        if not loops:
            continue
        text = ast.unparse(node)
        yield from [text] if not _TRAINS.search(text) else map(ast.unparse, loops)
