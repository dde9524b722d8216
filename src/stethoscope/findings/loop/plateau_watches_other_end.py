"""A schedule that waits for a plateau holds the wrong end of its number for better.

## What it checks
`ReduceLROnPlateau`, its mode, and what it is stepped with or told to monitor: a loss or an error with
`mode="max"`, an accuracy or another score with `mode="min"` (the default), or the number of the epoch.

## Why it matters
A number that improves looks to the schedule as if it only got worse: whenever its patience is over it cuts
the learning rate, however well the network learns. After a few cuts nothing moves any more, and the training
looks converged.

## When it is harmless
A score with its sign turned (`-accuracy`, `1 - accuracy`) is better the lower it is. Where neither the name
nor the sign tells which end is better, nothing is said.

## References
- torch.optim.lr_scheduler.ReduceLROnPlateau
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.call_edits import replaced, with_keyword
from stethoscope.program.index import index
from stethoscope.program.loop.plateau_directions import Misread, misread_plateaus
from stethoscope.run import Fix, Level, Recipe
from stethoscope.run.names import HIGHER
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="LOP221", since="0.4", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report each schedule that is given a number it misreads."""
    recipe = settings.recipe if settings is not None else Recipe()
    for one in misread_plateaus(index(sources.program), recipe):
        held = "highest" if one.plateau.kept == HIGHER else "lowest"
        what = "is the number of the round" if one.counts else f"is better at its {_other(held)}"
        yield Finding(
            (one.source.where(one.given), one.plateau.source.where(one.plateau.made)),
            f"the schedule holds the {held} `{one.text}` for the best, which {what}",
            evidence={"given": one.text, "kept": held, "counts": one.counts},
            fix=None if one.counts else _other_mode(one),
        )


def _other(held: str) -> str:
    return "lowest" if held == "highest" else "highest"


def _other_mode(one: Misread) -> Fix | None:
    """The schedule told the other mode."""
    made = one.plateau.made
    mode = '"min"' if one.plateau.kept == HIGHER else '"max"'
    is_positional = len(made.args) > 1 and not any(word.arg == "mode" for word in made.keywords)
    splice = (
        replaced(one.plateau.source, made.args[1], mode)
        if is_positional
        else with_keyword(one.plateau.source, made, "mode", mode)
    )
    return Fix(f"watch for the {ast.literal_eval(mode)}", Level.UNSAFE, (splice,)) if splice else None
