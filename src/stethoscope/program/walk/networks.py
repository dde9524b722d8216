"""Which network a value is behind its wrappers, and whether a network acts differently in evaluation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from stethoscope.program.index import Class, External, Function, Index, Module, dotted
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.taken_from_wrappers import taken_from
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    Instance,
    Items,
    Outside,
    Part,
    SuperValue,
    Table,
    Value,
    inputs,
)

DEPTH = 8  # wrappers looked through
HELD = 3  # levels of attributes in which a network may be held
MOST_LOOKED = 4000  # values looked at in search of a parameter

# fmt: off
SAME = frozenset({
    ".to", ".cuda", ".cpu", ".train", ".eval", ".half", ".float", ".double", ".bfloat16", ".requires_grad_",
    ".compile", ".apply", ".share_memory", ".to_empty", ".type",
})
HANDING_BACK = frozenset({
    ".unwrap_model", ".prepare", ".prepare_model", ".setup", ".setup_module", ".setup_model", ".unwrap",
    ".wrap_model",
})
COPYING = frozenset({"deepcopy", "AveragedModel"})  # the copy is in the mode that the network was in
# What torch's layers with two modes are called; others act the same in training and evaluation.
TWO_MODES = re.compile(
    r"^(?:\w*Drop(?:out|Path|Block|Connect|Token)\w*|StochasticDepth\w*|(?:Lazy|Sync)?BatchNorm\w*|BatchRenorm\w*"
    r"|Transformer(?:Encoder|Decoder)?(?:Layer)?|InPlaceABN\w*|drop_path)$"
)
# Whole networks from outside: nearly all have dropout or batch norm.
OUTSIDE_NETWORKS = re.compile(
    r"^(?:torchvision\.models\.|timm\.|transformers\.|segmentation_models_pytorch\.|torch\.hub\.load|monai\.networks\."
    r"|efficientnet_pytorch\.|open_clip\.|pretrainedmodels\.|diffusers\.models|diffusers\.\w*(?:UNet|Model))"
)
# fmt: on


def networks(value: Value | None) -> tuple[Value, ...]:
    """The networks that a value may be, each once, without what wraps, moves or switches them."""
    found = _peeled(value, DEPTH) if value is not None else ()
    return tuple({id(network): network for network in found}.values())


def _peeled(value: Value, depth: int) -> Iterator[Value]:
    if depth == 0:
        return
    match value:
        case Choice(options=options):
            for option in options:
                yield from _peeled(option, depth - 1)
        case SuperValue(instance=instance):
            yield from _peeled(instance, depth - 1)
        case Delayed() if (wrapped := taken_from(value)) is not None:
            yield from _peeled(wrapped, depth - 1)
        case Part(base=base, key="module" | "_orig_mod") if not isinstance(base, Instance) or (
            not _keeps_own_copy(base)
        ):
            yield from _peeled(base, depth - 1)
        case Part(base=Applied(callee=callee, args=args), key=int() as position) if (
            callee in HANDING_BACK and position + 1 < len(args)
        ):
            yield from _peeled(args[position + 1], depth - 1)
        case Part(base=Applied(callee=callee, keywords=keywords), key=0) if (
            callee.endswith("deepspeed.initialize") and "model" in keywords
        ):
            yield from _peeled(keywords["model"], depth - 1)
        case Applied(callee=callee, args=args) if callee in SAME and args:
            yield from _peeled(args[0], depth - 1)
        case Applied(callee=callee, args=args) if callee in HANDING_BACK and len(args) > 1:
            yield from _peeled(args[1], depth - 1)
        case Applied(callee=callee, args=args) if args and _is_wrapper(callee):
            yield from _peeled(args[0], depth - 1)
        case _:
            yield value


def _keeps_own_copy(holder: Instance) -> bool:
    return "module" in holder.attributes


def _is_wrapper(callee: str) -> bool:
    last = callee.rpartition(".")[2]
    return last.endswith(("Parallel", "FSDP")) or last in {"convert_sync_batchnorm", "compile"}


def is_same_network(one: Value | None, other: Value | None) -> bool:
    """Whether two values may be the same network."""
    return any(a is b for a in networks(one) for b in networks(other))


def holds(holder: Value | None, network: Value | None) -> bool:
    """Whether an object is a network or has it inside, so that a mode set on the one reaches the other."""
    wanted = networks(network)
    return any(_reaches(a, b) for a in networks(holder) for b in wanted)


def _reaches(holder: Value, wanted: Value) -> bool:
    part: Value = wanted
    while True:
        if part is holder:
            return True
        if not isinstance(part, Part):
            break
        part = part.base
    level = [holder]
    for _ in range(HELD):
        level = [inner for value in level for inner in _inside(value)]
        if any(value is wanted for value in level):
            return True
    return False


def _inside(value: Value) -> Iterator[Value]:
    held: Iterator[Value] = iter(())
    if isinstance(value, Instance):
        held = iter(value.attributes.values())
    elif isinstance(value, Items):
        held = iter(value.items)
    elif isinstance(value, Table):
        held = iter(value.entries.values())
    elif isinstance(value, Applied) and value.callee.startswith("torch.nn."):
        held = iter(value.args)
    for inner in held:
        yield from networks(inner)


def are_related(one: Value | None, other: Value | None) -> bool:
    """Whether one network is the other or holds it, either way round."""
    return holds(one, other) or holds(other, one)


def trained_by(run: Execution, optimizer: Value | None, network: Value | None) -> bool | None:
    """Whether an optimizer was made with parameters of a network; None where that cannot be told."""
    answer: bool | None = None
    for owner in parameter_owners(run, optimizer) if optimizer is not None else ():
        if are_related(owner, network):
            return True
        answer = False
    return answer


def parameter_owners(run: Execution, optimizer: Value) -> Iterator[Value]:
    """The networks whose parameters an optimizer was made with; functions that pick some are followed."""
    seen: set[int] = set()
    waiting = [optimizer]
    while waiting and len(seen) < MOST_LOOKED:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        owner = _owner_of_parameters(value)
        if owner is not None:
            yield owner
            continue
        if isinstance(value, Delayed) and not run.is_sealed(value):
            waiting.append(quietly(run, value))
        else:
            waiting.extend(value.attributes.values() if isinstance(value, Instance) else inputs(value))


def _owner_of_parameters(value: Value) -> Value | None:
    """The network whose parameters a value is: `model.parameters()`."""
    match value:
        case Applied(callee=".parameters" | ".named_parameters", args=(owner, *_)):
            return owner
        case Applied(callee="()", args=(Part(base=owner, key="parameters" | "named_parameters"), *_)):
            return owner
    return None


# Modes


def has_two_modes(run: Execution, value: Value | None) -> bool | None:
    """Whether a network has dropout, batch norm or the like; None where that cannot be told."""
    answers = [_has_two_modes(run, option, DEPTH) for option in networks(value)]
    return _any(answers)


def _any(answers: list[bool | None]) -> bool | None:
    if any(answers):
        return True
    return None if None in answers or not answers else False


def _has_two_modes(run: Execution, value: Value, depth: int) -> bool | None:
    if depth == 0:
        return None
    if isinstance(value, Delayed):
        try:
            value = run.force(value)
        except (Exhausted, RecursionError):
            return None
    match value:
        case Instance(cls=cls):
            own = class_has_two_modes(run.index, cls)
            if own:
                return True
            held = [v for v in (*value.attributes.values(), *value.made_with.values()) if _may_be_network(v)]
            return _any([own, *(_has_two_modes(run, v, depth - 1) for v in held)])
        case Applied(callee=callee, args=(inner, *_)) if callee.rpartition(".")[2] in COPYING:
            return _any([_has_two_modes(run, one, depth - 1) for one in networks(inner)])
        case Applied(callee=callee, args=args, keywords=keywords):
            return _outside_has_two_modes(run, callee, args, keywords, depth)
        case Choice(options=options):
            return _any([_has_two_modes(run, option, depth - 1) for option in options])
        case Items(items=items):
            return _any([_has_two_modes(run, item, depth - 1) for item in items])
        case Table(entries=entries):
            return _any([_has_two_modes(run, item, depth - 1) for item in entries.values()])
    return None


def _may_be_network(value: Value) -> bool:
    if isinstance(value, Applied):
        return value.callee.startswith("torch.nn.") or OUTSIDE_NETWORKS.match(value.callee) is not None
    return isinstance(value, Instance)


def _outside_has_two_modes(
    run: Execution, callee: str, args: tuple[Value, ...], keywords: object, depth: int
) -> bool | None:
    last = callee.rpartition(".")[2]
    given = dict(keywords) if isinstance(keywords, dict) else {}
    if callee.startswith("torch.nn."):
        if TWO_MODES.match(last):
            rate = given.get("p", given.get("dropout", args[0] if args and "Drop" in last else None))
            return not (isinstance(rate, Constant) and rate.value == 0)
        if last in {"LSTM", "GRU", "RNN", "MultiheadAttention"}:
            rate = given.get("dropout")
            return rate is not None and not (isinstance(rate, Constant) and rate.value == 0)
        if last in {"Sequential", "ModuleList", "ModuleDict"}:
            return _any([_has_two_modes(run, arg, depth - 1) for arg in args])
        return False
    if OUTSIDE_NETWORKS.match(callee) or last in {"from_pretrained", "from_config"}:
        return True
    return None


@lru_cache(maxsize=1024)
def class_has_two_modes(index: Index, cls: Class) -> bool | None:
    """Whether a class of the repository makes layers with two modes, itself or in the parts it makes."""
    seen: set[ast.AST] = set()
    waiting: list[Class | Function] = [cls]
    unknown = False
    while waiting and len(seen) < 200:
        current = waiting.pop()
        if current.node in seen:
            continue
        seen.add(current.node)
        if isinstance(current, Class):
            waiting.extend(index.lineage(current)[1:])
            bases = index.outside_bases(current)
            if any(OUTSIDE_NETWORKS.match(base) for base in bases):
                return True
        home = index.module_of(current.source)
        spared, maybe = _asked_for_memory(current.node), _asked_with_a_flag(current.node)
        for node in all_nodes(current.node):
            if id(node) in spared:
                continue
            verdict = "unknown" if id(node) in maybe else _node_verdict(index, home, node)
            if verdict is True:
                return True
            if isinstance(verdict, Class | Function):
                waiting.append(verdict)
            unknown = unknown or verdict == "unknown"
    return None if unknown else False


def _asked_for_memory(tree: ast.AST) -> set[int]:
    """The `self.training` that only decides whether a part is computed again in the backward pass."""
    asked = (node for node in all_nodes(tree) if isinstance(node, ast.If | ast.IfExp))
    arms = ((one.test, one.body if isinstance(one.body, list) else [one.body]) for one in asked)
    return {id(node) for test, body in arms if body and _is_checkpointed(body[0]) for node in ast.walk(test)}


def _is_checkpointed(first: ast.AST) -> bool:
    called = (node.func for node in ast.walk(first) if isinstance(node, ast.Call))
    names = {(dotted(func) or "").rpartition(".")[2] for func in called}
    return bool(names & {"checkpoint", "checkpoint_sequential", "_gradient_checkpointing_func"})


def _asked_with_a_flag(body: ast.AST) -> set[int]:
    """`not self.training and self.post_filter`: a second mode that may be switched off."""
    return {
        id(one)
        for both in all_nodes(body, ast.BoolOp)
        if isinstance(both.op, ast.And) and any(map(_is_flag, both.values))
        for value in both.values
        for one in all_nodes(value, ast.Attribute)
        if one.attr == "training"
    }


def _is_flag(value: ast.expr) -> bool:
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not):
        value = value.operand
    return isinstance(value, ast.Attribute) and value.attr != "training"


def _node_verdict(index: Index, home: Module, node: ast.AST) -> bool | str | Class | Function | None:
    if isinstance(node, ast.Attribute) and node.attr == "training" and dotted(node.value) == "self":
        return True
    if isinstance(node, ast.Call):
        name = dotted(node.func) or ""
        target = index.resolve(home, name) if name else None
        if TWO_MODES.match(name.rpartition(".")[2]) and not isinstance(target, Class | Function):
            return True if not _is_off(node) else None
        if name.rpartition(".")[2] in {"LSTM", "GRU", "RNN", "MultiheadAttention"}:
            rates = [keyword.value for keyword in node.keywords if keyword.arg == "dropout"]
            return True if rates and not _is_zero(rates[0]) else None
        if isinstance(target, Class | Function):
            return target
        if isinstance(target, External):
            if OUTSIDE_NETWORKS.match(target.name):
                return True
            return "unknown" if _is_foreign_layer(target.name) else None
    elif isinstance(node, ast.Attribute | ast.Name):
        # `norm_layer=nn.BatchNorm2d` is made elsewhere.
        last = node.attr if isinstance(node, ast.Attribute) else node.id
        is_called = isinstance(getattr(node, "ctx", None), ast.Load) and TWO_MODES.match(last)
        return True if is_called and "BatchNorm" in last else None
    return None


def _is_foreign_layer(name: str) -> bool:
    home, _, last = name.rpartition(".")
    is_plain = home.startswith(("torch", "typing", "collections", "dataclasses", "enum"))
    return last[:1].isupper() and not is_plain


def _is_off(node: ast.Call) -> bool:
    """`nn.Dropout(0)`."""
    rates = [k.value for k in node.keywords if k.arg in {"p", "dropout", "drop_prob"}] or list(node.args[:1])
    name = (dotted(node.func) or "").rpartition(".")[2]
    return "rop" in name and bool(rates) and _is_zero(rates[0])


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def is_from_pretrained(value: Value | None) -> bool:
    """Whether a network comes from a factory that hands it over in evaluation mode."""
    return any(isinstance(n, Applied) and n.callee.endswith("from_pretrained") for n in networks(value))


def is_made_here(value: Value | None) -> bool:
    """Whether it was seen how a network is made."""
    made = networks(value)
    return bool(made) and all(isinstance(n, Instance | Delayed) or _is_making(n) for n in made)


def _is_making(value: Value) -> bool:
    if not isinstance(value, Applied):
        return False
    if value.callee == "copy.deepcopy":
        return is_made_here(value.args[0])
    return value.callee[:1].isalpha() or (value.callee == "()" and isinstance(value.args[0], Outside))
