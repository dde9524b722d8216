"""Tokens that are added to a vocabulary while adapters leave the embedding as it is.

tokenizer.add_special_tokens({"additional_special_tokens": ["<|user|>"]})
model.resize_token_embeddings(len(tokenizer))
model = get_peft_model(model, LoraConfig(target_modules=["q_proj", "v_proj"]))
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from stethoscope.program.index import Index, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.mentions import Spot, mentions
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Recipe

ADDING = ("add_special_tokens", "add_tokens")
# What has the embedding trained after all, wherever it is said.
TRAINED = re.compile(
    r"modules_to_save|trainable_token_indices|embed_|embeddings?\b(?!s?\()|\bwte\b|lm_head|requires_grad|word_embedding"
    r"|all_linear_and_embed|PeftModel|trainable_tokens"
)
RESIZING = re.compile(r"resize_token_embeddings")


@dataclass(frozen=True, slots=True, eq=False)
class UntrainedTokens:
    """Where tokens are added, where the embedding grows for them, and the adapters that leave it out."""

    added: Spot
    resized: Spot
    adapters: Spot


@remembered
def untrained_tokens(index: Index, recipe: Recipe) -> tuple[UntrainedTokens, ...]:
    """The one place of a program that does so, where nothing speaks of training the embedding."""
    code = mentions(index)
    adapters = [spot for spot in code.calls.get("LoraConfig", ()) if not is_test(spot.source)]
    resized = [spot for spot in code.calls.get("resize_token_embeddings", ()) if not is_test(spot.source)]
    added = [
        spot for name in ADDING for spot in code.calls.get(name, ()) if _adds_more_than_padding(spot.node)
    ]
    if len(adapters) != 1 or not resized or not added or not code.calls.get("get_peft_model"):
        return ()
    if _is_spread(adapters[0].node):
        return ()
    texts = [RESIZING.sub("", source.text) for source in index.program]
    texts += [f"{setting.dotted} {setting.value}" for setting in recipe]
    if any(TRAINED.search(text) for text in texts):
        return ()
    return (UntrainedTokens(added[0], resized[0], adapters[0]),)


def _adds_more_than_padding(node: ast.expr) -> bool:
    """Whether tokens are added that stand in the texts: padding needs no embedding of its own."""
    if not isinstance(node, ast.Call) or not node.args:
        return False
    if (dotted(node.func) or "").endswith("add_tokens"):
        return True
    match node.args[0]:
        case ast.Dict(keys=keys):
            names = {key.value for key in keys if isinstance(key, ast.Constant)}
            return bool(names - {"pad_token"}) and len(names) == len(keys)
    return False


def _is_spread(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and (bool(node.args) or any(word.arg is None for word in node.keywords))
