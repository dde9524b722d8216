"""Conditions that compare with a number made from the rank: `if step < warm * rank`.

Which ranks meet them is not known; that not all of them do at once is. A remainder (`i % world == rank`)
deals the rounds out, so that each rank has its turn, and is another thing.
"""

from __future__ import annotations

from stethoscope.program.walk.values import Applied, Choice, Constant, Leaf, Part, Value

COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
ARITHMETIC = frozenset({"+", "-", "*", "/", "//", "neg", "int", "min", "max", "abs"})
RANKS = frozenset({"rank", "local_rank", "global_rank", "process_index", "local_process_index"})
VARIABLES = frozenset({"RANK", "LOCAL_RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"})
DEPTH = 8


def compares_with_rank(value: Value | None) -> bool:
    """Whether a condition compares with a number that each rank has for itself."""
    if not isinstance(value, Applied) or value.callee not in COMPARISONS or len(value.args) != 2:
        return False
    if any(_is_plain(one) for one in value.args) or any(_has_remainder(one) for one in value.args):
        return False
    return any(_has_rank(one) for one in value.args)


def _is_plain(value: Value) -> bool:
    """Zero, for which `rank` may be that of a matrix, and what is no number."""
    return isinstance(value, Constant) and (not isinstance(value.value, int | float) or value.value <= 0)


def _has_rank(value: Value, depth: int = DEPTH) -> bool:
    if depth == 0:
        return False
    match value:
        case Applied(callee=callee, args=args):
            if callee.rpartition(".")[2] in {"get_rank", "get_global_rank", "get_local_rank"}:
                return not args or callee.endswith("rank")
            if callee in {"os.getenv", "os.environ.get", ".get", "[]"}:
                return any(isinstance(one, Constant) and one.value in VARIABLES for one in args)
            return callee in ARITHMETIC and any(_has_rank(one, depth - 1) for one in args)
        case Choice(options=options):
            return bool(options) and all(_has_rank(one, depth - 1) for one in options)
        case Leaf(name=name):
            return name in RANKS
        case Part(key=str() as key):
            return key in RANKS | VARIABLES
    return False


def _has_remainder(value: Value, depth: int = DEPTH) -> bool:
    if depth == 0 or not isinstance(value, Applied):
        return False
    return value.callee == "%" or any(_has_remainder(one, depth - 1) for one in value.args)
