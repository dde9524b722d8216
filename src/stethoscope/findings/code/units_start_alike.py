"""Units of a network start alike, or dead, and cannot become anything else.

## What it checks
What the source writes into weights before training: the same constant, zero included, into every linear or
convolutional layer of a network; zeros into two layers of which one feeds the other; and a bias so far
below zero that the ReLU behind it gives nothing.

## Why it matters
Units that start with the same weights get the same gradient and stay the same unit for ever. Two layers of
zeros one behind the other get no gradient at all: each passes on what the other makes of it, which is
nothing. A ReLU that is never above zero has no gradient either. The loss comes to rest at the level of a
constant answer.

## When it is harmless
A single layer of zeros is a common start: the last one of a residual branch, the output, the second matrix
of a low-rank adapter, the convolutions that join a control network. Biases of zero are usual, norms start
from one. A network of one layer has nothing behind it. Where random numbers are written over it later,
nothing is said.

## References
- Goodfellow, Bengio and Courville, Deep Learning, 8.4: breaking symmetry
- Lu et al., Dying ReLU and Initialization, 2019
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.syntax import all_nodes
from stethoscope.program.weights.initial_values import InitialValue
from stethoscope.program.weights.layers import DENSE, feeding, kind_of, rectified
from stethoscope.signals.initial_values import InitialValues

RULE = Rule(code="COD130", since="0.3", severity=Severity.CRITICAL, subject=Subject.SOURCE)

DEAD_EVERYWHERE = -1.0  # in deviations of what layers give: four units in five are off, and more behind each
DEAD_ALONE = -3.0  # of one layer: one unit in a thousand is on


def examine(initial: InitialValues) -> Iterator[Finding]:
    """Report constants in every layer, zeros in a row, and biases that switch units off."""
    for write in initial:
        if write.every:
            yield from _everywhere(write, initial)
    yield from _in_a_row(initial)
    for write in initial:
        if write.part == "bias" and not write.every:
            yield from _switched_off(write)


def _everywhere(write: InitialValue, initial: InitialValues) -> Iterator[Finding]:
    if not write.kinds & DENSE or write.value is None or _made(write) < 2 or _is_overwritten(write, initial):
        return
    kinds = " and ".join(sorted(write.kinds & DENSE))
    if write.part == "weight":
        what = "zeros" if write.value == 0.0 else f"the same number, {write.value:g},"
        yield Finding(
            write.where,
            f"every {kinds} of the network starts with {what} in all its weights: its units are the "
            "same and stay so",
            evidence={"value": write.value, "kinds": kinds},
            proof="units with equal weights get equal gradients",
        )
    elif write.value <= DEAD_EVERYWHERE and _has_relu(write.source.tree):
        yield Finding(
            write.where,
            f"every {kinds} of the network starts with a bias of {write.value:g}, and ReLUs follow: most "
            "units give nothing and get no gradient",
            evidence={"value": write.value, "kinds": kinds},
        )


def _made(write: InitialValue) -> int:
    """How many layers of these kinds the file makes; those made in a round count twice."""
    kinds = write.kinds & DENSE
    families = tuple(kind for kind in kinds if kind in {"Conv", "ConvTranspose"})
    calls = (kind_of(node) for node in all_nodes(write.source.tree, ast.Call))
    return sum(kind in kinds or (bool(families) and kind.startswith(families)) for kind in calls)


def _is_overwritten(write: InitialValue, initial: InitialValues) -> bool:
    """Whether other values are written into every such layer too: which come last is not followed."""
    return any(
        other is not write
        and other.every
        and other.part == write.part
        and bool(other.kinds & write.kinds & DENSE)
        and other.value != write.value
        for other in initial
    )


def _has_relu(tree: ast.AST) -> bool:
    names = {kind_of(node) for node in all_nodes(tree, ast.Call)}
    return bool(names & {"ReLU", "relu", "relu_", "ReLU6"}) and not names & {
        "LeakyReLU",
        "leaky_relu",
        "PReLU",
    }


def _in_a_row(initial: InitialValues) -> Iterator[Finding]:
    """Two layers of one class that are zero, one behind the other, with nothing random written over them."""
    by_class: dict[ast.ClassDef, dict[str, InitialValue]] = {}
    for write in initial:
        if write.part == "weight" and write.owner is not None and not write.every:
            written = by_class.setdefault(write.owner, {})
            for name in write.attributes:
                written[name] = write  # the last one counts
    for owner, written in by_class.items():
        zero = {name for name, write in written.items() if write.value == 0.0 and write.kinds <= DENSE}
        told: set[ast.Call] = set()
        for first, second in sorted(feeding(owner)):
            if first in zero and second in zero and first != second and written[second].node not in told:
                told.add(written[second].node)
                yield Finding(
                    (written[second].where, written[first].where),
                    f"self.{first} and self.{second} both start from zeros, and the one feeds the other: "
                    "neither gets a gradient",
                    evidence={"layers": f"{first}, {second}"},
                    proof="the gradient of each is a product with the other's output or weights",
                )


def _switched_off(write: InitialValue) -> Iterator[Finding]:
    if write.value is None or write.value > DEAD_ALONE or write.owner is None:
        return
    for name in sorted(rectified(write.owner).intersection(write.attributes)):
        yield Finding(
            write.where,
            f"self.{name} starts with a bias of {write.value:g} in front of a ReLU: its units give nothing "
            "and get no gradient",
            evidence={"value": write.value, "layer": name},
        )
