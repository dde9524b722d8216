"""Weights start so large that the network begins with huge outputs.

## What it checks
The deviation of the random numbers that the source writes into linear and convolutional layers: against the
number of inputs of the layer where the source has it in numbers, else by itself. Where that says nothing,
the networks of the training are made and filled as the program does it, and each layer is looked at.

## Why it matters
A layer of n inputs multiplies the size of what comes in by the deviation times the root of n. With a
deviation of 1 and 256 inputs that is 16, in each layer. The first loss is far above that of a guess, the
first gradients are huge, and in half precision they overflow; much of the run is spent on shrinking the
weights again.

## When it is harmless
Embeddings are made with a deviation of 1 by torch itself. Layers that scale their weights as they run
(equalised learning rate, spectral norm, weight norm) and weights that are multiplied by a small number
afterwards may start from anything. Fixed random features are meant to be large. Where batch, group or
instance norm follows, the outputs are brought back to size and only the pace suffers: it is only noted.

## References
- Glorot and Bengio 2010; He et al. 2015
- BigScience, lessons learned: the deviation of the first weights made a huge difference
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import numpy as np

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.experiments.beginnings import Beginning, Start, beginnings
from stethoscope.program.index import index
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.program.weights.initial_values import InitialValue
from stethoscope.program.weights.layers import DENSE, gain
from stethoscope.run import Where
from stethoscope.signals.initial_values import InitialValues
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="COD131", since="0.3", severity=Severity.WARNING, subject=Subject.SOURCE)

EVERYWHERE = 0.4  # with a dozen inputs each layer already makes everything larger
ALONE = 1.0  # of one layer whose inputs are not known
GAIN = 8.0  # of one layer with known inputs: a good one has about 1
NOTABLE = 3.0  # of one layer: twice what any usual start has
OUTPUT = 10.0  # the size of outputs, where inputs have one
TOGETHER = 30.0  # times what layers of gain one make of the same inputs
MOST = 3  # layers that are told of
_FILLS = re.compile(
    r"\b(?:normal|uniform|xavier|kaiming|orthogonal|trunc|mul|constant|fill|copy)\w*_\(|\.data\s*[*=]"
)
COORDINATES = 4  # a layer of so few inputs takes places or times, and spreads them on purpose
_SCALED = re.compile(
    r"equal_?(?:i[sz]ed|lr|conv|linear)|lr_?mul|wscale|runtime_coef|weight_gain|spectral_norm|weight_norm|\bscaled_w",
    re.IGNORECASE,
)
_FIXED = re.compile(
    r"requires_grad_?\s*(?:=\s*False|\(False\))|fourier|rff|random_feature|reservoir", re.IGNORECASE
)
_TRAINS = re.compile(r"backward\(|optim|parameters\(|training_step|[Tt]rainer")
_AS_NUMBERS = re.compile(r"\.numpy\(\)")
_NORMS = re.compile(r"\b(?:Sync)?(?:Batch|Instance|Group)Norm")
# Behind the layer's name: `fc.weight *= 0.1`, `fc.weight.erfinv_().mul_(std)`.
_SHRUNK = r"\.weight(?:\.data)?(?:(?:\.\w+\(\))*\.(?:mul_|div_)\(|\s*[*/]=)"


def examine(initial: InitialValues, sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report each layer, or all of them, that starts far too large."""
    written = list(_written(initial))
    yield from written
    if not written and len(initial.writes) + _fills(sources) > 0:
        yield from _made(sources, settings)


def _fills(sources: Sources) -> int:
    """How many calls of the program fill or shrink tensors; torch's own weights are never large."""
    return sum(len(_FILLS.findall(source.text)) for source in sources.program)


def _made(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """The layers that turn out to be large once a network is made and filled."""
    tree = settings_tree(settings.recipe if settings is not None else None)
    worst: dict[ast.AST, tuple[float, str, Where]] = {}
    for beginning in beginnings(index(sources.program), tree):
        for start in beginning.starts:
            spot = start.layer.made_at
            if spot is None or start.gain < GAIN or start.fan_in <= COORDINATES:
                continue
            if _SCALED.search(spot.source.text) or _FIXED.search(spot.source.text):
                continue
            known = worst.get(spot.node)
            if known is None or known[0] < start.gain:
                kind = f"a {start.layer.kind} of {beginning.trial.cls.name}"
                worst[spot.node] = (start.gain, kind, spot.source.where(spot.node))
        large = max(beginning.starts, key=lambda start: start.gain, default=None)
        if large is not None and not worst and _SCALED.search(beginning.trial.forward.source.text) is None:
            yield from _together(beginning, large)
    for gain_of, what, where in sorted(worst.values(), key=lambda one: -one[0])[:MOST]:
        yield Finding(
            where,
            f"the weights of {what} start so large that it makes what comes in {gain_of:,.0f} times larger",
            evidence={"std": None, "gain": gain_of},
        )


def _together(beginning: Beginning, large: Start) -> Iterator[Finding]:
    """Layers that are each a little too large, and together make outputs that are far too large."""
    size = float(np.sqrt(np.mean(np.square(beginning.outputs[0], dtype=np.float64))))
    times = size / beginning.usual if beginning.usual > 0.0 else 0.0
    spot = large.layer.made_at
    if large.gain < NOTABLE or size < OUTPUT or times < TOGETHER or spot is None:
        return
    yield Finding(
        (spot.source.where(spot.node), beginning.trial.forward.where()),
        f"the layers of {beginning.trial.cls.name} start so large that its outputs begin {times:,.0f} times "
        f"larger than what comes in makes them, the largest with a gain of {large.gain:.2g}",
        evidence={"std": None, "gain": large.gain, "times": times},
    )


def _written(initial: InitialValues) -> Iterator[Finding]:
    for write in initial:
        if write.part != "weight" or write.std is None or not write.kinds or not write.kinds & DENSE:
            continue
        if abs(write.mean) >= 0.5 or _is_made_up_for(write):
            continue
        if write.every and write.std >= EVERYWHERE:
            kinds = " and ".join(sorted(write.kinds & DENSE))
            yield _finding(write, f"every {kinds} of the network", None)
        elif not write.every and write.kinds <= DENSE:
            yield from _alone(write)


def _alone(write: InitialValue) -> Iterator[Finding]:
    for name in write.attributes:
        layer = write.layer(name)
        factor = gain(write.std or 0.0, layer)
        if layer is not None and factor is not None and (layer.fan_in or 0.0) <= COORDINATES:
            continue
        if factor is not None and factor >= GAIN:
            yield _finding(write, f"self.{name}", factor)
        elif factor is None and (write.std or 0.0) >= ALONE:
            yield _finding(write, f"self.{name}", None)


def _finding(write: InitialValue, what: str, factor: float | None) -> Finding:
    said = f": it makes what comes in {factor:,.0f} times larger" if factor else ""
    is_normed = write.every and _NORMS.search(_text(write, write.owner)) is not None
    return Finding(
        write.where,
        f"the weights of {what} start with a deviation of {write.std:g}{said}",
        evidence={"std": write.std, "gain": factor},
        strength=0.0 if is_normed else 1.0,
        severity=Severity.NOTE if is_normed else None,
    )


def _is_made_up_for(write: InitialValue) -> bool:
    """Whether the weights are scaled as the network runs, shrunk at once, or never trained."""
    if _SCALED.search(write.source.text) or _is_only_run(write):
        return True
    if write.function is None:
        return False
    text = _text(write, write.function)
    named = write.owner is not None and _FIXED.search(write.owner.name) is not None
    return (
        named
        or re.search(re.escape(write.base) + _SHRUNK, text) is not None
        or _FIXED.search(text) is not None
    )


def _is_only_run(write: InitialValue) -> bool:
    """Whether a function runs the network that it fills and takes the answers as numbers: random features."""
    if write.function is None or _TRAINS.search(write.source.text):
        return False
    return _AS_NUMBERS.search(_text(write, write.function)) is not None


def _text(write: InitialValue, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | None) -> str:
    """The lines of a definition; of the file where there is none."""
    if node is None:
        return write.source.text
    return "\n".join(write.source.text.splitlines()[node.lineno - 1 : node.end_lineno])
