"""Two settings say different things, and only one of them counts.

## What it checks
What a Trainer of transformers is told, in a call or in one section of settings: a `warmup_ratio` beside
`warmup_steps`, a warm-up beside the schedule `constant`, which has none, and `eval_steps` where
`eval_strategy` is "no", as it is where nothing is said. A Hydra config that names itself (`_self_`) before an
option of a group and gives that group a value: the option's own value replaces it.

## Why it matters
The steps win over the ratio, the constant schedule begins at its full rate, and without a strategy nothing is
ever evaluated. What stands in front of the defaults list of Hydra looks like the last word and is the first.
All of it looks configured, and nothing is raised.

## When it is harmless
A value of zero asks for nothing. An experiment (`# @package _global_`) is there to replace values. Where an
option is told that only the run knows, nothing is said of it.

## References
- transformers.TrainingArguments; Hydra, composition order
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.index import index
from stethoscope.program.settings.beaten_by_groups import beaten_by_groups
from stethoscope.program.settings.trainer_options import TrainerOptions, trainer_options
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="SET930", since="0.9", severity=Severity.WARNING, subject=Subject.SETTINGS)


def examine(settings: Settings | None, sources: Sources | None) -> Iterator[Finding]:
    """Report each setting that another one leaves without effect."""
    recipe = settings.recipe if settings is not None else None
    sets = list(trainer_options(index(sources.program) if sources is not None else None, recipe))
    if not sets and settings is None:
        raise InsufficientData("no Trainer of transformers is told anything")
    for beaten in beaten_by_groups(recipe) if recipe is not None else ():
        yield Finding(
            (beaten.where, beaten.winner.where),
            f"{beaten.winner.dotted} is {beaten.value} here and counts as {beaten.winner.text}: the group"
            " comes behind _self_ in the defaults list",
            evidence={"setting": beaten.winner.dotted, "outranked_by": beaten.winner.where.file},
        )
    seen = set()
    for options in sets:
        for name, by, why in _outranked(options):
            where = options.told[name].where
            if where in seen:
                continue
            seen.add(where)
            other = (options.told[by].where,) if by in options.told else ()
            yield Finding((where, *other), why, evidence={"setting": name, "outranked_by": by})


def _outranked(options: TrainerOptions) -> Iterator[tuple[str, str, str]]:
    steps, ratio = options.number("warmup_steps") or 0.0, options.number("warmup_ratio") or 0.0
    if steps >= 1 and ratio > 0:
        yield (
            "warmup_ratio",
            "warmup_steps",
            f"warmup_ratio is {ratio:g}, and the Trainer warms up over the {steps:,.0f} warmup_steps instead",
        )
    kind = options.word("lr_scheduler_type", default="linear")
    if kind == "constant" and (steps or ratio):
        name = "warmup_steps" if steps else "warmup_ratio"
        yield (
            name,
            "lr_scheduler_type",
            (
                f"{name} is {steps or ratio:g}, and the schedule 'constant' has no warm-up:"
                " constant_with_warmup has one"
            ),
        )
    strategy = options.word("eval_strategy", "evaluation_strategy", default="no")
    if (
        strategy == "no"
        and options.number("eval_steps")
        and not options.told.keys() & {"do_eval", "eval_delay"}
    ):
        yield (
            "eval_steps",
            "eval_strategy",
            (
                f'eval_steps is {options.number("eval_steps"):g}, and eval_strategy is "no":'
                " nothing is evaluated in training"
            ),
        )
