"""The network is given the very tokens that it has to predict.

## What it checks
Cross entropies in training: whether the target, but for its layout, is one of the values that the network was
given, cut in the same way. A causal model's target lies one token further than its input. Where a network
turns out, tried on numbers, to look at no later token, the cuts on the way to its tokens and to its target
are added up as well: both may be cut out of one text at one place. Functions that make samples are looked
at too: a window that is its own target, or whose end is; and tables whose column of answers is still there
where the inputs are made of what is left.

## Why it matters
The network learns to copy. The loss falls to nearly nothing within a few hundred steps, faster than any
language allows, and what is generated is the same token for ever.

## When it is harmless
Autoencoders give back what they get, through a bottleneck; masked and denoising models get a damaged copy,
which is another value; some networks move their target by themselves. Nothing is said where the network or
the function that trains it speaks of any of these, or where the network is not in sight.

## References
- Radford et al., "Improving language understanding by generative pre-training", 2018: the objective
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.data.answer_columns import answer_columns
from stethoscope.program.data.answers_in_items import answers_in_items
from stethoscope.program.experiments.trials import Trial, trials
from stethoscope.program.index import Index, index
from stethoscope.program.objective.own_input import given_its_target, may_copy
from stethoscope.program.objective.token_places import FarAnswer, copied_answers
from stethoscope.program.settings.settings_tree import SettingsTree, settings_tree
from stethoscope.signals.loss_calls import LossCalls
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="OBJ216", since="0.4", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources, losses: LossCalls | None, settings: Settings | None) -> Iterator[Finding]:
    """Report each cross entropy with what the network was given."""
    told = False
    for call in losses or ():
        if (given := given_its_target(call)) is not None:
            told = True
            yield Finding(
                (call.site.where, given.where),
                f"the target of {call.loss} is given to the network as well: it need only copy it",
                {"loss": call.site.text, "network": given.text},
            )
    tree = settings_tree(settings.recipe if settings is not None else None)
    for copied in () if told else _copied(index(sources.program), tree):
        yield Finding(
            (copied.site.where,),
            "each answer is held to the token that was read last, and the network looks at no later one: it "
            "need only copy",
            {"loss": copied.site.text, "target": copied.target},
        )
    for item in answers_in_items(index(sources.program)):
        part = "all" if item.is_all else "the end"
        yield Finding(
            (item.source.where(item.asked), item.source.where(item.given)),
            f"the target of these samples is {part} of what the network is given",
            {"given": ast.unparse(item.given), "asked": ast.unparse(item.asked)},
        )
    for kept in answer_columns(index(sources.program)):
        yield Finding(
            (kept.inputs.where, kept.answer.where),
            f"{kept.column!r} is the answer and stays among the columns of the inputs",
            {"column": kept.column},
        )


def _copied(known: Index, settings: SettingsTree) -> tuple[FarAnswer, ...]:
    """Answers of networks that say a token at each place, see none behind it, and are asked for that one."""
    copied = copied_answers(known, settings)
    if not copied:
        return ()
    tried = [trial for trial in trials(known, settings) if trial.ahead]
    if not tried or not all(trial.ahead == (0,) and _says_tokens(trial) for trial in tried):
        return ()
    return tuple(one for one in copied if not any(may_copy(known, trial.cls, one.site) for trial in tried))


def _says_tokens(trial: Trial) -> bool:
    """Whether what comes out are scores for the tokens of a vocabulary that goes in."""
    vocabularies = {int(one.given["num_embeddings"]) for one in trial.layers if one.kind == "Embedding"}
    return trial.sizes[0][-1] in vocabularies
