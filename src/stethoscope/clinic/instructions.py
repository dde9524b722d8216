"""Which instructions of the processor the clinic's trainings may use.

bfloat16 is multiplied with AVX-512 at most. A processor with AMX adds in another order, so a seed would give
other figures there; and some virtual machines announce AMX without having it, where the first product ends
the program with an illegal instruction.
"""

from __future__ import annotations

import os

NAME, LIMIT = "ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16"


def instructions() -> dict[str, str]:
    """The variable of the environment that says so to oneDNN; what a person has set is left."""
    return {NAME: os.environ.get(NAME, LIMIT)}
