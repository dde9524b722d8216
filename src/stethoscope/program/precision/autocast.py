"""What a context manager, a decorator or an engine does to the type of numbers: autocast and its settings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from stethoscope.program.walk.values import Applied, Choice, Constant, Outside, Part, Value


class DType(StrEnum):
    """The types of floating numbers that matter, and two that stand for what is not one of them.

    A NUMBER (of Python, or a tensor without dimensions) takes the type of what it is combined with.
    """

    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    FLOAT32 = "float32"
    NUMBER = "number"
    UNKNOWN = "unknown"


_NAMES = {
    **dict.fromkeys(("float16", "half", "fp16", "f16"), DType.FLOAT16),
    **dict.fromkeys(("bfloat16", "bf16"), DType.BFLOAT16),
    **dict.fromkeys(("float32", "float", "fp32", "float64", "double", "no", "fp64"), DType.FLOAT32),
}
# Precisions as accelerate, Fabric and Lightning write them; the flag says that the weights are half too.
PRECISIONS: dict[str, tuple[DType, bool]] = {
    **dict.fromkeys(("16", "16-mixed", "fp16", "half"), (DType.FLOAT16, False)),
    **dict.fromkeys(("bf16", "bf16-mixed"), (DType.BFLOAT16, False)),
    **dict.fromkeys(("16-true",), (DType.FLOAT16, True)),
    **dict.fromkeys(("bf16-true",), (DType.BFLOAT16, True)),
    **dict.fromkeys(("32", "32-true", "64", "64-true", "no", "fp32", "none"), (DType.FLOAT32, False)),
}
HALVES = frozenset({DType.FLOAT16, DType.BFLOAT16})
BFLOAT_DEVICES = frozenset({"cpu", "hpu", "xla"})  # where autocast without a dtype is bfloat16


@dataclass(frozen=True, slots=True)
class Autocast:
    """An autocast region: the half types it may use (none where that cannot be told), and its switch.

    `enabled` is None where the switch is a setting that is not known.
    """

    dtypes: frozenset[DType]
    enabled: bool | None = True
    known: bool = True  # whether `dtypes` holds all there can be

    @property
    def is_off(self) -> bool:
        """Whether nothing is cast inside."""
        return self.enabled is False or (self.known and not self.dtypes & HALVES)

    def only(self, dtype: DType) -> bool:
        """Whether this is the only half type that the region can use."""
        return self.known and self.dtypes & HALVES == {dtype}

    def may_be(self, dtype: DType) -> bool:
        """Whether the region is known to use this type, at least under some settings."""
        return dtype in self.dtypes and not self.is_off


def autocast_of(value: Value | None) -> Autocast | None:
    """The autocast region that a value opens when it is entered; None where it opens none."""
    if isinstance(value, Choice):
        return _either([autocast_of(option) for option in value.options])
    if not isinstance(value, Applied):
        return None
    home, _, last = value.callee.rpartition(".")
    if last in {"custom_fwd", "custom_fwd()"} or last.removesuffix("()") != "autocast":
        return None
    if not home:  # `.autocast()` of an engine
        return engine_autocast(value.args[0]) if value.args else None
    return _torch_autocast(value, home)


def dtypes_of(value: Value | None) -> tuple[frozenset[DType], bool]:
    """The types that a value may name, and whether these are all."""
    if isinstance(value, Choice):
        found = [dtypes_of(option) for option in value.options]
        return frozenset().union(*(dtypes for dtypes, _ in found)), all(known for _, known in found)
    dtype = named_dtype(value)
    return (frozenset(), False) if dtype is None else (frozenset({dtype}), True)


def named_dtype(value: Value | None) -> DType | None:
    """The type that `torch.float16` or "fp16" names."""
    if isinstance(value, Outside) and value.name.startswith("torch."):
        return _NAMES.get(
            value.name.rpartition(".")[2].removesuffix("Tensor").removesuffix("Storage").lower()
        )
    if isinstance(value, Constant) and isinstance(value.value, str):
        last = value.value.rpartition(".")[2].removesuffix("Tensor").lower()
        return _NAMES.get(last)
    return None


def engine_autocast(engine: Value | None) -> Autocast | None:
    """What an Accelerator, a Fabric or a Trainer casts to, by the precision it was made with."""
    precision = engine_precision(engine)
    if precision is None:
        return None
    return precision_autocast(precision)


def engine_weights(engine: Value | None) -> DType | None:
    """The half type that an engine casts the weights to: Fabric with "bf16-true"."""
    precision = engine_precision(engine)
    known = PRECISIONS.get(str(precision.value).lower()) if isinstance(precision, Constant) else None
    return known[0] if known is not None and known[1] else None


def engine_precision(engine: Value | None) -> Value | None:
    """The precision that an engine was made with, as its constructor got it."""
    while isinstance(engine, Part):
        engine = engine.base
    if not isinstance(engine, Applied):
        return None
    last = engine.callee.rpartition(".")[2]
    keyword = {"Accelerator": "mixed_precision"}.get(last, "precision")
    if last not in {"Accelerator", "Fabric", "LightningLite", "Trainer"}:
        return None
    return engine.keywords.get(keyword, Constant("no"))


def precision_autocast(value: Value) -> Autocast:
    """The region that a precision such as "16-mixed" stands for."""
    if isinstance(value, Choice):
        found = _either([precision_autocast(option) for option in value.options])
        return found if found is not None else Autocast(frozenset(), None, known=False)
    known = PRECISIONS.get(str(value.value).lower()) if isinstance(value, Constant) else None
    if known is None:
        return Autocast(frozenset(), None, known=False)
    return Autocast(frozenset({known[0]}), known[0] in HALVES)


def _torch_autocast(value: Applied, home: str) -> Autocast:
    of_device = home.endswith("cuda.amp") or "cpu.amp" in home or "cuda.amp" in home
    args = value.args
    enabled_at, dtype_at = (0, 1) if of_device else (2, 1)
    enabled = value.keywords.get("enabled", args[enabled_at] if len(args) > enabled_at else None)
    dtype = value.keywords.get("dtype", args[dtype_at] if len(args) > dtype_at else None)
    device = value.keywords.get("device_type", args[0] if args and not of_device else None)
    switch = True if enabled is None else _flag(enabled)
    if dtype is None or (isinstance(dtype, Constant) and dtype.value is None):
        on_bfloat = "cpu.amp" in home or _named(device) in BFLOAT_DEVICES
        return Autocast(frozenset({DType.BFLOAT16 if on_bfloat else DType.FLOAT16}), switch)
    dtypes, known = dtypes_of(dtype)
    return Autocast(dtypes, switch, known)


def _named(device: Value | None) -> str:
    return (
        device.value.partition(":")[0]
        if isinstance(device, Constant) and isinstance(device.value, str)
        else ""
    )


def _flag(value: Value) -> bool | None:
    return bool(value.value) if isinstance(value, Constant) else None


def _either(options: Iterable[Autocast | None]) -> Autocast | None:
    """One of several regions, or none: `nullcontext() if cpu else autocast(...)`."""
    given = list(options)
    found = [one for one in given if one is not None and one.enabled is not False]
    if not found:
        return next((one for one in given if one is not None), None)
    dtypes = frozenset[DType]().union(*(one.dtypes for one in found))
    is_sure = len(found) == len(given) and all(one.enabled is True for one in found)
    return Autocast(dtypes, True if is_sure else None, all(one.known for one in found))
