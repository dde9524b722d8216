"""What a look at a bad step gives: who spoiled it, how that is known, and the same in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from stethoscope.guard.culprit.repeating import Output, Passage

MOST_NAMED = 8  # names in one sentence or table; the rest is a number
SHOWN_BEFORE = 6  # modules before the first bad one


class Verdict(StrEnum):
    """What spoiled the step, as far as repeating the forward pass can tell."""

    INPUTS = "inputs-not-finite"
    PARAMETERS = "parameters-not-finite"
    HALF_ONLY = "overflow-in-half-precision"
    FLOAT32_TOO = "not-finite-in-float32-too"
    FORWARD_BAD = "forward-pass-not-finite"
    FORWARD_FINITE = "forward-pass-finite"
    NOT_REPEATED = "could-not-be-repeated"


@dataclass(frozen=True, slots=True)
class BadTensor:
    """A tensor with values that are not finite: of which kind, which share, and in which rows or samples."""

    name: str
    kind: str
    share: float
    rows: tuple[int, ...] = ()
    samples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Culprit:
    """What is known of a bad step. `trouble` says why a part of it could not be found out."""

    step: int
    verdict: Verdict
    bad_inputs: tuple[BadTensor, ...] = ()
    bad_parameters: tuple[BadTensor, ...] = ()
    bad_parts: tuple[str, ...] = ()
    as_it_was: Passage | None = None
    in_float32: Passage | None = None
    samples: tuple[str, ...] = ()
    trouble: str = ""
    same_parameters: bool = True

    @property
    def first_bad(self) -> Output | None:
        """The first output that is not finite, of the pass as it was."""
        if self.as_it_was is None or self.as_it_was.first_bad is None:
            return None
        return self.as_it_was.outputs[self.as_it_was.first_bad]

    @property
    def way(self) -> tuple[int, ...]:
        """The numbers of the outputs just before the first bad one and of that one.

        Where all is finite: of those that come nearest to the limit of their type.
        """
        if self.as_it_was is None:
            return ()
        last = self.as_it_was.first_bad
        if last is not None:
            return tuple(range(max(last - SHOWN_BEFORE, 0), last + 1))
        outputs = self.as_it_was.outputs
        nearest = sorted(
            range(len(outputs)), key=lambda one: -outputs[one].measure.largest / outputs[one].limit
        )
        return tuple(sorted(nearest[: SHOWN_BEFORE + 1]))

    @property
    def seen(self) -> str:
        """What was seen, with names and numbers."""
        return " ".join(part for part in (_SEEN[self.verdict](self), _also(self)) if part)

    @property
    def means(self) -> str:
        """What that means in plain words."""
        later = "" if self.same_parameters else "The pass was repeated with the parameters of a later step."
        return " ".join(part for part in (_MEANS[self.verdict], later) if part)

    @property
    def try_first(self) -> str:
        """What to try first."""
        return _TRY[self.verdict]

    def text(self) -> str:
        """The whole of it in one paragraph."""
        return f"{self.seen} {self.means} Try first: {self.try_first}"

    def facts(self) -> dict[str, object]:
        """The same for programs, as plain values."""
        passage = self.as_it_was
        rows = {one: _row(passage.outputs[one], _twin(self, one)) for one in self.way} if passage else {}
        return {
            "verdict": self.verdict.value,
            "first_bad": rows.get(passage.first_bad) if passage and passage.first_bad is not None else None,
            "way": list(rows.values()),
            "bad_inputs": [asdict(one) for one in self.bad_inputs],
            "bad_parameters": [asdict(one) for one in self.bad_parameters[:MOST_NAMED]],
            "bad_parameter_count": len(self.bad_parameters),
            "bad_parts": list(self.bad_parts),
            "samples": list(self.samples),
            "precision": None if passage is None else passage.precision,
            "finite_as_it_was": None if passage is None else passage.finite,
            "finite_in_float32": None if self.in_float32 is None else self.in_float32.finite,
            "digest": "" if passage is None else passage.digest,
            "same_parameters": self.same_parameters,
            "trouble": self.trouble,
        }


def _row(output: Output, in_float32: Output | None) -> dict[str, object]:
    return {
        "module": output.name,
        "class": output.class_name,
        "dtype": output.dtype,
        "largest": output.measure.largest,
        "largest_in_float32": None if in_float32 is None else in_float32.measure.largest,
        "limit": output.limit,
        "nans": output.measure.nans,
        "infs": output.measure.infs,
        "inputs_finite": output.entered_finite,
        "rows": list(output.rows),
    }


def _inputs_seen(culprit: Culprit) -> str:
    told = [_tensor_in_words(one) for one in culprit.bad_inputs[:MOST_NAMED]]
    return f"The inputs of step {culprit.step} are not finite: {'; '.join(told)}."


def _tensor_in_words(bad: BadTensor) -> str:
    text = f"{bad.name} holds {'NaN' if bad.kind == 'nan' else 'infinity'} ({bad.share:.3g} of its values)"
    if bad.samples:
        return f"{text}, in the samples {listed(bad.samples)}"
    return f"{text}, in rows {listed([str(row) for row in bad.rows])}" if bad.rows else text


def _parameters_seen(culprit: Culprit) -> str:
    names = [bad.name for bad in culprit.bad_parameters]
    return (
        f"{_counted(len(names), 'tensor')} of the model not finite at step {culprit.step}: {listed(names)}."
    )


def _half_seen(culprit: Culprit) -> str:
    first = culprit.first_bad
    text = f"The forward pass of step {culprit.step} overflows in half precision only"
    if first is None:
        return f"{text}."
    twin = _twin(culprit, culprit.as_it_was.first_bad if culprit.as_it_was else None)
    if twin is None:
        size = ""
    elif twin.measure.largest > first.limit:
        reach = f"; in float32 its values reach {twin.measure.largest:.3g}"
        size = f"{reach}, and {first.dtype} ends at {first.limit:.6g}"
    else:
        size = (
            f"; in float32 its values reach {twin.measure.largest:.3g}, so an intermediate result overflows"
        )
    return f"{text}: first in {_place(first)}{size}."


def _bad_seen(culprit: Culprit) -> str:
    first = culprit.first_bad
    too = " in float32, too" if culprit.verdict is Verdict.FLOAT32_TOO else ""
    text = f"The forward pass of step {culprit.step} is not finite{too}"
    return f"{text}: first in {_place(first)}." if first is not None else f"{text}."


def _finite_seen(culprit: Culprit) -> str:
    text = f"The forward pass of step {culprit.step} is finite when it is repeated"
    if culprit.bad_parts:
        return f"{text}, and a part of the loss is not: {listed(culprit.bad_parts)}."
    return f"{text}."


def _not_seen(culprit: Culprit) -> str:
    return f"The forward pass of step {culprit.step} could not be repeated: {culprit.trouble}."


def _place(first: Output) -> str:
    """Where the first bad value comes from; code between modules belongs to the module around it."""
    if not first.entered_finite and first.within != first.name:
        around = first.within or "the model itself"
        return f"the code of {around} before it calls {first.shown}: what it hands over is not finite"
    if first.has_parts:
        return f"the code of {first.shown}, after finite outputs of its parts"
    return first.shown


def _twin(culprit: Culprit, number: int | None) -> Output | None:
    """The same output in float32: the same call of the same module."""
    if number is None or culprit.as_it_was is None or culprit.in_float32 is None:
        return None
    wide = culprit.in_float32.outputs
    if number < len(wide) and wide[number].name == culprit.as_it_was.outputs[number].name:
        return wide[number]
    return None


def _also(culprit: Culprit) -> str:
    """What else was seen beside the verdict."""
    told = []
    if culprit.verdict not in {Verdict.INPUTS, Verdict.PARAMETERS} and culprit.samples:
        told.append(f"Only the samples {listed(culprit.samples)} are hit.")
    elif culprit.first_bad is not None and culprit.first_bad.rows and culprit.verdict is not Verdict.INPUTS:
        told.append(f"Only rows {listed([str(row) for row in culprit.first_bad.rows])} of the batch are hit.")
    if culprit.verdict is Verdict.FORWARD_FINITE and culprit.bad_inputs:
        told.append(f"{listed([bad.name for bad in culprit.bad_inputs])} holds values that are not finite.")
    if culprit.verdict is not Verdict.PARAMETERS and culprit.bad_parameters:
        names = [bad.name for bad in culprit.bad_parameters]
        told.append(
            f"{_counted(len(names), 'tensor')} of the model not finite by then, too: {listed(names)}."
        )
    if culprit.trouble and culprit.verdict is not Verdict.NOT_REPEATED:
        told.append(f"Not all could be looked at: {culprit.trouble}.")
    return " ".join(told)


def listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(names[:MOST_NAMED])
    return f"{shown} and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else shown


def _counted(number: int, noun: str) -> str:
    return f"1 {noun} is" if number == 1 else f"{number} {noun}s are"


_SEEN = {
    Verdict.INPUTS: _inputs_seen,
    Verdict.PARAMETERS: _parameters_seen,
    Verdict.HALF_ONLY: _half_seen,
    Verdict.FLOAT32_TOO: _bad_seen,
    Verdict.FORWARD_BAD: _bad_seen,
    Verdict.FORWARD_FINITE: _finite_seen,
    Verdict.NOT_REPEATED: _not_seen,
}
_MEANS = {
    Verdict.INPUTS: "The batch was spoiled before the model saw it; the model is not to blame.",
    Verdict.PARAMETERS: "Whatever the batch, nothing finite comes out: an earlier step wrote this.",
    Verdict.HALF_ONLY: "Float32 holds these values, and the half-precision format is too small for them.",
    Verdict.FLOAT32_TOO: "The computation gives no finite result for this batch; precision is not to blame.",
    Verdict.FORWARD_BAD: "Whether half precision is to blame is not known.",
    Verdict.FORWARD_FINITE: "What is not finite arises after the model: in the loss or the backward pass.",
    Verdict.NOT_REPEATED: "Which module is to blame is not known.",
}
_TRY = {
    Verdict.INPUTS: "take these samples out, or mend what loads them (a division by zero, a log of 0).",
    Verdict.PARAMETERS: "go back to a checkpoint whose values are finite; an earlier step spoiled them.",
    Verdict.HALF_ONLY: (
        "bfloat16, or float32 for that module (`torch.autocast(..., enabled=False)`); where the values grow "
        "from step to step, a lower learning rate."
    ),
    Verdict.FLOAT32_TOO: "look there for a division, log, sqrt or exp without a guard against extremes.",
    Verdict.FORWARD_BAD: "run the step in float32 to see whether it is finite there.",
    Verdict.FORWARD_FINITE: "look for sqrt, log, norm or a division at exactly 0; add a small eps.",
    Verdict.NOT_REPEATED: "replay the black box of this step in one process, where one was written.",
}
