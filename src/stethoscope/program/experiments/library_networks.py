"""Encoders of transformers as experiments see them: tokens in, states that look both ways out.

The weights are drawn at random, and one layer of attention stands for all of them. What matters is wired as
in the library: where a place may look, what the mask hides, which outputs there are.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from stethoscope.program.experiments import arithmetic
from stethoscope.program.experiments.things import Array, Held
from stethoscope.program.walk.bounded_arrays import CannotCompute

FAMILIES = r"Auto|Bert|Roberta|DistilBert|Electra|Deberta\w*|XLMRoberta|MPNet|Albert|Camembert|ModernBert"
ENCODERS = re.compile(rf"^transformers\.(?:{FAMILIES})Model\.(?:from_pretrained|from_config)$")
KIND = "LibraryEncoder"
WIDTHS = (("large", 1024), ("minilm", 384), ("-small", 384), ("tiny", 128))
USUAL = 768
ROWS = 64  # of the table of tokens, and of places
_SIZES = frozenset({"hidden_size", "d_model", "dim", "embedding_size"})
_STATES = 13  # of twelve layers and the embeddings


def width(args: list[Any]) -> int:
    """How many channels the states have, by the name of the weights."""
    name = args[0].lower() if args and isinstance(args[0], str) else ""
    return next((size for word, size in WIDTHS if word in name), USUAL)


def config(size: int) -> Held:
    """What `model.config` tells."""

    def told(name: Any) -> Any:
        if name in _SIZES:
            return size
        raise CannotCompute(str(name))

    return Held(told, told)


def passed(weights: dict[str, Any], ids: Any = None, mask: Any = None) -> Held:
    """What an encoder gives for tokens and the mask of the real ones."""
    if not isinstance(ids, np.ndarray) or ids.ndim != 2 or ids.dtype.kind not in "iu":
        raise CannotCompute("no tokens")
    if ids.shape[1] > ROWS:
        raise CannotCompute("a long row")
    hidden = _hidden(ids, mask)
    x: Array = np.asarray(weights["tokens"])[ids % ROWS] + np.asarray(weights["places"])[: ids.shape[1]]
    states = arithmetic.standardised(x + arithmetic.attended(x, x, x, hidden), [-1], 1e-5)
    pooled = np.tanh(states[:, 0] @ weights["pool"].T)
    given = {"last_hidden_state": states, "pooler_output": pooled, "hidden_states": [states] * _STATES}

    def named(name: Any) -> Any:
        if name in given:
            return given[name]
        raise CannotCompute(str(name))

    def numbered(key: Any) -> Any:
        return {0: states, 1: pooled}[key] if key in (0, 1) else named(key)

    return Held(named, numbered)


def _hidden(ids: Array, mask: Any) -> Array | None:
    if mask is None:
        return None
    if not isinstance(mask, np.ndarray) or mask.shape != ids.shape or mask.dtype.kind not in "bi":
        raise CannotCompute("the mask does not fit")
    return np.where(mask.astype(bool), 0.0, -1e9)[:, None]
