"""Learning rates that pretrained transformers are tuned with, where they are far above any in use."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Index
from stethoscope.program.loop.fractions_for_steps import HOPS, number_told
from stethoscope.program.settings.mentions import Mentions, Spot, mentions
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.entries import is_test

# Full tuning is done at 1e-5 to 1e-4, adapters at up to 1e-3; both diverge at ten times that.
HIGHEST = 1e-2
# Networks that read texts, tuned as a whole: 5e-5 is usual, and at 1e-3 they forget what they know.
HIGHEST_OF_READERS = 2e-3
READERS = re.compile(r"For(?:SequenceClassification|TokenClassification|QuestionAnswering|MultipleChoice)\b")
ADAPTED = re.compile(r"(?i)peft|\blora|adapter|quantiz")
ARGUMENTS = ("TrainingArguments", "Seq2SeqTrainingArguments", "SFTConfig", "DPOConfig")
OPTIMIZERS = ("Adam", "AdamW")
PRETRAINED = re.compile(r"\b(?:AutoModel\w*|\w+For\w+|\w+Model)\.from_pretrained\(")
# What is tuned at such rates on purpose, or not at all.
OTHERWISE = re.compile(
    r"Prompt(?:Tuning|Encoder)|PrefixTuning|IA3|BitFit|requires_grad|freeze|frozen|linear_prob|soft_prompt"
    r"|Adafactor|adafactor|lion|LOMO|\bSGD\b|layerwise|lr_mult",
)


@dataclass(frozen=True, slots=True, eq=False)
class PretrainedRate:
    """A rate, where it is told, and the model that it tunes."""

    rate: float
    told: Spot
    model: Spot


def rates_for_pretrained(index: Index, settings: SettingsTree) -> Iterator[PretrainedRate]:
    """The rates at which no pretrained transformer is known to learn."""
    code = mentions(index)
    for module in index.modules.values():
        text = module.source.text
        if is_test(module.source) or not PRETRAINED.search(text) or OTHERWISE.search(text):
            continue
        model = next((s for s in code.calls.get("from_pretrained", ()) if _is_model(s, text)), None)
        if model is None or model.source is not module.source:
            continue
        is_reader = bool(READERS.search(ast.unparse(model.node))) and not ADAPTED.search(text)
        for rate, told in _rates(code, settings):
            if told.source is module.source and rate >= (HIGHEST_OF_READERS if is_reader else HIGHEST):
                yield PretrainedRate(rate, told, model)


def _is_model(spot: Spot, text: str) -> bool:
    return bool(PRETRAINED.match(ast.unparse(spot.node))) and spot.source.text is text


def _rates(code: Mentions, settings: SettingsTree) -> Iterator[tuple[float, Spot]]:
    for names, option in ((ARGUMENTS, "learning_rate"), (OPTIMIZERS, "lr")):
        for spot in (spot for name in names for spot in code.calls.get(name, ())):
            words = spot.node.keywords if isinstance(spot.node, ast.Call) else []
            told = next((word.value for word in words if word.arg == option), None)
            other = next((ast.unparse(word.value) for word in words if word.arg == "optim"), "adam")
            rate = number_told(told, code, settings, HOPS) if told is not None else None
            if told is not None and rate is not None and "adam" in other.lower():
                yield rate, Spot(told, spot.source)
    yield from _parsed_rates(code, settings)


def _parsed_rates(code: Mentions, settings: SettingsTree) -> Iterator[tuple[float, Spot]]:
    """The rate of a file that `HfArgumentParser((..., TrainingArguments))` fills the arguments with."""
    rates = {one for one in settings.values_named("learning_rate") if isinstance(one, float)}
    named = [str(one).lower() for one in settings.values_named("optim")]
    if len(rates) != 1 or not all("adam" in one for one in named):
        return
    for spot in code.calls.get("HfArgumentParser", ()):
        if any(isinstance(node, ast.Name) and node.id in ARGUMENTS for node in ast.walk(spot.node)):
            yield next(iter(rates)), spot
