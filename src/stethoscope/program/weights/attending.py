"""Whether a network of the program attends, by attention that is written out or what torch brings along."""

from __future__ import annotations

from stethoscope.program.index import Index
from stethoscope.program.settings.mentions import mentions
from stethoscope.program.weights.attention_scales import attentions

READY_MADE = frozenset(
    {"scaled_dot_product_attention", "multi_head_attention_forward", "flash_attn_func", "flex_attention"}
    | {"MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer"}
    | {"memory_efficient_attention"}
)


def attends(index: Index) -> bool:
    """Whether attention is made or taken anywhere."""
    return not READY_MADE.isdisjoint(mentions(index).calls) or bool(attentions(index.program))
