"""Does the answer of a network depend on how much padding stands behind the tokens?

A network that is told where its tokens end, by a mask or by lengths, is called once with the batch as it is
and once with two more places of padding. Nothing that it says may change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stethoscope.program.experiments.inputs import Fitting
from stethoscope.program.experiments.interpreter import Interpreter
from stethoscope.program.experiments.layers import Layer
from stethoscope.program.experiments.things import Array, Object
from stethoscope.program.index import Function
from stethoscope.program.walk.bounded_arrays import CannotCompute

MASKS = re.compile(r"^(?:attention_?mask|attn_?mask|(?:key_|src_key_)?padding_?mask|pad_?mask|mask|attend)$")
LENGTHS = re.compile(r"^(?:(?:x|input|src|seq|text|token)s?_?)?(?:lengths?|lens?)$")
MORE = 2  # places of padding
USUAL_PAD = 0
CLOSE = 1e-6  # of the largest answer
OF_NEIGHBOURS = 0.3  # the same where the last places see the first pads by the making of a layer


@dataclass(frozen=True, slots=True, eq=False)
class _Told:
    """The parameter that tells where the tokens end, with what it is for a batch and for a longer one."""

    name: str
    now: Array
    longer: Array


def padding_told_in_vain(run: Interpreter, network: Object, forward: Function, given: Fitting) -> str:
    """The parameter that tells of the padding, where more padding changes what the network says of a sample.

    Only answers without places are asked: one or several numbers for each sample.
    """
    if given.kinds[0] != "tokens" or given.arrays[0].shape[1] + MORE > given.arrays[0].size:
        return ""
    tokens = given.arrays[0]
    name = next((one for one in _parameters(forward) if MASKS.match(one) or LENGTHS.match(one)), "")
    others = {n: a for n, a in zip(given.names[1:], given.arrays[1:], strict=True) if n != name}
    if not name or any(array.ndim > 1 for array in others.values()):
        return ""
    pads = np.full((len(tokens), MORE), _pad(run), tokens.dtype)
    longer = np.concatenate([tokens, pads], axis=1)
    allowed = OF_NEIGHBOURS if any(map(_sees_behind, run.layers)) else CLOSE
    seen = False
    for told in _ways_to_tell(name, tokens):
        before = _answer(run, network, forward, {given.names[0]: tokens, name: told.now, **others})
        after = _answer(run, network, forward, {given.names[0]: longer, name: told.longer, **others})
        if before is None or after is None:
            continue
        if before.ndim > 2 or before.shape != after.shape or len(before) != len(tokens):
            return ""
        if np.abs(before - after).max() <= allowed * np.abs(before).max():
            return ""
        seen = True
    return name if seen else ""


def _sees_behind(layer: Layer) -> bool:
    """A convolution, or a recurrent layer that reads backwards and begins in the padding."""
    return layer.kind.startswith("Conv") or bool(layer.given.get("bidirectional"))


def _pad(run: Interpreter) -> int:
    """The token of the padding, as a table of embeddings says."""
    told = (layer.given.get("padding_idx") for layer in run.layers if layer.kind == "Embedding")
    return next((one for one in told if isinstance(one, int)), USUAL_PAD)


def _parameters(forward: Function) -> list[str]:
    spec = forward.node.args
    return [arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)][1:]


def _ways_to_tell(name: str, tokens: Array) -> list[_Told]:
    """Lengths, or masks that are true at the tokens or at the padding, as truths and as numbers."""
    if LENGTHS.match(name):
        lengths = np.full(len(tokens), tokens.shape[1])
        return [_Told(name, lengths, lengths)]
    ones = np.ones(tokens.shape, bool)
    behind = np.zeros((len(tokens), MORE), bool)
    real = (ones, np.concatenate([ones, behind], axis=1))
    kinds: tuple[Any, ...] = (bool, np.int64)
    return [
        *(_Told(name, real[0].astype(kind), real[1].astype(kind)) for kind in kinds),
        *(_Told(name, (~real[0]).astype(kind), (~real[1]).astype(kind)) for kind in kinds),
    ]


def _answer(run: Interpreter, network: Object, forward: Function, given: Mapping[str, Array]) -> Array | None:
    """What comes out, where that is one tensor."""
    place, count = run.drawer.place, len(run.layers)
    try:
        with np.errstate(all="ignore"):
            result = run.call(network, (), {name: np.array(array) for name, array in given.items()})
    except CannotCompute:
        return None
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
        return None  # a stranger's shapes and types
    finally:
        run.depth = 0
        run.drawer.place = place
        del run.layers[count:]
    is_number = isinstance(result, np.ndarray) and result.dtype.kind == "f" and result.ndim > 0
    return result if is_number and np.isfinite(result).all() else None
