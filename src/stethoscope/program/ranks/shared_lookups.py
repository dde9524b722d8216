"""Samples that a training of several processes looks up by itself, at places that are the same on every rank.

order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed + epoch))
mine = order[at : at + size]              no rank has a say in it

Everything that the inputs of the trained network were made from is looked through. Where the rank has a say
in any of it, or something is not known, nothing is said.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.data.ingredients import DRAWING
from stethoscope.program.data.stored_order import MIXING
from stethoscope.program.ranks.decisions import Ranks
from stethoscope.program.ranks.shares import SHARDING, has_rank, is_rank
from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Items,
    LambdaValue,
    Leaf,
    Outside,
    Part,
    Settings,
    Site,
    Table,
    Value,
    inputs,
)

CHANCE = MIXING | DRAWING | {"randrange", "sample", "permutation", "choice", "integers", "randint"}
COUNTING = frozenset({"arange", "range"})
SEEDED = frozenset({".manual_seed", "numpy.random.default_rng", "numpy.random.RandomState", "random.Random"})
SEEDING = frozenset({"manual_seed", "seed", "set_seed", "seed_everything", "manual_seed_all", "fix_seed"})
MOVING = frozenset({".to", ".cuda", ".cpu", ".pin_memory", ".contiguous", ".type"})
PLACES = frozenset({"device", "map_location", "out", "dtype", "non_blocking"})
# Which ranks belong together is not for all of them to differ in: parts of one network take the same batch.
GROUPS = frozenset(
    {"new_group", "init_device_mesh", "DeviceMesh", "parallelize_module", "initialize_model_parallel"}
)
FILES = ("load", "read_csv", "open", "memmap", "fromfile", "from_numpy", "tensor", "as_tensor")
MOST_VALUES = 1_500


def shared_lookups(ranks: Ranks) -> Iterator[Site]:
    """The lookups of samples that give every rank the same batch, one for each trained run of a network."""
    walk = ranks.walk
    calls = [event for event in walk.trace.events if isinstance(event, Call)]
    if any(call.name in GROUPS for call in calls):
        return
    for run in calls:
        if id(run) in walk.trained:
            site = _same_on_all(walk.trace.run, run, calls)
            if site is not None:
                yield site


def _same_on_all(run: Execution, forward: Call, calls: list[Call]) -> Site | None:
    """Where the samples of a run are looked up, where all that chooses them is known and is no rank's own."""
    found: Site | None = None
    is_stored = False
    waiting: list[Value] = [*forward.args, *forward.keywords.values()]
    seen: set[int] = set()
    while waiting:
        value = waiting.pop()
        value = quietly(run, value)
        if id(value) in seen:
            continue
        seen.add(id(value))
        if len(seen) > MOST_VALUES or is_rank(value) or not _is_known(run, value):
            return None
        if isinstance(value, Applied):
            if SHARDING.search(value.callee.rpartition(".")[2]) and not _is_count(value):
                return None
            if _is_draw(value) and not _is_alike(run, value, calls):
                return None
            is_stored = is_stored or value.callee.rpartition(".")[2] in FILES
            site = _of_rows(run, value)
            found = found or site
            waiting.extend(_content(value))
        else:
            waiting.extend(inputs(value))
    return found if is_stored else None


def _content(value: Applied) -> Iterator[Value]:
    """What a value was made from, but where it lies."""
    if value.callee in MOVING:
        yield value.args[0]
        return
    yield from value.args
    yield from (given for name, given in value.keywords.items() if name not in PLACES)
    if value.maker is not None:
        yield value.maker


def _is_known(run: Execution, value: Value) -> bool:
    """Whether it is seen what a value is: a number of a round is, a text that was put together is not."""
    match value:
        case Constant() | Choice() | Items() | Table() | Settings() | Outside():
            return True
        case Leaf(name=name):
            return id(value) in run.counted_by or name == "index"
        case Part(base=base, key=key):
            return key != "*" or isinstance(quietly(run, base), Applied | Items | Table)
        case Applied(callee=callee):
            return callee != "()"
        case Instance() | Delayed() | FunctionValue() | LambdaValue():
            return False
    return False


def _is_count(value: Applied) -> bool:
    """`get_world_size()`: how many there are is the same for all."""
    return "world" in value.callee.rpartition(".")[2]


def _is_draw(value: Applied) -> bool:
    return value.callee.rpartition(".")[2] in CHANCE


def _is_alike(run: Execution, draw: Applied, calls: list[Call]) -> bool:
    """Whether chance draws the same on every rank: by a seed that they share.

    A generator of its own is looked through with all else that the draw was made from.
    """
    given = draw.keywords.get("generator")
    generators = [quietly(run, one) for one in (given, *draw.args[:1]) if one is not None]
    if any(isinstance(one, Applied) and one.callee in SEEDED and len(one.args) > 0 for one in generators):
        return True
    if given is not None:
        return False
    seeds = [call for call in calls if call.name in SEEDING and (call.args or call.keywords)]
    told = [one for call in seeds for one in (*call.args, *call.keywords.values())]
    of_all = [call for call in seeds if not isinstance(call.receiver, Applied)]
    return bool(of_all) and not any(has_rank(run, one) for one in told)


def _of_rows(run: Execution, value: Applied) -> Site | None:
    """Where rows are looked up: by an order that is drawn or counted, or between two ends that move."""
    if value.callee != "[]" or len(value.args) != 2 or not isinstance(value.site.node, ast.Subscript):
        return None
    index = quietly(run, value.args[1])
    index = quietly(run, index.items[0]) if isinstance(index, Items) and index.items else index
    waiting, seen = [index], set[int]()
    while waiting and len(seen) < MOST_VALUES:
        one = quietly(run, waiting.pop())
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Applied):
            last = one.callee.rpartition(".")[2]
            if last in CHANCE or last in COUNTING:
                return value.site
        waiting.extend(inputs(one))
    return None
