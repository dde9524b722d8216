"""Half networks that trainers of Hugging Face get and train as a whole."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Function, Index, Module, dotted
from stethoscope.program.precision.autocast import HALVES, DType, named_dtype
from stethoscope.program.precision.framework_precision import evaluated
from stethoscope.program.precision.half_parts import half_parts
from stethoscope.program.precision.half_weights import half_made
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.trainers_made import TrainerMade, trainers_made
from stethoscope.program.walk.values import Applied, Choice, Constant, Instance, Site, Value

# Words of what trains other weights than those that are loaded, or keeps copies of them.
OTHERWISE = ("peft", "lora", "adapter", "deepspeed", "fsdp", "8bit", "4bit", "quantiz")
FREEZES = re.compile(r"requires_grad_\(|requires_grad\s*=")  # to ask for it freezes nothing
CASTS = {"half": DType.FLOAT16, "bfloat16": DType.BFLOAT16, "float": DType.FLOAT32, "double": DType.FLOAT32}
DEEPEST = 6  # calls looked through from a network back to where it was cast


@dataclass(frozen=True, slots=True, eq=False)
class LoadedHalf:
    """A network that is loaded or cast in half and given to a trainer that updates it so."""

    dtype: DType
    loaded: Site
    trainer: Site


def loaded_for_trainers(index: Index, settings: SettingsTree) -> Iterator[LoadedHalf]:
    """The half networks that trainers get, each with where it became half."""
    made = [one for one in trainers_made(index) if ".train(" in one.source.text]
    if not made or trains_otherwise(index):
        return
    run = Execution(index, settings, 0)
    for trainer in made:
        half = _half_network(index, run, trainer)
        if half is not None:
            yield LoadedHalf(half[0], half[1], Site(trainer.source, trainer.call))


@remembered
def trains_otherwise(index: Index) -> bool:
    """Whether a program speaks of adapters, of frozen weights, or of what keeps copies of them."""
    return any(
        FREEZES.search(source.text) or any(word in source.text.lower() for word in OTHERWISE)
        for source in index.program
    )


def _half_network(index: Index, run: Execution, trainer: TrainerMade) -> tuple[DType, Site] | None:
    module = index.module_of(trainer.source)
    given = trainer.given("model") or _built_by(index, module, trainer)
    if given is None:
        return None
    found: tuple[DType, Site] | None = None
    for node in _makers(trainer.around, given):
        value = evaluated(node, module, run)
        cast = _cast(value) or _written_cast(node, trainer)
        if cast is not None:
            found = cast if cast[0] in HALVES else None
        elif isinstance(value, Instance):
            parts = half_parts(index, value.cls) if _trains_all(index, trainer) else ()
            found = next(((dtype, site) for site, dtype in parts), None)
        elif _is_made(value):
            found = None
    return found


def _trains_all(index: Index, trainer: TrainerMade) -> bool:
    """Whether a trainer's optimizer gets all parameters of the network, as it does by itself."""
    own = index.method(trainer.cls, "create_optimizer") if trainer.cls is not None else None
    if trainer.given("optimizers") is not None:
        return False
    written = ast.unparse(own.node) if own is not None else "model.parameters("
    return "model.named_parameters(" in written or "model.parameters(" in written


def _built_by(index: Index, module: Module, trainer: TrainerMade) -> ast.expr | None:
    """What `model_init=build` gives back, where it is one expression."""
    builder = trainer.given("model_init")
    if isinstance(builder, ast.Lambda):
        return builder.body
    target = index.resolve(module, dotted(builder) or "") if builder is not None else None
    if not isinstance(target, Function) or target.source is not trainer.source:
        return None
    returned = [node.value for node in own_nodes(target.node, ast.Return)]
    return returned[0] if len(returned) == 1 else None


def _makers(around: Sequence[ast.AST], given: ast.expr) -> Iterator[ast.expr]:
    """The expressions that make a network and cast it, in order: assignments, and casts in place."""
    name = dotted(given)
    if name is None:
        yield given
        return
    written: list[tuple[int, ast.expr]] = []
    for node in around:
        match node:
            case ast.Assign(targets=targets, value=value) if name in map(dotted, targets):
                written.append((node.lineno, value))
            case ast.AnnAssign(target=target, value=value) if value is not None and dotted(target) == name:
                written.append((node.lineno, value))
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner)) as call) if dotted(owner) == name:
                written.append((node.lineno, call))
    yield from (value for line, value in sorted(written, key=lambda pair: pair[0]) if line <= given.lineno)


def _cast(value: Value | None, depth: int = DEEPEST) -> tuple[DType, Site] | None:
    """The last cast of a network that was made: `BertModel(config).to(torch.bfloat16).cuda()`."""
    if isinstance(value, Choice):
        found = [_cast(option, depth - 1) for option in value.options] if depth else []
        sure = [one for one in found if one is not None]
        return sure[0] if len(sure) == len(found) and len({one[0] for one in sure}) == 1 else None
    if not isinstance(value, Applied) or not depth:
        return None
    loaded = half_made(value)
    if loaded is not None:
        return loaded, value.site
    if not value.callee.startswith(".") or not value.args:
        return None
    dtype = _asked(value.callee[1:], [*value.args[1:], *value.keywords.values()])
    return (dtype, value.site) if dtype is not None else _cast(value.args[0], depth - 1)


def _written_cast(node: ast.expr, trainer: TrainerMade) -> tuple[DType, Site] | None:
    """A cast of a network that is only known by its name: `model.to(torch.bfloat16)`."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name), args=args, keywords=words):
            written = [*args, *(word.value for word in words)]
            names = [(dotted(one) or "").rpartition(".")[2] for one in written]
            dtype = _asked(name, [Constant(one) for one in names])
            return (dtype, Site(trainer.source, node)) if dtype is not None else None
    return None


def _asked(name: str, given: Sequence[Value]) -> DType | None:
    if name in CASTS:
        return CASTS[name] if not given else None
    if name not in {"to", "type"}:
        return None
    return next((dtype for one in given if (dtype := named_dtype(one)) is not None), None)


def _is_made(value: Value) -> bool:
    return isinstance(value, Instance) or (isinstance(value, Applied) and not value.callee.startswith("."))
