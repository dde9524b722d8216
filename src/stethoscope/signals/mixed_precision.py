"""Whether the run trained in a precision that needs a loss scaler."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.run import Run, Setting

SWITCHES = ("amp", "use_amp", "fp16", "use_fp16", "enable_amp", "mixed_precision", "half", "autocast")
KINDS = ("precision", "dtype", "mixed_precision", "amp_dtype", "torch_dtype", "amp_level")
HALF = ("16", "fp16", "16-mixed", "float16", "half", "16-true", "o1", "o2", "torch.float16")


@dataclass(frozen=True, slots=True)
class MixedPrecision:
    """Whether a loss scale was logged or the settings ask for 16-bit floats."""

    scaled: bool


def measure(run: Run) -> MixedPrecision:
    """Look for a logged scale, then for settings."""
    logged = any(name.startswith("loss_scale") and len(one) for name, one in run.series.items())
    return MixedPrecision(logged or any(_asks_for_it(setting) for setting in run.recipe or ()))


def _asks_for_it(setting: Setting) -> bool:
    name, value = setting.leaf.lower(), setting.value
    # `fp16: {enabled: true}` says it one level up.
    if name in ("enabled", "enable") and len(setting.key) > 1:
        name = str(setting.key[-2]).lower()
    if name in SWITCHES and value is True:
        return True
    return name in (*SWITCHES, *KINDS) and str(value).strip().lower() in HALF
