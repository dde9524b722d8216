"""The parts of a network that its own constructor casts: `self.encoder = Encoder().to(torch.bfloat16)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stethoscope.program.index import Class, Index, dotted
from stethoscope.program.precision.autocast import HALVES, DType
from stethoscope.program.remembered import remembered
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.values import Site

CASTS = {"half": DType.FLOAT16, "bfloat16": DType.BFLOAT16, "float": DType.FLOAT32, "double": DType.FLOAT32}
TYPES = {
    "float16": DType.FLOAT16,
    "half": DType.FLOAT16,
    "bfloat16": DType.BFLOAT16,
    "float32": DType.FLOAT32,
    "float": DType.FLOAT32,
}
# Words of classes whose parts may be there to be used as they are.
FREEZING = ("requires_grad", "no_grad", ".eval()", "inference_mode", "freeze", "frozen", "detach")
LOADING = frozenset({"from_pretrained", "from_config", "create_model"})


@remembered
def half_parts(index: Index, cls: Class) -> tuple[tuple[Site, DType], ...]:
    """Where a class casts networks to half that it made itself and does not freeze, with their type."""
    lineage = index.lineage(cls)
    if any(word in ast.unparse(one.node) for one in lineage for word in FREEZING):
        return ()
    found: dict[str, tuple[Site, DType]] = {}
    networks: set[str] = set()
    for one in reversed(lineage):
        made = one.methods.get("__init__")
        for part, value in _kept(made.node.body) if made is not None else ():
            if _makes_network(value):
                networks.add(part)
                found.pop(part, None)
            dtype = next(_casts(value), None)
            if dtype is not None and part in networks:
                found[part] = Site(one.source, value), dtype
    return tuple((site, dtype) for site, dtype in found.values() if dtype in HALVES)


def _kept(body: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.Call]]:
    """What becomes of parts under all settings: `self.part = ...`, and casts in place, `self.part.half()`."""
    for node in body:
        match node:
            case ast.With(body=inner):
                yield from _kept(inner)
            case ast.Assign(targets=[target], value=ast.Call() as call):
                name = (dotted(target) or "").split(".")
                if len(name) == 2 and name[0] == "self":
                    yield name[1], call
            case ast.Expr(value=ast.Call() as call):
                name = (dotted(_innermost(call)) or "").split(".")
                if len(name) == 2 and name[0] == "self":
                    yield name[1], call


def _casts(call: ast.expr) -> Iterator[DType]:
    """The types of a chain of casts, the last first: float32 of `Encoder().half().float()`."""
    while isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        if call.func.attr in CASTS and not call.args:
            yield CASTS[call.func.attr]
        if call.func.attr in {"to", "type"}:
            given = [*call.args, *(word.value for word in call.keywords)]
            names = ((dotted(one) or "").rpartition(".") for one in given)
            yield from (TYPES[last] for home, _, last in names if home == "torch" and last in TYPES)
        call = call.func.value


def _innermost(call: ast.expr) -> ast.expr:
    """What a chain of methods is called on: `Encoder(8)` of `Encoder(8).cuda().half()`."""
    while isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        if call.func.attr[:1].isupper() or call.func.attr in LOADING:
            break
        call = call.func.value
    return call


def _makes_network(call: ast.expr) -> bool:
    made = _innermost(call)
    if not isinstance(made, ast.Call):
        return False
    name = bare_name(made)
    return (name[:1].isupper() and name != "Parameter") or name in LOADING
