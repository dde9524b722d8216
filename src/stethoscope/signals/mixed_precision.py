"""Whether the run trained in a precision that needs a loss scaler."""

from __future__ import annotations

from dataclasses import dataclass

from stethoscope.program.index import index
from stethoscope.program.precision.autocast import DType
from stethoscope.program.precision.loop_precision import loop_precisions
from stethoscope.program.settings.settings_tree import settings_tree
from stethoscope.run import Run, Setting

SWITCHES = (
    *("amp", "use_amp", "amp_enabled", "enable_amp", "fp16", "use_fp16", "mixed_precision", "half"),
    "autocast",
)
KINDS = ("precision", "dtype", "mixed_precision", "amp_dtype", "torch_dtype", "amp_level")
BRAIN = ("bf16", "bfloat16", "use_bf16", "bf16-mixed", "bf16-true", "torch.bfloat16")
HALF = ("16", "fp16", "16-mixed", "float16", "half", "16-true", "o1", "o2", "torch.float16")


@dataclass(frozen=True, slots=True)
class MixedPrecision:
    """Whether a loss scale was logged, or settings or source ask for 16-bit floats that need one."""

    scaled: bool


def measure(run: Run) -> MixedPrecision:
    """Look for a logged scale, then for settings, then into the loops of the source."""
    logged = any(name.startswith("loss_scale") and len(one) for name, one in run.series.items())
    return MixedPrecision(logged or _is_asked_for(run) or _is_written(run))


def _is_asked_for(run: Run) -> bool:
    settings = tuple(run.recipe or ())
    return any(map(_asks_for_it, settings)) and not any(map(_asks_for_brain_floats, settings))


def _asks_for_brain_floats(setting: Setting) -> bool:
    """bfloat16 has the range of float32: nothing overflows in it that would not anyway."""
    return (setting.leaf.lower() in BRAIN and setting.value is True) or str(setting.value).lower() in BRAIN


def _is_written(run: Run) -> bool:
    """Whether a loop of the source runs its forward pass in float16 and nothing else."""
    if run.program is None or not run.program.sources:
        return False
    loops = loop_precisions(index(run.program), settings_tree(run.recipe))
    return any(region.autocast.only(DType.FLOAT16) for loop in loops for region in loop.regions)


def _asks_for_it(setting: Setting) -> bool:
    name, value = setting.leaf.lower(), setting.value
    # `fp16: {enabled: true}` says it one level up.
    if name in ("enabled", "enable") and len(setting.key) > 1:
        name = str(setting.key[-2]).lower()
    if name in SWITCHES and value is True:
        return True
    return name in (*SWITCHES, *KINDS) and str(value).strip().lower() in HALF
