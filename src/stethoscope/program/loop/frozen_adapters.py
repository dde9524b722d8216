"""Adapters of peft that are taken out of training after they were made, or were never in it.

model = get_peft_model(model, lora)
model = prepare_model_for_kbit_training(model)      # freezes every weight there is, the adapters too

model = PeftModel.from_pretrained(model, path)      # for inference, unless is_trainable=True
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Index, dotted
from stethoscope.program.loop.roles import OPTIMIZER_CLASSES
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.mentions import Mentions, Spot, mentions
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.entries import is_test

PREPARING = frozenset({"prepare_model_for_kbit_training", "prepare_model_for_int8_training"})
MAKING = frozenset({"get_peft_model"})
LOADING = re.compile(r"(?:^|\.)(?:Auto)?PeftModel\w*\.from_pretrained$")
THAWING = re.compile(
    r"requires_grad\s*=\s*True|requires_grad_\(\s*(?:True)?\s*\)|set_adapter|mark_only_lora|merge_and_unload"
)


@dataclass(frozen=True, slots=True, eq=False)
class FrozenAdapter:
    """Where adapters are frozen, and where they were made; `loaded` says that they came for inference."""

    frozen: Spot
    made: Spot
    loaded: bool = False


@remembered
def frozen_adapters(index: Index) -> tuple[FrozenAdapter, ...]:
    """Every place after which the adapters of a model stay as they are."""
    code = mentions(index)
    sources = [source for source in index.program if not is_test(source)]
    if any(THAWING.search(source.text) for source in sources):
        return ()
    return (*_frozen_again(code), *_loaded_for_inference(code))


def _frozen_again(code: Mentions) -> Iterator[FrozenAdapter]:
    for made in (spot for name in MAKING for spot in code.calls.get(name, ())):
        name, scope = _name_of(made, code), code.scope_of(made.node)
        for node in all_nodes(scope) if name else ():
            is_later = getattr(node, "lineno", 0) > made.node.lineno
            if is_later and isinstance(node, ast.expr | ast.For) and _freezes(node, name):
                at = node if isinstance(node, ast.expr) else node.iter
                yield FrozenAdapter(Spot(at, made.source), made)
                return


def _freezes(node: ast.AST, name: str) -> bool:
    """Whether all weights of what has this name are frozen here."""
    match node:
        case ast.Call(func=func, args=[ast.Name(id=given), *_]) if given == name:
            return (dotted(func) or "").rpartition(".")[2] in PREPARING
        case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="requires_grad_"), args=[given]):
            return owner == name and isinstance(given, ast.Constant) and given.value is False
        case ast.For(
            target=ast.Name(id=each), iter=ast.Call(func=ast.Attribute(value=owner, attr="parameters"))
        ):
            return dotted(owner) == name and _switches_off(node.body, each)
    return False


def _switches_off(body: Sequence[ast.stmt], each: str) -> bool:
    return [ast.unparse(one) for one in body] == [f"{each}.requires_grad = False"]


def _loaded_for_inference(code: Mentions) -> Iterator[FrozenAdapter]:
    for spot in code.calls.get("from_pretrained", ()):
        node = spot.node
        if (
            not isinstance(node, ast.Call)
            or not LOADING.search(dotted(node.func) or "")
            or len(node.args) < 2
        ):
            continue
        is_told = any(word.arg in {None, "is_trainable"} for word in node.keywords) or len(node.args) > 3
        name, scope = _name_of(spot, code), code.scope_of(node)
        if name and not is_told and _is_trained(scope, name, node.lineno):
            yield FrozenAdapter(spot, spot, loaded=True)


def _is_trained(scope: ast.AST, name: str, line: int) -> bool:
    """Whether a trainer or an optimizer is made of what has this name, and nothing else is, behind a line."""
    others = [
        one.lineno
        for one in all_nodes(scope, ast.Assign)
        if any(dotted(target) == name for target in one.targets) and one.lineno > line
    ]
    if others:
        return False
    return any(
        call.lineno > line
        and (last := (dotted(call.func) or "").rpartition(".")[2])
        and (last.endswith("Trainer") or last in OPTIMIZER_CLASSES)
        and any(name in (dotted(one), _owner(one)) for one in _given(call))
        for call in all_nodes(scope, ast.Call)
    )


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(word.value for word in call.keywords)]


def _owner(node: ast.expr) -> str | None:
    """`model` of `model.parameters()`."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr="parameters")):
            return dotted(owner)
    return None


def _name_of(spot: Spot, code: Mentions) -> str:
    match code.parents.get(id(spot.node)):
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return ""
