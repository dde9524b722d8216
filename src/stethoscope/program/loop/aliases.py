"""One thing under two names where two were meant: weights that are kept and not copied, layers that are one.

Read off the statements of each function and class.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Class, External, Index, Module, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.syntax import FunctionNode, all_nodes, bodies, own_below, own_loops, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.run import Source

# fmt: off
LEARNING = frozenset({
    "Linear", "LazyLinear", "Bilinear", "Embedding", "LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "RNNCell",
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LayerNorm",
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "MultiheadAttention",
    "TransformerEncoderLayer", "TransformerDecoderLayer", "PReLU",
})
SHARED = frozenset({
    "shared", "share", "tied", "tie", "recurrent", "universal", "weight_sharing", "siamese", "same", "albert",
})
# fmt: on


@dataclass(frozen=True, slots=True, eq=False)
class Alias:
    """Where a second name is given to what should have been copied, and where the two are taken for two."""

    source: Source
    made: ast.AST
    used: ast.AST
    name: str
    elsewhere: Source | None = None

    @property
    def used_in(self) -> Source:
        """The file in which the two are taken for two."""
        return self.elsewhere or self.source


# --- weights that are kept for later


def uncopied_weights(index: Index) -> Iterator[Alias]:
    """States of a network that are kept while it trains, without a copy, and taken up after the training."""
    for module in index.modules.values():
        if is_test(module.source):
            continue
        for body in bodies(module.source.tree):
            yield from _kept_in_function(module.source, body)
    loads = _loads_of_attributes(index)
    for cls in index.classes:
        if not is_test(cls.source):
            yield from _kept_by_object(cls, loads)


def _kept_in_function(source: Source, body: Sequence[ast.stmt]) -> Iterator[Alias]:
    seen: set[ast.AST] = set()
    for place, statement in enumerate(body):
        if isinstance(statement, FunctionNode | ast.ClassDef):
            continue  # its body is one of its own
        for loop in own_loops(statement):
            inside = [one for inner in loop.body for one in own_below(inner)]
            for node, name in ((one, name) for one in inside for name in _kept_states(one)):
                if node in seen or "self." in name or not _trains_on(loop):
                    continue
                after = sorted(
                    (one for later in body[place + 1 :] for one in own_below(later)),
                    key=lambda one: getattr(one, "lineno", 0),
                )
                used = next((one for one in after if _takes_up(one, name)), None)
                before = after[: after.index(used)] if used is not None else after
                given = (one for one in before if _is_given(one, name))
                used = next((one for one in given if _leads_to(body[place + 1 :], one, used)), used)
                if used is None and _is_chosen(node, loop):
                    used = next((one for one in after if _writes_down(one, name)), None)
                elif used is not None and not _takes_up(used, name):
                    used = None
                used = used or _taken_back(node, name, loop, inside)
                if used is not None:
                    seen.add(node)
                    yield Alias(source, node, used, name)


def _leads_to(block: Sequence[ast.stmt], given: ast.AST, used: ast.AST | None) -> bool:
    """Whether something is surely reached only behind a statement: it stands later in the same block."""
    if any(one is given for one in block):
        return True
    for statement in block:
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(statement, name, None)
            if isinstance(inner, list) and used is not None and _holds(inner, given) and _holds(inner, used):
                return _leads_to(inner, given, used)
    return False


def _holds(block: Sequence[ast.AST], wanted: ast.AST) -> bool:
    return any(node is wanted for one in block for node in all_nodes(one))


def _is_given(node: ast.AST, name: str) -> bool:
    """`state = torch.load(path)`: what is behind it is no longer what was kept."""
    holder = name.partition("[")[0]
    if not isinstance(node, ast.Assign) or holder in _texts_in(node.value):
        return False
    return any(ast.unparse(one) in {name, holder} for one in node.targets)


def _taken_back(kept: ast.AST, name: str, loop: ast.AST, inside: Sequence[ast.AST]) -> ast.AST | None:
    """Where a loop itself gives a network back what it kept of it, with steps in between."""
    holder = _holder_of(kept)
    for used in inside:
        if not _gives_back(used, name, holder):
            continue
        first, last = sorted((getattr(kept, "lineno", 0), getattr(used, "lineno", 0)))
        between = (
            one
            for one in inside
            if isinstance(one, ast.stmt) and first < one.lineno < last and _trains_on(one)
        )
        is_filled = any(_is_item_of(one, name) for one in inside)
        if not is_filled and (getattr(used, "lineno", 0) < getattr(kept, "lineno", 0) or any(between)):
            return used
    return None


def _gives_back(node: ast.AST, name: str, holder: str) -> bool:
    """`net.load_state_dict(before)`, and a mixture of it: `{n: before[n] + ... for n in before}`."""
    match node:
        case ast.Call(func=ast.Attribute(value=into, attr="load_state_dict"), args=[given, *_]):
            is_mixed = isinstance(given, ast.DictComp | ast.Dict) and name in _texts_in(given)
            return ast.unparse(into) == holder and (is_mixed or ast.unparse(given) == name)
    return False


def _texts_in(node: ast.AST) -> set[str]:
    return {ast.unparse(one) for one in all_nodes(node) if isinstance(one, ast.Name | ast.Attribute)}


def _holder_of(kept: ast.AST) -> str:
    """The network whose state an assignment keeps."""
    for node in all_nodes(kept):
        match node:
            case ast.Call(func=ast.Attribute(value=holder, attr="state_dict")):
                return ast.unparse(holder)
    return ""


def _is_item_of(node: ast.AST, name: str) -> bool:
    """Whether a node writes an item of a table: what is loaded then are other tensors."""
    match node:
        case ast.Subscript(value=table, ctx=ast.Store()):
            return ast.unparse(table) == name
    return False


def _loads_of_attributes(index: Index) -> dict[str, list[tuple[Source, ast.Call]]]:
    """Where states are loaded that an object keeps: `model.load_state_dict(stopper.best)`, by attribute."""
    found: dict[str, list[tuple[Source, ast.Call]]] = {}
    for module in index.modules.values():
        if "load_state_dict" not in module.source.text or is_test(module.source):
            continue
        for call in all_nodes(module.source.tree, ast.Call):
            match call:
                case ast.Call(
                    func=ast.Attribute(attr="load_state_dict"), args=[ast.Attribute() as given, *_]
                ):
                    if not (isinstance(given.value, ast.Name) and given.value.id == "self"):
                        found.setdefault(given.attr, []).append((module.source, call))
    return found


def _kept_by_object(cls: Class, loads: dict[str, list[tuple[Source, ast.Call]]]) -> Iterator[Alias]:
    kept: dict[str, ast.AST] = {}
    copied: set[str] = set()
    for method in cls.methods.values():
        for node in own_nodes(method.node):
            names = [name for name in _kept_states(node) if name.startswith("self.")]
            for name in names:
                kept.setdefault(name, node)
            if (
                not names
                and isinstance(node, ast.Assign)
                and method.name not in {"__init__", "__post_init__"}
            ):
                copied |= {ast.unparse(one) for one in node.targets if not _is_none(node.value)}
    if not kept.keys() - copied or _TRAINING_TEXT.search(cls.source.text) is None:
        return
    for name, made in kept.items():
        if name in copied:
            continue
        for method in cls.methods.values():
            used = next((one for one in own_nodes(method.node) if _takes_up(one, name)), None)
            if used is not None:
                yield Alias(cls.source, made, used, name)
                break
        else:
            for source, call in loads.get(name.removeprefix("self."), ())[:1]:
                yield Alias(cls.source, made, call, name, source)


_TRAINING_TEXT = re.compile(r"\.step\(|\.backward\(|epoch|patience|stopp", re.IGNORECASE)
TRAINING = frozenset({"train", "fit", "training", "learn", "adapt", "finetune"})
BEST = frozenset({"best", "snapshot", "backup", "saved", "kept"})


def uncopied_networks(index: Index) -> Iterator[Alias]:
    """`if score > best: best_model = model` in a loop that trains `model` on, with a use behind it."""
    for module in index.modules.values():
        if is_test(module.source):
            continue
        for body in bodies(module.source.tree):
            for place, statement in enumerate(body):
                if isinstance(statement, ast.For | ast.While) and _trains_on(statement):
                    yield from _kept_networks(module.source, statement, body[place + 1 :])


def _kept_networks(source: Source, loop: ast.For | ast.While, later: Sequence[ast.stmt]) -> Iterator[Alias]:
    inside = [one for part in loop.body for one in own_below(part)]
    bound = {one.id for one in inside if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    bound |= {one.id for one in all_nodes(getattr(loop, "target", loop.body[0])) if isinstance(one, ast.Name)}
    switched = {_switched(one) for one in inside}
    for node in inside:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if BEST & set(words(name)):
                held = _shallow(value)
                if not held or held in bound or held not in switched:
                    continue
                after = (one for part in later for one in own_below(part))
                used = next((one for one in after if isinstance(one, ast.Name) and one.id == name), None)
                if used is not None:
                    yield Alias(source, node, used, name)


def _shallow(value: ast.expr) -> str:
    """The name of a network that is given on as it is, or copied without its weights."""
    match value:
        case ast.Name(id=name):
            return name
        case ast.Call(func=ast.Attribute(value=ast.Name(id="copy"), attr="copy"), args=[ast.Name(id=name)]):
            return name
    return ""


def _switched(node: ast.AST) -> str:
    """The network that a call puts into a mode, or whose parameters it asks for."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=name), attr="train" | "eval" | "parameters" | "state_dict")
        ):
            return name
    return ""


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _kept_states(node: ast.AST) -> Iterator[str]:
    """The names under which an assignment keeps a network's own state: `best`, `best["model"]`, `best[1]`."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            pairs = zip(names, values, strict=False)
            yield from (ast.unparse(name) for name, value in pairs if _is_live_state(value))
        case (
            ast.Assign(targets=[target], value=value)
            | ast.AnnAssign(target=target, value=ast.expr() as value)
        ) if isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
            named = ast.unparse(target)
            if _is_live_state(value):
                yield named
            elif isinstance(value, ast.Dict):
                entries = zip(value.keys, value.values, strict=True)
                yield from (
                    f"{named}[{ast.unparse(key)}]" for key, one in entries if key and _is_live_state(one)
                )
            elif isinstance(value, ast.Call) and bare_name(value) == "dict":
                given = ((word.arg, word.value) for word in value.keywords)
                yield from (f"{named}[{key!r}]" for key, one in given if _is_live_state(one))
            elif isinstance(value, ast.Tuple | ast.List):
                yield from (f"{named}[{at}]" for at, one in enumerate(value.elts) if _is_live_state(one))


def _is_live_state(value: ast.expr) -> bool:
    """`model.state_dict()`, and a copy of the table that leaves the tensors what they are."""
    match value:
        case ast.Call(func=ast.Attribute(value=holder, attr="state_dict"), args=[], keywords=[]):
            named = set(words((dotted(holder) or "").rpartition(".")[2]))
            return not named & {"optimizer", "optim", "opt", "scheduler", "sched", "scaler", "ema"}
        case ast.Call(func=ast.Attribute(value=inner, attr="copy"), args=[]):
            return _is_live_state(inner)
        case ast.Call(
            func=ast.Name(id="dict" | "OrderedDict" | "copy")
            | ast.Attribute(value=ast.Name(id="copy" | "collections"), attr="copy" | "OrderedDict"),
            args=[inner],
        ):
            return _is_live_state(inner)
        case ast.Dict(keys=[None], values=[inner]) | ast.ListComp(elt=inner):
            return _is_live_state(inner)
        case ast.DictComp(
            value=held,
            generators=[
                ast.comprehension(
                    target=ast.Tuple(elts=[_, ast.Name(id=name)]),
                    iter=ast.Call(func=ast.Attribute(value=inner, attr="items"), args=[]),
                )
            ],
        ):
            return _is_live_state(inner) and _is_live(held) and name in {n.id for n in _names_in(held)}
    return False


def _names_in(node: ast.AST) -> Iterator[ast.Name]:
    return (one for one in all_nodes(node, ast.Name))


def _takes_up(node: ast.AST, name: str) -> bool:
    """`model.load_state_dict(best)`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="load_state_dict"), args=[given, *_]):
            return ast.unparse(given) == name
    return False


def _writes_down(node: ast.AST, name: str) -> bool:
    """`torch.save(best, path)`, and `torch.save({"model": best}, path)`."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="save"), args=[given, *_]):
            kept = [given, *(given.values if isinstance(given, ast.Dict) else ())]
            return any(ast.unparse(one) == name for one in kept)
    return False


def _is_chosen(kept: ast.AST, loop: ast.AST) -> bool:
    """Whether a state is kept in some rounds of a loop only: the last one is kept in all."""
    chosen = (one for one in all_nodes(loop, ast.If) if isinstance(one.test, ast.Compare))
    ordering = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
    return any(
        any(isinstance(op, ordering) for op in one.test.ops) and any(each is kept for each in all_nodes(one))
        for one in chosen
        if isinstance(one.test, ast.Compare)
    )


def _trains_on(loop: ast.AST) -> bool:
    """Whether a loop goes on changing the weights: it steps an optimizer or calls what trains."""
    for call in (node for node in all_nodes(loop, ast.Call)):
        named = set(words(bare_name(call)))
        if bare_name(call) in {"backward", "step"} or named & TRAINING:
            return True
    return False


# --- networks that were to be copies


def networks_onto_themselves(index: Index) -> Iterator[Alias]:
    """`target = net`, and `target.load_state_dict(net.state_dict())` or a mixing of the two behind it."""
    for module in index.modules.values():
        if is_test(module.source):
            continue
        for body in bodies(module.source.tree):
            own = (part for part in body if not isinstance(part, FunctionNode | ast.ClassDef))
            yield from _onto_itself(module.source, [[one for part in own for one in own_below(part)]])
    for cls in index.classes:
        if not is_test(cls.source):
            methods = cls.methods.values()
            yield from _onto_itself(cls.source, [[*own_nodes(each.node)] for each in methods])


def _onto_itself(source: Source, parts: Sequence[Sequence[ast.AST]]) -> Iterator[Alias]:
    """The same in the methods of a class, each with variables of its own, or in one body alone."""
    given: dict[str, list[tuple[int, ast.Assign]]] = {}
    for place, nodes in enumerate(parts):
        for node in nodes:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and dotted(node.targets[0]):
                given.setdefault(ast.unparse(node.targets[0]), []).append((place, node))
    for here, nodes in enumerate(parts):
        for used in nodes:
            for one, other in _taken_for_two(used):
                made = [(place, node) for place, node in given.get(one, []) if "." in one or place == here]
                is_other = len(made) == 1 and ast.unparse(made[0][1].value) == other
                is_seen_here = is_other and ("." in other or made[0][0] == here)
                if is_seen_here and len(given.get(other, [])) < 2:
                    yield Alias(source, made[0][1], used, one)


def _taken_for_two(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The two names between which a statement carries weights, as they may have been given to one network."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=to, attr="load_state_dict"),
            args=[ast.Call(func=ast.Attribute(value=from_, attr="state_dict"), args=[]), *_],
        ):
            yield ast.unparse(to), ast.unparse(from_)
        case ast.For(iter=ast.Call(func=ast.Name(id="zip"), args=[first, second, *_])):
            owners = [_weights_of(one) for one in (first, second)]
            if all(owners):
                yield owners[0], owners[1]
                yield owners[1], owners[0]


def _weights_of(node: ast.expr) -> str:
    """`net` in `net.parameters()`."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr="parameters" | "state_dict" | "named_parameters")):
            return ast.unparse(owner)
        case ast.Call(func=ast.Attribute(value=ast.Call() as inner, attr="values" | "items")):
            return _weights_of(inner)
    return ""


# --- layers that are one


def repeated_layers(index: Index) -> Iterator[Alias]:
    """`[layer] * n` and `[layer for _ in range(n)]` of layers that learn, in networks."""
    for cls in index.classes:
        if is_test(cls.source) or not _is_module(index, cls) or _is_meant(cls.name):
            continue
        home = index.module_of(cls.source)
        for method in cls.methods.values():
            for node in own_nodes(method.node):
                one = _repeated(index, home, method.node, node)
                if one is not None and not _is_meant(_target_of(method.node, node)):
                    yield Alias(cls.source, node, one, ast.unparse(one))


def _is_module(index: Index, cls: Class) -> bool:
    bases = {base.rpartition(".")[2] for base in index.outside_bases(cls)}
    return bool(bases & {"Module", "LightningModule", "PreTrainedModel"})


def _is_meant(name: str) -> bool:
    return bool(SHARED & set(words(name)))


def _target_of(function: FunctionNode, node: ast.AST) -> str:
    for statement in own_nodes(function):
        if isinstance(statement, ast.Assign) and any(one is node for one in all_nodes(statement.value)):
            return ast.unparse(statement.targets[0])
    return ""


def _repeated(index: Index, home: Module, function: FunctionNode, node: ast.AST) -> ast.expr | None:
    """The one layer that a list holds several times."""
    match node:
        case (
            ast.BinOp(op=ast.Mult(), left=ast.List(elts=[only]), right=times)
            | ast.BinOp(op=ast.Mult(), left=times, right=ast.List(elts=[only]))
        ):
            several = not (isinstance(times, ast.Constant) and times.value == 1)
            return only if several and _learns(index, home, function, only) else None
        case ast.ListComp(
            elt=ast.Name() as only, generators=[ast.comprehension(iter=over, target=target, ifs=[])]
        ):
            is_count = isinstance(over, ast.Call) and bare_name(over) == "range"
            names = {one.id for one in all_nodes(target, ast.Name)}
            if is_count and only.id not in names and _learns(index, home, function, only):
                return only
    return None


def _learns(index: Index, home: Module, function: FunctionNode, node: ast.expr) -> bool:
    """Whether an expression makes a layer with parameters, or is the name of one that was made here."""
    if isinstance(node, ast.Name):
        made = [
            one.value
            for one in own_nodes(function, ast.Assign)
            if any(isinstance(t, ast.Name) and t.id == node.id for t in one.targets)
        ]
        return len(made) == 1 and isinstance(made[0], ast.Call) and _learns(index, home, function, made[0])
    if not isinstance(node, ast.Call):
        return False
    target = index.resolve(home, dotted(node.func) or "")
    if isinstance(target, External):
        return target.name.startswith("torch.nn.") and target.name.rpartition(".")[2] in LEARNING
    return isinstance(target, Class) and _is_module(index, target) and _has_layers(target)


def _has_layers(cls: Class) -> bool:
    init = cls.methods.get("__init__")
    calls = (node for node in own_nodes(init.node, ast.Call)) if init is not None else ()
    return any(bare_name(call) in LEARNING | {"Parameter"} for call in calls)


# --- averages that are the network itself


def live_averages(index: Index) -> Iterator[Alias]:
    """Averages that take the network's own tensors for their own and mix new weights into them in place."""
    for cls in index.classes:
        if is_test(cls.source):
            continue
        # An optimizer keeps the parameters themselves; nobody but an average mixes into a state.
        tables = _live_tables(cls) if _is_average(cls) else ()
        for name, made in (*tables, *_live_states(cls)):
            mixed = next((node for node in _mixings(cls, name)), None)
            if mixed is not None:
                yield Alias(cls.source, made, mixed, name)


def _is_average(cls: Class) -> bool:
    named = set(words(cls.name))
    return bool(named & {"ema", "swa", "polyak"}) or {"moving", "average"} <= named


def _live_tables(cls: Class) -> Iterator[tuple[str, ast.AST]]:
    """`self.shadow = {name: p.data for name, p in ...}`, and `self.model = model`."""
    for method in cls.methods.values():
        for node in own_nodes(method.node):
            match node:
                case ast.Assign(
                    targets=[ast.Attribute(value=ast.Name(id="self")) as target],
                    value=ast.DictComp(value=value) | ast.ListComp(elt=value),
                ) if _is_live(value):
                    yield ast.unparse(target), node


def _live_states(cls: Class) -> Iterator[tuple[str, ast.AST]]:
    """`self.shadow = model.state_dict()`, and the same in another table: the tensors stay the network's."""
    for method in cls.methods.values():
        for node in own_nodes(method.node, ast.Assign):
            target = node.targets[0]
            if (
                isinstance(target, ast.Attribute)
                and dotted(target.value) == "self"
                and _is_live_state(node.value)
            ):
                yield ast.unparse(target), node


def _is_live(value: ast.expr) -> bool:
    """`p`, `p.data`, `p.detach()`: the same memory."""
    match value:
        case ast.Name():
            return True
        case ast.Attribute(value=ast.Name(), attr="data"):
            return True
        case ast.Call(func=ast.Attribute(value=inner, attr="detach"), args=[]):
            return _is_live(inner)
    return False


def _mixings(cls: Class, name: str) -> Iterator[ast.AST]:
    """Where the tensors of a table are changed in place: `self.shadow[n].mul_(decay)`."""
    for method in cls.methods.values():
        items = _items_of(method.node, name)
        for node in own_nodes(method.node):
            match node:
                case ast.Call(func=ast.Attribute(value=inner, attr="mul_" | "lerp_" | "add_" | "sub_")):
                    roots = {ast.unparse(one) for one in all_nodes(inner)}
                    if name in roots or roots & items:
                        yield node


def _items_of(function: FunctionNode, name: str) -> set[str]:
    """The names under which a loop hands out what a table holds: `for s, p in zip(self.shadow, ...)`."""
    found: set[str] = set()
    for node in own_nodes(function):
        match node:
            case ast.For(target=ast.Tuple(elts=targets), iter=ast.Call(func=ast.Name(id="zip"), args=over)):
                pairs = zip(targets, over, strict=False)
                found |= {ast.unparse(one) for one, each in pairs if name in ast.unparse(each)}
            case ast.For(target=ast.Tuple(elts=[_, value]), iter=over) if name in ast.unparse(over):
                found.add(ast.unparse(value))
    return found
