"""The shape of the learning rate over the run.

scheduler.type: MultiStepLR      lr_scheduler_type: cosine      sched: cosine      lr_schedule.type
"""

from __future__ import annotations

import re

from stethoscope.recipe.quantities._amount import Amount, Quantity
from stethoscope.recipe.quantities._spelling import Spelling

QUANTITY = Quantity("schedule", 50)

_NAMES = re.compile(
    r"(?:lr_?)?(?:scheduler|sched|schedule|policy|decay_style|decay_type)(?:_type|_name)?|lr_policy|lradj"
)
_SECTIONS = frozenset({"scheduler", "sched", "schedule", "schedulers"})
_KIND = frozenset({"type", "name", "target", "class_path", "policy"})
_KNOWN = re.compile(
    r"cos|step|linear|poly|exp|constant|plateau|cycl|warm|wsd|onecycle|noam|inverse|sqrt|lambda|none|fixed|knee"
    r"|decay|flat|rsqrt|trapezoid",
    re.IGNORECASE,
)
_OF_NOISE = frozenset({"noise", "diffusion", "beta", "sigma"})


def read(spelling: Spelling) -> Amount | None:
    """A word that names a shape."""
    if not isinstance(spelling.value, str) or not spelling.is_for_training:
        return None
    if (spelling.words | spelling.around) & _OF_NOISE:
        return None
    named = _NAMES.fullmatch(spelling.leaf) or (spelling.leaf in _KIND and spelling.around & _SECTIONS)
    is_known = named and _KNOWN.search(spelling.value)
    return Amount(spelling.value.rpartition(".")[2]) if is_known else None
