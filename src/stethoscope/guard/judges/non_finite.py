"""Values that are not finite: which came first in the chain from input to gradient, and how often.

A loss that is not finite can come from the data or from the model; one such step is skipped and forgotten,
several within a hundred steps say that the model itself (or a buffer of it) is bad. With a loss scaler, a
gradient that is not finite while the loss is finite is the scaler's ordinary work.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from stethoscope.guard.happening import Answer, Happening, Kind, Severity
from stethoscope.guard.observation import SPARSE, Observation

SPAN = 100  # steps within which bad losses add up
SEVERAL = 3  # bad losses within the span: skipping does not help
MOST = 10  # bad losses within the span: nothing helps
PART = "loss/"


@dataclass(frozen=True, slots=True)
class NonFinite:
    """The clocks of the last bad steps, those that a scaler is to blame for left out."""

    recent: tuple[int, ...] = ()


def begin() -> NonFinite:
    """Nothing bad so far."""
    return NonFinite()


def update(state: NonFinite, clock: int, seen: Observation) -> tuple[NonFinite, tuple[Happening, ...]]:
    """Judge one step."""
    values = seen.values
    for name, value in values.items():
        # Faster than math.isfinite: what is not finite is not zero when taken from itself.
        if value - value != 0.0 and name not in SPARSE:
            break
    else:
        return state, ()
    chain = _chain(values)
    if not chain:
        return state, ()
    if not _is_bad(values):
        return state, (_harmless(seen, chain),)
    recent = (*(at for at in state.recent[1 - MOST :] if clock - at < SPAN), clock)
    return NonFinite(recent), (_bad(seen, chain, len(recent), clock - recent[0]),)


def is_overflow(values: Mapping[str, float]) -> bool:
    """Whether a scaler's overflow is all that is wrong with a step: gradients not finite, the loss finite."""
    if "loss_scale" not in values:
        return False
    forward = [value for name, value in values.items() if _is_forward(name)]
    return all(math.isfinite(value) for value in forward)


def _is_forward(name: str) -> bool:
    return name in ("input", "loss") or name.startswith(PART)


def _chain(values: Mapping[str, float]) -> tuple[str, ...]:
    """The names of what is not finite, in the order in which a step computes them."""
    bad = [name for name, value in values.items() if not math.isfinite(value)]
    parts = sorted(name for name in bad if name.startswith(PART))
    order = ("input", *parts, "loss", "grad_norm")
    return tuple(name for name in order if name in bad)


def _is_bad(values: Mapping[str, float]) -> bool:
    """Whether the step is bad as a whole: its loss, or its gradient where no scaler explains that."""
    if not math.isfinite(values.get("loss", 0.0)):
        return True
    return not math.isfinite(values.get("grad_norm", 0.0)) and not is_overflow(values)


def _harmless(seen: Observation, chain: tuple[str, ...]) -> Happening:
    """Something is not finite, and the weights are not in danger."""
    first = chain[0]
    facts: dict[str, object] = {"which": first, "chain": list(chain)}
    if first == "grad_norm":
        scale = seen.values["loss_scale"]
        return Happening(
            Kind.NON_FINITE_GRADIENT,
            seen.step,
            Severity.NOTE,
            f"The gradient is not finite at step {seen.step:,}, at a loss scale of {scale:g}.",
            "The loss is finite: the scaled gradient left the range of half precision. The scaler skips the "
            "step and halves its scale, which is its ordinary work.",
            facts={**facts, "loss_scale": scale if math.isfinite(scale) else None},
        )
    kind = Kind.NON_FINITE_INPUT if first == "input" else Kind.NON_FINITE_LOSS
    return Happening(
        kind,
        seen.step,
        Severity.WARNING,
        f"{_named(first, seen.values)} at step {seen.step:,}, while the loss stays finite.",
        "What is not finite does not reach the loss; it is masked, or only logged.",
        "look at it before it does reach the loss.",
        facts,
    )


def _bad(seen: Observation, chain: tuple[str, ...], count: int, since: int) -> Happening:
    first = chain[0]
    facts: dict[str, object] = {"which": first, "chain": list(chain), f"within_{SPAN}_steps": count}
    answer = Answer.STOP if count >= MOST else Answer.REWIND if count >= SEVERAL else Answer.NONE
    if "loss_scale" in seen.values and chain[0] != "input":
        # The scaler skips such steps with or without Guard, and the batches between them are learned from.
        answer = Answer.NONE
    said = f"{_named(first, seen.values)} at step {seen.step:,}{_followed(chain)}."
    if count > 1:
        said += f" That is the {_ordinal(count)} such step within {SPAN} steps."
    return Happening(
        _kind(first),
        seen.step,
        Severity.CRITICAL if answer is Answer.STOP else Severity.WARNING,
        said,
        f"{_meaning(first)}{_persistence(count)}",
        _advice(first),
        facts,
        answer,
        onset=seen.step - since if answer is not Answer.NONE else None,
    )


def _kind(first: str) -> Kind:
    if first == "input":
        return Kind.NON_FINITE_INPUT
    return Kind.NON_FINITE_GRADIENT if first == "grad_norm" else Kind.NON_FINITE_LOSS


def _named(name: str, values: Mapping[str, float]) -> str:
    what = "NaN" if math.isnan(values[name]) else "infinite"
    if name == "input":
        return "An input holds values that are not finite"
    if name == "grad_norm":
        return f"The gradient is {what}"
    return f"The loss is {what}" if name == "loss" else f"The loss part {name.removeprefix(PART)} is {what}"


def _followed(chain: tuple[str, ...]) -> str:
    rest = [name.removeprefix(PART) if name != "grad_norm" else "gradient" for name in chain[1:]]
    return f", and after it {', '.join(rest)}" if rest else ""


def _ordinal(count: int) -> str:
    return f"{count}{ {2: 'nd', 3: 'rd'}.get(count, 'th') }"


def _meaning(first: str) -> str:
    if first == "input":
        return "The data are at fault, not the model: this batch was bad before the model saw it."
    if first == "grad_norm":
        return (
            "The loss is finite, so the backward pass made it: a square root, a norm or a division at zero, "
            "or a number too large for its type."
        )
    part = "This part of the loss" if first.startswith(PART) else "The loss"
    return f"{part} is the first to break: the inputs were finite, or were not looked at."


def _persistence(count: int) -> str:
    if count < SEVERAL:
        return ""
    return " So many of them are no accident of one batch: weights or buffers may already be bad."


def _advice(first: str) -> str:
    if first == "input":
        return "look at the samples of this batch, and drop or repair what is not finite where they are read."
    if first == "grad_norm":
        return "add a small number under square roots and in divisions of the loss, and clip the gradient."
    return "replay the batch in float32; look for a logarithm, a division or an exponential without a bound."
