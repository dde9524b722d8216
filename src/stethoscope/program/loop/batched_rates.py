"""Rates of an optimizer that are multiplied with a batch size and divided by none.

Scaling by the batch goes by its ratio to the batch that the rate was found for: `lr * batch / 256`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.likenesses import words
from stethoscope.program.loop.known_numbers import is_parsed, known_number
from stethoscope.program.loop.parameter_owners import holders
from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.trace import Trace
from stethoscope.program.walk.values import Applied, Constant, Part, Site, Value

RATE_WORDS = frozenset({"lr", "rate", "blr"})
BATCH_WORDS = frozenset({"batch", "bs", "batchsize", "bsz"})
WORLD_WORDS = frozenset({"world", "gpus", "ngpu", "devices", "processes", "nodes", "replicas", "accumulate"})
LAYERWISE = frozenset({"LARS", "LARC", "LAMB", "Lamb", "FusedLAMB"})
PLAIN = frozenset({"SGD", "ASGD", "FusedSGD"})  # whose steps are as large as the gradient
DEEPEST = 6


@dataclass(frozen=True, slots=True)
class BatchedRate:
    """Where an optimizer is made, the rate and the batch that are multiplied, and what they give at least."""

    site: Site
    optimizer: str
    rate: float
    batch: float

    @property
    def product(self) -> float:
        """The rate of the optimizer, the other factors left out."""
        return self.rate * self.batch


def batched_rates(trace: Trace) -> Iterator[BatchedRate]:
    """Every optimizer whose rate is that of the settings times a batch, and nothing less."""
    for holder in holders(trace):
        call = holder.call
        name = call.name or str(getattr(call.callee, "name", "")).rpartition(".")[2]
        given = call.argument(1, "lr")
        factors = list(_factors(trace.run, given, DEEPEST)) if given is not None else []
        if name in LAYERWISE or None in factors:
            continue
        rates = [one for one in factors if one is not None and _speaks(trace.run, one, RATE_WORDS)]
        batches = [one for one in factors if one is not None and _speaks(trace.run, one, BATCH_WORDS)]
        others = [one for one in factors if one is not None and one not in rates and one not in batches]
        known = [known_number(trace.run, one) for one in (*rates, *batches)]
        if len(rates) != 1 or len(batches) != 1 or known[0] is None or known[1] is None:
            continue
        if all(_is_no_share(trace.run, one) for one in others):
            yield BatchedRate(call.site, name, known[0], known[1])


def _factors(run: Execution, value: Value, depth: int) -> Iterator[Value | None]:
    """The factors of a product, and None for what is put together in another way."""
    value = quietly(run, value)
    if isinstance(value, Applied) and value.callee == "*" and depth:
        for one in value.args:
            yield from _factors(run, one, depth - 1)
    elif isinstance(value, Applied) and value.callee in {"float", "int"} and len(value.args) == 1 and depth:
        yield from _factors(run, value.args[0], depth - 1)
    else:
        is_open = isinstance(value, Applied) and value.callee in {"/", "//", "**", "+", "-", "math.sqrt"}
        yield None if is_open else value


def _speaks(run: Execution, value: Value, wanted: frozenset[str]) -> bool:
    """Whether a factor is a setting or a flag of such a name."""
    if isinstance(value, Constant):
        return bool(wanted & set(words(value.setting.rpartition(".")[2])))
    return (
        isinstance(value, Part) and is_parsed(run, value.base) and bool(wanted & set(words(str(value.key))))
    )


def _is_no_share(run: Execution, value: Value) -> bool:
    """Whether a further factor makes a rate no smaller: a number of at least one, or of processes."""
    number = known_number(run, value)
    if number is not None:
        return number >= 1.0
    name = str(getattr(value, "key", None) or getattr(value, "name", None) or getattr(value, "callee", ""))
    return bool(WORLD_WORDS & set(words(name.rpartition(".")[2])))
