"""The optimizer that is asked for by name is another one.

## What it checks
Where a program makes optimizers by name (`if name == "adamw"`, a table, a registry, `def build_adamw`):
whether the one made under a name is the one that it names. Adam for AdamW is reported where it gets a weight
decay. It also looks at Adam with a decay of a size that only AdamW can have.

## Why it matters
Adam adds the decay to the gradient and then divides by the size of both. A decay of 0.05 or 0.1, usual with
AdamW, is then larger than most gradients: the steps follow the weights and not the data, and every weight
shrinks at the full rate. SGD in place of Adam, or the other way round, makes the rate wrong by orders of
magnitude.

## When it is harmless
AdamW under the name of Adam is a choice that many programs make. Adam without decay, or with one of 1e-5 to
1e-3, does what it says. A name that the settings do not choose makes nothing.

## References
- Loshchilov and Hutter, Decoupled weight decay regularization, 2019
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.loop.misnamed_optimizers import MisnamedOptimizer, misnamed_optimizers
from stethoscope.signals.sources import Sources
from stethoscope.signals.training_plan import CODE, TrainingPlan

RULE = Rule(code="SET700", since="0.7", severity=Severity.WARNING, subject=Subject.SOURCE)

# With Adam recipes go up to 1e-3, a few to 1e-2; a tenth of that of AdamW at its strongest.
MOST = 0.03


def examine(sources: Sources, plan: TrainingPlan | None) -> Iterator[Finding]:
    """Report optimizers under wrong names, and a decay that Adam divides."""
    chosen = {str(one.amount.value).lower() for one in plan["optimizer"].asked} if plan is not None else set()
    found = False
    for one in misnamed_optimizers(index(sources.program)):
        is_chosen = not chosen or any(one.name.lower() in each for each in chosen)
        if is_chosen and _matters(one):
            found = True
            yield _misnamed(one)
    if plan is not None and not found:
        yield from _divided(plan)


def _matters(one: MisnamedOptimizer) -> bool:
    """Adam for AdamW needs a decay to differ; AdamW for Adam is a choice; a class alone tells no decay."""
    if {one.name, one.kind} == {"Adam", "AdamW"}:
        is_told = one.decay is not None or not isinstance(one.node, ast.Call)
        is_none = isinstance(one.decay, ast.Constant) and not one.decay.value
        return one.name == "AdamW" and is_told and not is_none
    return True


def _misnamed(one: MisnamedOptimizer) -> Finding:
    why = (
        "its decay is added to the gradient and divided with it"
        if one.name == "AdamW" and one.kind == "Adam"
        else "the rate that suits one does not suit the other"
    )
    return Finding(
        one.source.where(one.node),
        f"what is called {one.name} makes {one.kind}: {why}",
        evidence={"asked": one.name, "made": one.kind, "decay": one.name == "AdamW" and one.kind == "Adam"},
    )


def _divided(plan: TrainingPlan) -> Iterator[Finding]:
    kinds = {str(one.amount.value): one for one in plan["optimizer"].in_effect if one.how == CODE}
    decays = {one.amount.number for one in plan["weight decay"].in_effect if one.how == CODE}
    decays |= {one.amount.number for one in plan["weight decay"].asked}
    decay = decays.pop() if len(decays) == 1 else None
    if set(kinds) == {"Adam"} and decay is not None and decay >= MOST:
        yield Finding(
            kinds["Adam"].where,
            f"Adam gets a weight decay of {decay:g}, adds it to the gradient and divides by their size: "
            "AdamW takes such a decay",
            evidence={"asked": "Adam", "made": "Adam", "decay": True, "size": decay},
        )
