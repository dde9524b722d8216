"""A term of a loss can only teach a network that this step does not move.

## What it checks
Programs with several optimizers: for each term of each loss, the networks that its gradients get to, and the
optimizers that step on them before they are cleared. A term is reported where all its gradients end in a
network of another optimizer, while what it was computed from comes from the network that is moved, behind a
`.detach()` or out of code under `no_grad`.

## Why it matters
A generator is told by the discriminator how to get better. Where the discriminator is shown the detached
picture, that message ends there: the term is in the sum, it is logged, it falls and rises, and the generator
learns from the rest of the loss alone. So it is with an actor whose action is detached before it is judged.

## When it is harmless
The loss of the discriminator itself sees detached pictures on purpose, and its optimizer steps on it. A
backward pass that two optimizers step on teaches both. Where networks, optimizers or the sum could not be
followed, nothing is said.

## References
- torch.Tensor.detach
- Goodfellow et al., Generative Adversarial Networks, 2014
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.objective.lessons_for_others import lessons_for_others
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="OBJ935", since="0.9", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each term once, however many loops it is met in."""
    if not loops.loops:
        raise InsufficientData("no loop that trains was found")
    told: set[object] = set()
    for loop in loops:
        for one in lessons_for_others(loop):
            if one.term.node in told:
                continue
            told.add(one.term.node)
            yield Finding(
                tuple(dict.fromkeys((one.cut.where, one.term.where))),
                f"{one.cut.text} cuts this term off from {one.moved.cls.name}, which the step moves: "
                f"its gradients end in {one.taught.cls.name}",
                evidence={"term": one.term.text, "cut": one.cut.text, "moved": one.moved.cls.name},
                proof="every way from the term to what the optimizer has passes a detached value",
            )
