"""The answer at a place changes with what comes behind it, and the next token is what is asked for.

## What it checks
The networks that the training makes are computed on small arrays. Where the training asks for the next
token (`tokens[:, :-1]` goes in, `tokens[:, 1:]` is asked for) and a network gives one score for each
token of its vocabulary at each place, one later token is changed: no answer before it may change.

## Why it matters
The answer stands in the input, one place further on. The loss falls far below what any language allows,
and what is generated, where the next token is not there yet, is noise.

## When it is harmless
Networks that are handed their mask by their caller are not judged, nor those that are not asked for the
next token, nor those that cannot be computed.

## References
- Vaswani et al., Attention Is All You Need, 2017, 3.2.3
"""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.experiments.trials import Trial, trials
from stethoscope.program.index import index
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.program.weights.causal_masks import next_token_asked
from stethoscope.signals.settings import Settings
from stethoscope.signals.sources import Sources

RULE = Rule(code="COD874", since="0.4", severity=Severity.CRITICAL, subject=Subject.SOURCE)


def examine(sources: Sources, settings: Settings | None) -> Iterator[Finding]:
    """Report networks that look at the token they are asked for."""
    tree = settings_tree(settings.recipe if settings is not None else None)
    for trial in trials(index(sources.program), tree):
        if trial.ahead and trial.ahead[0] > 0 and _says_tokens(trial) and not _is_explained(trial):
            asked = next_token_asked(index(sources.program))
            if asked is None:
                return
            source, node = asked
            yield Finding(
                (trial.forward.where(), source.where(node)),
                f"{trial.cls.name}: a change in a token changes the answer {trial.ahead[0]} place before, "
                "and the next token is what it is asked for",
                evidence={"ahead": trial.ahead[0]},
            )


def _says_tokens(trial: Trial) -> bool:
    """Whether what comes out are scores for the tokens of a vocabulary that goes in."""
    vocabularies = {int(one.given["num_embeddings"]) for one in trial.layers if one.kind == "Embedding"}
    return trial.sizes[0][-1] in vocabularies


def _is_explained(trial: Trial) -> bool:
    """Whether a mask may come from the caller, or places reach each other by another fault."""
    if trial.scrambled or trial.turned:
        return True
    return any("mask" in name for name in trial.forward.parameters)
