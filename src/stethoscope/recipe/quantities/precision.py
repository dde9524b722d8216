"""In which precision the network runs.

    use_amp: true with amp_bf16: false      bf16: true      mixed_precision: fp16      precision: bf16-mixed
    fp16.enabled      amp_dtype: bfloat16      dtype: float16

The value is "fp32", "fp16", "bf16", "fp8" or "half" (autocast, the dtype not said). `part` is "not" where a
setting only says which precision it is not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from stethoscope.recipe.quantities._amount import Amount, Asked, Quantity
from stethoscope.recipe.quantities._spelling import Spelling

QUANTITY = Quantity("precision", 30)

_NAMED = {
    "fp16": r"(?:fp|float|f)16(?:-?mixed|-true)?|16|16-mixed|half|o[12]|torch\.(?:float16|half)",
    "bf16": r"(?:bf|bfloat)16(?:-?mixed|-true)?|torch\.bfloat16|amp_bf16|amp_bfloat16|bf16_amp",
    "fp32": r"(?:fp|float|f)32|32|32-true|no|none|off|full|o0|torch\.float32|single|false",
    "fp8": r"fp8|amp_fp8|transformer-engine",
}
_BY_NAME = re.compile(
    r"(?:mixed_precision|precision|amp_dtype|autocast_dtype|compute_dtype|train_dtype|training_dtype|dtype"
    r"|torch_dtype|mixed_precision_dtype|amp_type|train_precision|dtype_str|half_precision_backend_dtype)"
)
_FP16 = re.compile(r"(?:use_|enable_|is_)?(?:fp16|float16|half)(?:_(?:enabled|training|run|mode))?")
_BF16 = re.compile(r"(?:use_|enable_|amp_|is_)?(?:bf16|bfloat16)(?:_(?:enabled|amp|training))?")
_AMP = re.compile(
    r"(?:use_|enable_|with_)?(?:amp|autocast|mixed_precision|native_amp|mixed_prec)(?:_enabled?|_training)?"
)
# What is read, kept or moved in some dtype is not what the network runs in.
_ELSEWHERE = frozenset(
    {"data", "dataset", "datasets", "cache", "offload", "communication", "reduce", "buffer"}
)


def read(spelling: Spelling) -> Amount | None:
    """A switch for a half precision, or its name."""
    if spelling.around & _ELSEWHERE or not spelling.is_for_training:
        return None
    if spelling.leaf == "enabled":
        switched = {"fp16": "fp16", "bf16": "bf16", "bfloat16": "bf16", "amp": "half"}
        kind = next((switched[word] for word in switched if word in spelling.around), None)
        return _switched(kind, spelling.value) if kind else None
    for pattern, kind in ((_FP16, "fp16"), (_BF16, "bf16"), (_AMP, "half")):
        if pattern.fullmatch(spelling.leaf) and isinstance(spelling.value, bool | int):
            return _switched(kind, spelling.value)
    if _BY_NAME.fullmatch(spelling.leaf) or _AMP.fullmatch(spelling.leaf):
        name = str(spelling.value).strip().lower()
        return next((Amount(kind) for kind, of in _NAMED.items() if re.fullmatch(of, name)), None)
    return None


def _switched(kind: str, value: object) -> Amount | None:
    if value not in (0, 1):
        return None
    if value:
        return Amount(kind)
    return Amount("fp32") if kind == "half" else Amount(kind, part="not")


def joined(asked: Sequence[Asked]) -> str:
    """The one precision that settings ask for together; "" where they disagree or say too little."""
    given = {one.amount.value for one in asked if not one.amount.part}
    refused = {one.amount.value for one in asked if one.amount.part}
    halves = given & {"fp16", "bf16", "fp8"}
    if "fp32" in given and (halves or "half" in given):
        # `use_amp: false` beside `amp_dtype: float16` runs in fp32; a switch that is on says otherwise.
        is_off = any(one.amount.value == "fp32" and isinstance(one.setting.value, bool) for one in asked)
        is_on = any(one.setting.value is True and one.amount.value != "fp32" for one in asked)
        if not (is_on and is_off and halves):
            return "fp32" if is_off and not is_on else ""
    if halves:
        return str(halves.pop()) if len(halves) == 1 else ""
    if "half" in given:
        return "fp16" if "bf16" in refused else "bf16" if "fp16" in refused else "half"
    return "fp32" if "fp32" in given or refused == {"fp16", "bf16"} else ""
