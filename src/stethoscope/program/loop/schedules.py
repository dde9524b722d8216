"""Learning-rate schedulers as they were made: their kind, their lengths, and what these are counted in."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Index
from stethoscope.program.likenesses import words
from stethoscope.program.loop.roles import Role, derived_role, role_of
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.declared_options import declared_options
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Instance,
    Items,
    Leaf,
    Part,
    Settings,
    Site,
    Table,
    Value,
    inputs,
)

# The arguments that count rounds, with their positions behind the optimizer.
LENGTHS: Mapping[str, Mapping[str, int]] = {
    "CosineAnnealingLR": {"T_max": 1},
    "CosineAnnealingWarmRestarts": {"T_0": 1},
    "StepLR": {"step_size": 1},
    "MultiStepLR": {"milestones": 1},
    "ExponentialLR": {},
    "LinearLR": {"total_iters": 3},
    "PolynomialLR": {"total_iters": 1},
    "OneCycleLR": {"total_steps": 2},
    "get_linear_schedule_with_warmup": {"num_training_steps": 2, "num_warmup_steps": 1},
    "get_cosine_schedule_with_warmup": {"num_training_steps": 2, "num_warmup_steps": 1},
    "get_polynomial_decay_schedule_with_warmup": {"num_training_steps": 2, "num_warmup_steps": 1},
    "get_scheduler": {"num_training_steps": 3, "num_warmup_steps": 2},
}
# Schedulers made of others, with the positions of those and of the rounds in which the next one takes over.
CHAINS: Mapping[str, Mapping[str, int]] = {
    "SequentialLR": {"schedulers": 1, "milestones": 2},
    "ChainedScheduler": {"schedulers": 0},
}
GAMMA = {"StepLR": 2, "MultiStepLR": 2, "ExponentialLR": 1}
TORCH_GAMMA = 0.1  # the default of StepLR and MultiStepLR

LOADERS = frozenset({"loader", "loaders", "dataloader", "dl"})
EPOCHS = frozenset({"epoch", "epochs", "nepochs", "ep"})
STEPS = frozenset({"steps", "iters", "iterations", "updates", "batches"})


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """A scheduler: its class or factory by last name, the call that made it, its lengths and its decay.

    `lengths` holds each argument that counts rounds, with the expression it was written as.
    """

    kind: str
    made: Applied
    lengths: tuple[Length, ...]
    gamma: float | None

    @property
    def site(self) -> Site:
        """Where it was made."""
        return self.made.site


@dataclass(frozen=True, slots=True, eq=False)
class Length:
    """A number of rounds: the argument's name, its value, and how it is written."""

    name: str
    value: Value
    written: ast.expr | None

    @property
    def text(self) -> str:
        """The expression as written."""
        return ast.unparse(self.written) if self.written is not None else self.name


def is_known_scheduler(run: Execution, value: Value | None) -> bool:
    """Whether a scheduler is one of torch's kind, whose step() goes on to the value of the next round.

    One of the repository's own may well set the rate of the round that is about to come.
    """
    value = quietly(run, value) if value is not None else None
    if isinstance(value, Choice):
        return bool(value.options) and all(is_known_scheduler(run, option) for option in value.options)
    if isinstance(value, Items):
        return bool(value.items) and all(is_known_scheduler(run, item) for item in value.items)
    if isinstance(value, Instance):
        return derived_role(run.index, value.cls) is Role.SCHEDULER
    if not isinstance(value, Applied):
        return False
    home, _, last = value.callee.rpartition(".")
    if value.callee == "()":
        last = getattr(value.args[0], "name", "")
    if last == "ReduceLROnPlateau":
        return False
    return "lr_scheduler" in home or last in LENGTHS or last == "lr_schedulers"


def schedules(run: Execution, value: Value | None) -> Iterator[Schedule]:
    """The schedulers that a value may be, those with arguments that count rounds."""
    value = quietly(run, value) if value is not None else None
    match value:
        case Choice(options=options):
            for option in options:
                yield from schedules(run, option)
        case Items(items=items):
            for item in items:
                yield from schedules(run, item)
        case Applied():
            kind = value.callee.rpartition(".")[2]
            args = value.args
            if value.callee == "()":
                kind, args = getattr(value.args[0], "name", ""), value.args[1:]
            if kind in CHAINS:
                yield Schedule(kind, value, tuple(_lengths_of_chain(run, kind, value, args)), None)
            elif kind in LENGTHS:
                yield Schedule(
                    kind, value, tuple(_lengths(kind, value, args)), _gamma(run, kind, value, args)
                )


def _lengths(kind: str, made: Applied, args: Sequence[Value]) -> Iterator[Length]:
    node = made.site.node if isinstance(made.site.node, ast.Call) else None
    places = LENGTHS[kind] if kind in LENGTHS else CHAINS[kind]
    for name, position in places.items():
        if name == "schedulers":
            continue
        if name in made.keywords:
            written = next((k.value for k in node.keywords if k.arg == name), None) if node else None
            yield Length(name, made.keywords[name], written)
        elif position < len(args):
            written = node.args[position] if node and position < len(node.args) else None
            yield Length(name, args[position], written)


def _lengths_of_chain(run: Execution, kind: str, made: Applied, args: Sequence[Value]) -> Iterator[Length]:
    """The rounds of all members, which are stepped together, and those in which one follows another."""
    members = made.keywords.get("schedulers") or _at(args, CHAINS[kind]["schedulers"])
    yield from (length for member in schedules(run, members) for length in member.lengths)
    yield from _lengths(kind, made, args)


def _at(values: Sequence[Value], position: int) -> Value | None:
    return values[position] if position < len(values) else None


def _gamma(run: Execution, kind: str, made: Applied, args: Sequence[Value]) -> float | None:
    position = GAMMA.get(kind)
    if position is None:
        return None
    given = made.keywords.get("gamma") or (args[position] if position < len(args) else None)
    if given is None:
        return TORCH_GAMMA
    known = numbers_in(run, given)
    return known[0] if len(known) == 1 else None


def unit_of(run: Execution, length: Length) -> str:
    """What a length is counted in: "epoch", "step", or "" where nothing says so."""
    return _unit(run, length.value, 6) or _unit_of_names(length.written)


def unit_of_value(run: Execution, value: Value) -> str:
    """What a number is counted in, by what it was computed from."""
    return _unit(run, value, 6)


def _unit(run: Execution, value: Value, depth: int) -> str:
    value = run.force(value)
    if depth == 0:
        return ""
    match value:
        case Constant(setting=setting):
            return _unit_of_name(setting.rpartition(".")[2])
        case Leaf(name=name):
            return _unit_of_name(name)
        case Part(key=str() as key):
            return _unit_of_name(key)
        case Applied(callee="*", args=args):
            units = [_unit(run, arg, depth - 1) for arg in args]
            if any(counts_batches(run, arg) for arg in args) or "step" in units:
                return "step"
            # Epochs times something that is no plain number are most likely the steps in them.
            others = [arg for arg, unit in zip(args, units, strict=True) if unit != "epoch"]
            return "step" if "epoch" in units and others and not isinstance(others[0], Constant) else ""
        case Applied(callee="/" | "//", args=(above, below)):
            unit = _unit(run, above, depth - 1)
            return "" if counts_batches(run, below) else unit
        case Applied(
            callee="+" | "-" | "max" | "min" | "int" | "round" | "math.ceil" | "math.floor", args=args
        ):
            units = [unit for arg in args if (unit := _unit(run, arg, depth - 1))]
            if any(counts_batches(run, arg) for arg in args):
                units.append("step")
            return units[0] if len(set(units)) == 1 else ""
        case Applied() if counts_batches(run, value):
            return "step"
        case Choice(options=options) | Items(items=[*options]):
            found = {_unit(run, option, depth - 1) for option in options}
            return found.pop() if len(found) == 1 else ""
    return ""


def counts_batches(run: Execution, value: Value) -> bool:
    """`len(loader)`, `steps_per_epoch`, `len(rows) // batch_size`."""
    value = run.force(value)
    if is_length_in_batches(run, value):
        return True
    if isinstance(value, Applied) and value.callee == "len" and value.args:
        role = role_of(run, value.args[0])
        return role is Role.LOADER or (role is None and _is_called_loader(value.site.node))
    if isinstance(value, Applied) and value.callee in {"//", "/", "math.ceil", "int", "max", "+"}:
        return any(counts_batches(run, arg) for arg in value.args)
    name = value.key if isinstance(value, Part) else getattr(value, "name", "")
    return "per_epoch" in str(name).lower()


def is_length_in_batches(run: Execution, value: Value) -> bool:
    """`len(rows) // batch_size`: how many batches an array is cut into."""
    if not isinstance(value, Applied) or value.callee not in {"//", "/"}:
        return False
    counted = run.force(value.args[0])
    return isinstance(counted, Applied) and counted.callee == "len" and is_batch_size(run, value.args[1])


def unit_counted(loop: ast.AST) -> str:
    """What the rounds of a loop are, by the name that it gives their number: `for epoch in range(n)`."""
    target = loop.target if isinstance(loop, ast.For) else None
    first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
    return _unit_of_name(first.id) if isinstance(first, ast.Name) else ""


def is_batch_size(run: Execution, value: Value) -> bool:
    """Whether a number is how many samples a batch has, by its name in settings or source."""
    value = run.force(value)
    setting = value.setting if isinstance(value, Constant) else ""
    name = value.key if isinstance(value, Part) else getattr(value, "name", setting.rpartition(".")[2])
    spoken = words(str(name))
    return "bs" in spoken or {"batch", "size"} <= set(spoken) or str(name) == "batch"


def _is_called_loader(node: ast.AST) -> bool:
    """`len(train_loader)`, where nothing else tells what that is."""
    given = node.args[0] if isinstance(node, ast.Call) and node.args else None
    name = str(getattr(given, "attr", getattr(given, "id", "")))
    return bool(LOADERS.intersection(words(name)))


def _unit_of_names(node: ast.expr | None) -> str:
    """The unit that the names in an expression speak of, where they agree."""
    if node is None or isinstance(node, ast.Constant):
        return ""
    names = [
        n.id if isinstance(n, ast.Name) else n.attr
        for n in all_nodes(node)
        if isinstance(n, ast.Name | ast.Attribute)
    ]
    if any(
        isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "len"
        for n in all_nodes(node)
    ):
        return "step"
    units = {unit for name in names if (unit := _unit_of_name(name))}
    return units.pop() if len(units) == 1 else ""


def _unit_of_name(name: str) -> str:
    parts = set(words(name))
    if parts & EPOCHS:
        return "epoch" if not parts & {"per"} else "step"
    return "step" if parts & STEPS or name.lower() in {"total_iter", "max_iter", "num_iter"} else ""


def numbers_in(run: Execution, value: Value) -> list[float]:
    """The numbers that a value is or holds, empty where one of them is not known."""
    value = run.force(value)
    if isinstance(value, Part) and isinstance(value.key, str):
        return _default_of(run.index, value.key)
    if isinstance(value, Constant) and isinstance(value.value, int | float):
        return [float(value.value)]
    if isinstance(value, Settings) and isinstance(value.tree, list):
        return [float(item) for item in value.tree if isinstance(item, int | float)]
    if isinstance(value, Items):
        found = [numbers_in(run, item) for item in value.items]
        return [one[0] for one in found] if all(len(one) == 1 for one in found) else []
    if isinstance(value, Table):
        return []
    return []


def is_made_of(value: Value, wanted: Value, depth: int = 6) -> bool:
    """Whether a value is, or was computed from, another one."""
    if value is wanted:
        return True
    return depth > 0 and any(is_made_of(one, wanted, depth - 1) for one in inputs(value))


def _default_of(index: Index, name: str) -> list[float]:
    """The default of a declared option, a number or a row of them."""
    known = _defaults(index).get(name)
    row = known if isinstance(known, list | tuple) else [known]
    numbers = [float(one) for one in row if isinstance(one, int | float) and not isinstance(one, bool)]
    return numbers if len(numbers) == len(row) else []


@remembered
def _defaults(index: Index) -> dict[str, object]:
    return {option.name: option.default for option in declared_options(index)}
