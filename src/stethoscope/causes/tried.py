"""What a trial says about a cause: its cure was tried on this very training, beside a placebo."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stethoscope.causes.cause import DECISIVE, STRONG, Argument
from stethoscope.findings import Finding
from stethoscope.run import Proof, Where

TRIAL = "trial"  # what stands in the place of a rule and of its family


def tried(cause: str, proofs: Iterable[Proof]) -> Iterator[Argument]:
    """The arguments that trials make for and against a cause."""
    for proof in proofs:
        if cause in proof.causes and (proof.helps or proof.refuted):
            yield _argument(proof)


def _argument(proof: Proof) -> Argument:
    if proof.cures:
        weight, reason = DECISIVE, "its cure was tried, and the sickness went"
    elif proof.helps:
        weight, reason = STRONG, "its cure was tried, and helped"
    else:
        weight, reason = -STRONG, "its cure was tried, and did nothing good"
    # A trial that was cut short may change its mind.
    certain = f"{proof.change} is {proof.spoken}" if proof.cures and proof.complete else ""
    message = f"{proof.change} was {proof.spoken}: {proof.why}"
    return Argument(weight, reason, TRIAL, TRIAL, Finding(Where(proof.file), message, proof=certain))
