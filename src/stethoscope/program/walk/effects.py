"""Which functions change something beyond their result, and which reach a backward pass."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from stethoscope.program.index import Function, Index
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.computed_names import called_by_computed_names

_DEFINITIONS = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef})
BACKWARD = frozenset({"backward", "manual_backward"})
LOSS_KEYWORDS = frozenset({"loss_func", "loss_fn", "criterion"})
# Calls that a trace is about, by names that little else has.
TELLING = BACKWARD | {
    *(
        "step",
        "zero_grad",
        "unscale_",
        "clip_grad_norm_",
        "clip_grad_value_",
        "clip_grads_with_norm_",
        "unscale_gradients",
        "clamp_",
        "train",
        "eval",
        "requires_grad_",
        "set_grad_enabled",
    ),
    *("Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "LBFGS", "Muon", "Lion", "DistributedDataParallel"),
    *("fully_shard", "FullyShardedDataParallel", "FSDP", "DDP"),
    *("all_reduce", "barrier", "broadcast", "set_epoch", "load_state_dict", "state_dict", "manual_seed"),
    *("all_gather", "gather", "gather_for_metrics", "reduce", "wait_for_everyone", "save", "load", "forward"),
    *("all_gather_object", "all_gather_into_tensor", "broadcast_object_list", "reduce_scatter", "scatter"),
    *("get_model_state_dict", "get_optimizer_state_dict", "get_state_dict", "no_grad", "inference_mode"),
}
EVALUATING = ("valid", "eval", "test")  # in the names of functions that measure
# The ends of names that networks are called by: `self.net_g(x)` is met where it happens.
NETWORKS = ("model", "net", "network", "net_g", "netg", "net_d", "netd", "generator", "encoder", "decoder")
CHANGING_METHODS = frozenset({"append", "extend", "update", "setdefault", "add", "insert", "setattr"})


@dataclass(frozen=True, slots=True, eq=False)
class Effects:
    """`changing` must be followed in order; `minimising` hold a backward pass of their own, and `training`
    may reach one.

    `telling` hold or reach a call that a trace is about: a step, a mode, a collective, a checkpoint.
    `callers` maps a bare name to the functions that call a function, class or object of that name, and
    `names_of` maps a class whose objects can be called to the names they are kept under. `handing` maps the
    name of a function to those that hand it to something else: `Engine(train_step)`.
    """

    changing: frozenset[Function]
    minimising: frozenset[Function]
    training: frozenset[Function]
    telling: frozenset[Function]
    callers: dict[str, list[Function]]
    names_of: dict[str, frozenset[str]]
    handing: dict[str, list[Function]]


_CHANGING = (ast.Global, ast.Nonlocal, ast.Attribute, ast.Subscript, ast.Call)


@lru_cache(maxsize=4)
def effects(index: Index) -> Effects:
    """Find the functions with effects; a call counts as every function of that name."""
    callers: dict[str, list[Function]] = {}
    handing: dict[str, list[Function]] = {}
    direct: list[Function] = []
    minimising: set[Function] = set()
    telling: list[Function] = []
    names_of = _names_of_callable_objects(index)
    classes = {cls.name for cls in index.classes}.union(*names_of.values())
    for function in index.functions:
        calls = own_nodes(function.node, ast.Call)
        names = set(_called_names(calls))
        for name in names:
            if name in classes or index.functions_named(name):
                callers.setdefault(name, []).append(function)
        bound = {one.id for one in own_nodes(function.node, ast.Name) if isinstance(one.ctx, ast.Store)}
        for name in {name for node in calls for name in handed_names(node)} - bound - {*function.parameters}:
            if index.functions_named(name):
                handing.setdefault(name, []).append(function)
        is_evaluation = any(word in function.name.lower() for word in EVALUATING) or any(
            name.endswith(("no_grad", "inference_mode")) for name in function.decorators
        )
        is_named = names & TELLING or any(name.lower().endswith(NETWORKS) for name in names)
        if is_evaluation or is_named or _calls_back(function, bound) or _clears_by_hand(function, names):
            telling.append(function)
        if _has_backward(calls):
            minimising.add(function)
        if function in minimising or _changes_something(function):
            direct.append(function)
    for name, dispatchers in called_by_computed_names(index).items():
        callers.setdefault(name, []).extend(dispatchers)
    return Effects(
        frozenset(_with_callers(direct, callers)),
        frozenset(minimising),
        frozenset(_with_callers(list(minimising), callers)),
        frozenset(_with_callers(telling, callers)),
        callers,
        names_of,
        handing,
    )


def _names_of_callable_objects(index: Index) -> dict[str, frozenset[str]]:
    """`self.update = Stepper(...)`: objects of Stepper are called as `update(...)`."""
    wanted = {cls.name for cls in index.classes if "__call__" in cls.methods}
    found: dict[str, set[str]] = {name: set() for name in wanted}
    for function in index.functions if wanted else ():
        for node in own_nodes(function.node, ast.Assign):
            if isinstance(node.value, ast.Call):
                made = "".join(_called_names([node.value]))
                for target in node.targets if made in wanted else ():
                    name = getattr(target, "attr", None) or getattr(target, "id", None)
                    found[made].update({name} if name else ())
    return {name: frozenset(names) for name, names in found.items()}


def _with_callers(direct: list[Function], callers: dict[str, list[Function]]) -> set[Function]:
    found = set(direct)
    waiting = list(direct)
    while waiting:
        function = waiting.pop()
        # Making an object runs its __init__, which changes nothing but the object.
        if function.name == "__init__":
            continue
        for caller in callers.get(function.name, ()):
            if caller not in found:
                found.add(caller)
                waiting.append(caller)
    return found


def _called_names(nodes: Sequence[ast.AST]) -> Iterator[str]:
    for inner in nodes:
        if isinstance(inner, ast.Call):
            if isinstance(inner.func, ast.Name):
                yield inner.func.id
            elif isinstance(inner.func, ast.Attribute):
                yield inner.func.attr


def handed_names(node: ast.AST) -> Iterator[str]:
    """What a call is given by a bare name, which may be a function: `Engine(train_step)`."""
    if isinstance(node, ast.Call):
        for arg in (*node.args, *(keyword.value for keyword in node.keywords)):
            match arg:
                case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self"), attr=name):
                    yield name


def _calls_back(function: Function, bound: set[str]) -> bool:
    """Whether something is called that has no name here, for its effect or for what it makes:
    `getattr(hook, name)(self)`, `for callback in self.callbacks: callback(state)` or
    `return MODELS[kind](**options)`. What it does, or makes, shows only when it is followed.
    """
    dropped = _called_in(one.value for one in own_nodes(function.node, ast.Expr))
    given_back = _called_in(one.value for one in own_nodes(function.node, ast.Return))
    if any(isinstance(func, ast.Subscript | ast.Call) for func in (*dropped, *given_back)):
        return True
    called = {func.id for func in dropped if isinstance(func, ast.Name)}
    return bool(called & (bound | set(function.parameters)))


def _called_in(values: Iterable[ast.expr | None]) -> list[ast.expr]:
    """What is called where a value is a call."""
    return [value.func for value in values if isinstance(value, ast.Call)]


def _clears_by_hand(function: Function, called: set[str]) -> bool:
    """`p.grad.zero_()`, `p.grad = None`."""
    return any(
        node.attr == "grad" and (node.ctx.__class__ is ast.Store or "zero_" in called)
        for node in own_nodes(function.node, ast.Attribute)
    )


def _has_backward(calls: Sequence[ast.Call]) -> bool:
    return any(hands_over_loss(call) for call in calls) or any(
        isinstance(inner.func, ast.Attribute)
        and inner.func.attr in BACKWARD
        and not (isinstance(inner.func.value, ast.Call) and _is_super(inner.func.value))
        for inner in calls
    )


def hands_over_loss(node: ast.AST) -> bool:
    """`Learner(..., loss_func=f)`: a trainer from outside minimises what it is given."""
    if not isinstance(node, ast.Call) or not any(word.arg in LOSS_KEYWORDS for word in node.keywords):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return any(word in name.lower() for word in ("learner", "trainer", "runner", "estimator"))


def _is_super(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "super"


def _changes_something(function: Function) -> bool:
    if function.name == "__init__":
        return False
    parameters = set(function.parameters)
    parameters |= set(_elements(function, parameters))
    for node in own_nodes(function.node, *_CHANGING):
        if isinstance(node, ast.Global | ast.Nonlocal):
            return True
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            if isinstance(node, ast.Attribute) or _is_shared(node.value, parameters):
                return True
        elif isinstance(node, ast.Call) and _is_changing_call(node.func, parameters):
            return True
    return False


def _elements(function: Function, parameters: set[str]) -> Iterator[str]:
    """What loops call the elements of what a parameter holds: `for group in optimizer.param_groups`."""
    for loop in own_nodes(function.node, ast.For):
        over = loop.iter
        if (
            isinstance(over, ast.Attribute)
            and isinstance(over.value, ast.Name)
            and over.value.id in parameters
        ):
            yield from (one.id for one in all_nodes(loop.target, ast.Name))


def _is_changing_call(func: ast.expr, parameters: set[str]) -> bool:
    return (
        isinstance(func, ast.Attribute)
        and func.attr in CHANGING_METHODS
        and _is_shared(func.value, parameters)
    )


def _is_shared(base: ast.expr, parameters: set[str]) -> bool:
    """Whether a container, or the one it is kept in, came from outside the function."""
    while isinstance(base, ast.Subscript):
        base = base.value
    return isinstance(base, ast.Attribute) or (isinstance(base, ast.Name) and base.id in parameters)
