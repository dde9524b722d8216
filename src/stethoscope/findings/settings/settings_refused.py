"""A framework stops at its settings before the first step.

## What it checks
What a Trainer of transformers is told: `load_best_model_at_end` where checkpoints and evaluations do not come
together, or come at steps of which one is no multiple of the other, and a `warmup_ratio` above one. A
Lightning module that optimizes by hand under a Trainer that is told to clip or to accumulate, or without
saying so. A section of settings from which Hydra makes an object of the program (`_target_`), with a key that
its class does not take.

## Why it matters
The run ends with an error as soon as it starts, which on a cluster is after hours of waiting.

## When it is harmless
Never, in the versions that check. Where an option is told that only the run knows, nothing is said.

## References
- transformers.TrainingArguments, Lightning: manual optimization
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.loop.engines_passed_by import by_hand_under_options, by_hand_without_leave
from stethoscope.program.settings.misfit_targets import misfit_targets
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.program.settings.trainer_options import TrainerOptions, trainer_options
from stethoscope.run import Where
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="SET931", since="0.9", severity=Severity.WARNING, subject=Subject.SETTINGS)

USUAL_STEPS = 500.0  # between two checkpoints, where nothing is said


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report each combination that stops the run."""
    known = index(sources.program)
    recipe = settings.recipe if settings is not None else None
    seen: set[Where] = set()
    for options in trainer_options(known, recipe):
        for names, why in _refused(options):
            places = tuple(options.told[name].where for name in names if name in options.told)
            if places and places[0] not in seen:
                seen.add(places[0])
                yield Finding(places, why, evidence={"settings": ", ".join(names)})
    for spot in by_hand_without_leave(known):
        yield Finding(
            spot.where,
            "manual_backward is called, and nothing sets automatic_optimization to False: Lightning refuses"
            " it",
            evidence={"settings": "automatic_optimization"},
        )
    for misfit in misfit_targets(known, recipe):
        yield Finding(
            misfit.setting.where,
            f"{misfit.made} is made from this section and takes no {misfit.setting.leaf}",
            evidence={"settings": misfit.setting.dotted},
        )
    for option, told, module in by_hand_under_options(known, settings_tree(recipe)):
        yield Finding(
            (told.where, module.where()),
            f"{option} is told to the Trainer of a module that optimizes by hand, which Lightning refuses",
            evidence={"settings": option},
        )


def _refused(options: TrainerOptions) -> Iterator[tuple[tuple[str, ...], str]]:
    ratio = options.number("warmup_ratio")
    if ratio is not None and ratio > 1:
        yield ("warmup_ratio",), f"warmup_ratio is {ratio:g}: a share of the run is at most one"
    if not options.is_on("load_best_model_at_end"):
        return
    measured = options.word("eval_strategy", "evaluation_strategy", default="no")
    saved = options.word("save_strategy", default="steps")
    names = ("load_best_model_at_end", "eval_strategy", "evaluation_strategy", "save_strategy")
    if measured is None or saved is None or saved == "best":
        return
    if measured != saved:
        yield (
            names,
            "load_best_model_at_end wants evaluations and checkpoints at the same time, and eval_strategy is"
            f" {measured!r} beside save_strategy {saved!r}",
        )
    elif measured == "steps":
        yield from _apart(options)


def _apart(options: TrainerOptions) -> Iterator[tuple[tuple[str, ...], str]]:
    """Checkpoints at steps that are no multiple of those of the evaluations."""
    if any(name in options.told and options.number(name) is None for name in ("eval_steps", "save_steps")):
        return
    saves = options.number("save_steps") or USUAL_STEPS
    measures = options.number("eval_steps")
    if measures is None or measures < 1 or saves < 1 or saves % measures == 0:
        return
    yield (
        ("save_steps", "eval_steps", "load_best_model_at_end"),
        (
            f"load_best_model_at_end wants a checkpoint only where there is an evaluation, and save_steps"
            f" {saves:g} is no multiple of eval_steps {measures:g}"
        ),
    )
