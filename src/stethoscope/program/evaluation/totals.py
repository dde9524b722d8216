"""Sums and averages over batches that are not what they are called: never begun anew, or divided by the wrong
count.

Read off the statements of each function and class, whatever the training around them looks like.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.evaluation.counted_units import is_reduced_by_mean
from stethoscope.program.index import Class, External, Index, Module, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.roles import LOADER_WORDS
from stethoscope.program.syntax import FunctionNode, all_nodes, bodies, own_below, own_loops, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.trace import hook_methods
from stethoscope.run import Source

# fmt: off
EPOCHS = frozenset({"epoch", "epochs", "ep"})
DATASETS = frozenset({"dataset", "datasets", "data", "set", "ds", "samples", "trainset", "valset", "testset"})
WINDOWS = frozenset({"window", "window_size", "maxlen", "windows"})
FED = frozenset({"update", "add", "append_value"})
# What gives a meter back: `Accuracy(task="binary").to(device)`.
MOVED = frozenset({"to", "cuda", "cpu", "double", "float"})
READ = frozenset({"avg", "average", "mean", "value", "compute", "global_avg"})
# fmt: on


@dataclass(frozen=True, slots=True, eq=False)
class WrongTotal:
    """A sum that is read as an average: where it grows, where it is read, and what is wrong with it."""

    source: Source
    name: str
    grows: ast.AST
    read: ast.AST
    why: str


def wrong_totals(index: Index) -> Iterator[WrongTotal]:
    """Every sum of the repository that is read as something else than it is."""
    for module in index.modules.values():
        if is_test(module.source):
            continue
        for body in bodies(module.source.tree):
            yield from _never_begun_anew(index, module, body)
            yield from _begun_with_every_batch(module.source, body)
            yield from _left_after_one(module.source, body)
            own = [one for one in body if not isinstance(one, FunctionNode | ast.ClassDef)]
            yield from _wrongly_divided(index, module, own)
            yield from _divided_by_another(module, body)
    for cls in index.classes:
        if not is_test(cls.source):
            yield from _kept_by_object(cls)
            yield from _meters_of_object(index, cls)
            yield from _metrics_of_hooks(index, cls)


# --- of one batch


def _begun_with_every_batch(source: Source, body: Sequence[ast.stmt]) -> Iterator[WrongTotal]:
    """Sums that one loop sets to zero, adds to and never reads, and that are read behind it."""
    for loop in _loops(body):
        inner = {id(node) for other in _loops(loop.body) for node in all_nodes(other)}
        own = [node for one in loop.body for node in own_below(one) if id(node) not in inner]
        for grown in own:
            match grown:
                case ast.AugAssign(op=ast.Add(), target=ast.Name(id=name), value=value) if _is_begun(
                    loop.body, name
                ) and _is_measured(value):
                    read = _read_behind(body, loop, name)
                    if read is not None:
                        why = "is set back to zero with every batch: what is read is that of the last one"
                        yield WrongTotal(source, name, grown, read, why)


def _left_after_one(source: Source, body: Sequence[ast.stmt]) -> Iterator[WrongTotal]:
    """Sums over a loop that is always left behind its first round: what was put in to try the code out."""
    for loop in _loops(body):
        if not (isinstance(loop, ast.For) and isinstance(loop.body[-1], ast.Break)):
            continue
        for grown in loop.body:
            match grown:
                case ast.AugAssign(op=ast.Add(), target=ast.Name(id=name), value=value) if _is_measured(
                    value
                ):
                    read = _read_behind(body, loop, name)
                    if read is not None:
                        why = "is added up in a loop that is left behind its first batch"
                        yield WrongTotal(source, name, grown, read, why)


def _read_behind(body: Sequence[ast.stmt], loop: ast.For | ast.While, name: str) -> ast.AST | None:
    """Where a name is read behind a loop that does not read it itself."""
    end = loop.end_lineno or loop.lineno
    reads = [
        node
        for one in body
        for node in own_below(one, ast.Name)
        if node.id == name and isinstance(node.ctx, ast.Load)
    ]
    if any(loop.lineno <= node.lineno <= end for node in reads):
        return None
    return min((node for node in reads if node.lineno > end), key=lambda node: node.lineno, default=None)


# --- never begun anew


def _never_begun_anew(index: Index, module: Module, body: Sequence[ast.stmt]) -> Iterator[WrongTotal]:
    """Sums and meters that a loop over epochs fills in its inner loop, reads, and never sets back."""
    for epochs in _loops(body):
        if not _is_over_epochs(epochs):
            continue
        inner = [*_loops(epochs.body)]
        set_back = {text for one in epochs.body for text in _assigned(one)}
        for loop in inner:
            for grown in (one for node in loop.body for one in own_below(node, ast.AugAssign)):
                yield from _growing(module.source, body, epochs, loop, grown, set_back)
        yield from _meters(index, module, body, epochs, inner, set_back)


def _growing(
    source: Source,
    body: Sequence[ast.stmt],
    epochs: ast.For | ast.While,
    loop: ast.For | ast.While,
    grown: ast.AugAssign,
    set_back: set[str],
) -> Iterator[WrongTotal]:
    name = ast.unparse(grown.target)
    is_sum = isinstance(grown.op, ast.Add) and isinstance(grown.target, ast.Name)
    if not is_sum or name in set_back or not _is_begun(body, name) or not _is_measured(grown.value):
        return
    inside = set(map(id, all_nodes(loop)))
    for node in (one for statement in epochs.body for one in own_below(statement)):
        match node:
            case ast.BinOp(op=ast.Div(), left=ast.Name(id=read), right=divisor) if read == name:
                if id(node) not in inside and _is_of_one_round(divisor, epochs, loop):
                    why = f"is never set back to zero, and divided by {ast.unparse(divisor)} of one epoch"
                    yield WrongTotal(source, name, grown, node, why)
                    return


def _is_measured(value: ast.expr) -> bool:
    """Whether what is added is read off tensors: a loss, a number of hits."""
    calls = all_nodes(value, ast.Call)
    named = {word for node in all_nodes(value, ast.Name) for word in words(node.id)}
    is_loss = bool(named & {"loss", "losses", "acc", "accuracy", "correct", "psnr", "error"})
    return is_loss or any(bare_name(call) in {"item", "float"} for call in calls)


def _is_of_one_round(divisor: ast.expr, epochs: ast.For | ast.While, loop: ast.For | ast.While) -> bool:
    """`len(loader)`, or a count that is begun in the epoch; a count of everything makes a long mean."""
    match divisor:
        case ast.Call(func=ast.Name(id="len"), args=[only]):
            return _is_loader(only) or _is_dataset(only) or _is_gone_through(loop, only)
        case ast.Name(id=name):
            counted = {text for one in epochs.body for text in _assigned(one)}
            return name in counted or bool(_round_words(name))
        case ast.Attribute():
            return bool(_round_words(divisor.attr))
    return False


def _round_words(name: str) -> bool:
    spoken = set(words(name))
    return (
        bool(spoken & {"batches", "steps"})
        and bool(spoken & {"num", "n", "per", "count"})
        and not spoken & {"total", "global"}
    )


def _is_gone_through(loop: ast.For | ast.While, counted: ast.expr) -> bool:
    """Whether a loop runs over what is counted: then that is the number of its rounds."""
    over = loop.iter if isinstance(loop, ast.For) else loop.test
    return any(
        ast.unparse(node) == ast.unparse(counted) for node in all_nodes(over) if isinstance(node, ast.expr)
    )


def _is_begun(body: Sequence[ast.stmt], name: str) -> bool:
    """Whether a sum begins at zero in these statements, before its loops."""
    for statement in body:
        match statement:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    if _zero_for(target, value, name):
                        return True
            case ast.AnnAssign(target=ast.Name(id=target_name), value=ast.Constant(value=0 | 0.0)):
                if target_name == name:
                    return True
    return False


def _zero_for(target: ast.expr, value: ast.expr, name: str) -> bool:
    match target, value:
        case ast.Name(id=found), ast.Constant(value=0 | 0.0):
            return found == name
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            return any(_zero_for(one, other, name) for one, other in zip(targets, values, strict=True))
    return False


def _assigned(statement: ast.AST) -> Iterator[str]:
    """What plain assignments, deletions and loops below a statement set."""
    for node in own_below(statement, ast.Assign, ast.AnnAssign, ast.For):
        match node:
            case ast.Assign(targets=targets):
                yield from (ast.unparse(one) for target in targets for one in _leaves(target))
            case ast.AnnAssign(target=target) | ast.For(target=target):
                yield from (ast.unparse(one) for one in _leaves(target))


def _leaves(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        for one in target.elts:
            yield from _leaves(one)
    else:
        yield target


def _loops(body: Sequence[ast.stmt]) -> Iterator[ast.For | ast.While]:
    for statement in body:
        yield from own_loops(statement)


def _is_over_epochs(loop: ast.For | ast.While) -> bool:
    header = [loop.target, loop.iter] if isinstance(loop, ast.For) else [loop.test]
    named = {word for one in header for node in all_nodes(one) for word in _spoken(node)}
    return bool(named & EPOCHS)


def _spoken(node: ast.AST) -> Iterator[str]:
    name = getattr(node, "id", None) or getattr(node, "attr", None)
    yield from words(str(name)) if name else ()


def _meters(
    index: Index,
    module: Module,
    body: Sequence[ast.stmt],
    epochs: ast.For | ast.While,
    inner: list[ast.For | ast.While],
    set_back: set[str],
) -> Iterator[WrongTotal]:
    """Meters that are made before the epochs, fed in their batches, read after each and never reset."""
    for statement in body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            continue
        name = statement.targets[0].id
        if name in set_back or not _is_meter(index, module, statement.value):
            continue
        below = [node for one in epochs.body for node in own_below(one)]
        used = [node for node in below if isinstance(node, ast.Attribute) and _is_name(node.value, name)]
        fed = {id(node) for loop in inner for node in all_nodes(loop)}
        read = [node for node in used if node.attr in READ and id(node) not in fed]
        if read and any(node.attr in FED for node in used) and not any(node.attr == "reset" for node in used):
            yield WrongTotal(
                module.source, name, statement, read[0], "is made once and never reset between epochs"
            )


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_meter(index: Index, module: Module, made: ast.expr) -> bool:
    """Whether a call makes a meter: of torchmetrics, or of a class that has `reset` and averages."""
    while isinstance(made, ast.Call) and bare_name(made) in MOVED and isinstance(made.func, ast.Attribute):
        made = made.func.value
    if not isinstance(made, ast.Call):
        return False
    if any(word.arg in WINDOWS for word in made.keywords):
        return False  # it forgets by itself
    target = index.resolve(module, dotted(made.func) or "")
    if isinstance(target, External):
        return target.name.startswith("torchmetrics.")
    if not isinstance(target, Class):
        return False
    return (
        "reset" in target.methods
        and not FED.isdisjoint(target.methods)
        and any(
            isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
            for method in target.methods.values()
            for node in own_nodes(method.node)
        )
    )


# --- kept by an object


def _kept_by_object(cls: Class) -> Iterator[WrongTotal]:
    """Sums that a method adds to each batch, another reads with each epoch, and none sets back."""
    grown: dict[str, ast.AugAssign] = {}
    set_in: dict[str, set[str]] = {}
    for name, method in cls.methods.items():
        for node in own_nodes(method.node):
            if _is_setup(name) or not isinstance(node, ast.AugAssign) or not isinstance(node.op, ast.Add):
                continue
            if _is_own(node.target) and _is_measured(node.value):
                grown.setdefault(ast.unparse(node.target), node)
        for text in (one for statement in method.node.body for one in _assigned(statement)):
            set_in.setdefault(text, set()).add(name)
    for text, node in grown.items():
        if any(not _is_setup(name) for name in set_in.get(text, set())):
            continue
        for name, method in cls.methods.items():
            read = next((one for one in own_nodes(method.node) if _divides(one, text)), None)
            if read is not None and _ends_a_round(name, method.node) and text in set_in:
                why = "is only set to zero when the object is made, and divided by the batches of one epoch"
                yield WrongTotal(cls.source, text, node, read, why)
                break


def _meters_of_object(index: Index, cls: Class) -> Iterator[WrongTotal]:
    """Meters that an object makes once, feeds and reads in its loop over epochs, and that nothing resets."""
    methods = [method.node for name, method in cls.methods.items() if not _is_setup(name)]
    if not any(_is_over_epochs(loop) for method in methods for loop in _loops(method.body)):
        return
    used = [node for method in methods for node in own_nodes(method, ast.Attribute)]
    set_again = {text for method in methods for statement in method.body for text in _assigned(statement)}
    for made in _made_in_setup(cls):
        own = ast.unparse(made.targets[0])
        words_used = {node.attr for node in used if ast.unparse(node.value) == own}
        read = next((node for node in used if node.attr in READ and ast.unparse(node.value) == own), None)
        if read is None or not words_used & FED or own in set_again:
            continue
        is_meter = _is_meter(index, index.module_of(cls.source), made.value)
        if is_meter and not _is_reset_anywhere(index, own.rpartition(".")[2]):
            why = "is made with its object and never reset between epochs"
            yield WrongTotal(cls.source, own, made, read, why)


def _metrics_of_hooks(index: Index, cls: Class) -> Iterator[WrongTotal]:
    """Metrics of torchmetrics that the hooks of a Lightning module feed and compute, and that nothing resets.

    Lightning resets those that are logged themselves, `self.log("acc", self.acc)`, and no others.
    """
    if not any(hook_methods(index, cls)):
        return
    methods = [method.node for name, method in cls.methods.items() if not _is_setup(name)]
    calls = [call for method in methods for call in own_nodes(method, ast.Call)]
    module = index.module_of(cls.source)
    for made in _made_in_setup(cls):
        own = ast.unparse(made.targets[0])
        asked = {
            call.func.attr: call
            for call in calls
            if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == own
        }
        is_fed = "update" in asked or any(ast.unparse(call.func) == own for call in calls)
        handed_on = any(ast.unparse(one) == own for call in calls for one in _handed(call))
        if not (is_fed and "compute" in asked and _is_of_torchmetrics(index, module, made.value)):
            continue
        if not handed_on and not _is_reset_anywhere(index, own.rpartition(".")[2]):
            why = "is computed at the end of each epoch and never reset, nor logged itself"
            yield WrongTotal(cls.source, own, made, asked["compute"], why)


def _handed(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args
    yield from (word.value for word in call.keywords)


def _is_of_torchmetrics(index: Index, module: Module, made: ast.expr) -> bool:
    target = index.resolve(module, dotted(made.func) or "") if isinstance(made, ast.Call) else None
    return isinstance(target, External) and target.name.startswith("torchmetrics.")


def _made_in_setup(cls: Class) -> Iterator[ast.Assign]:
    """`self.meter = Meter()` where an object is made."""
    for name, method in cls.methods.items():
        if _is_setup(name):
            for node in own_nodes(method.node, ast.Assign):
                if _is_own(node.targets[0]) and isinstance(node.value, ast.Call):
                    yield node


def _is_reset_anywhere(index: Index, attribute: str) -> bool:
    """Whether something resets what an object keeps under a name, or what it has under a name of its own."""
    return any(
        node.attr == "reset" and _may_stand_for(node.value, attribute)
        for module in index.modules.values()
        for node in all_nodes(module.source.tree, ast.Attribute)
    )


def _may_stand_for(owner: ast.expr, attribute: str) -> bool:
    if isinstance(owner, ast.Name):
        return owner.id != "self"  # `for meter in meters: meter.reset()`
    return not isinstance(owner, ast.Attribute) or owner.attr == attribute


def _is_own(target: ast.expr) -> bool:
    return (
        isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
    )


def _is_setup(name: str) -> bool:
    return name in {"__init__", "__post_init__", "setup", "build"}


def _divides(node: ast.AST, text: str) -> bool:
    """`self.total / len(self.loader)`."""
    match node:
        case ast.BinOp(op=ast.Div(), left=left, right=ast.Call(func=ast.Name(id="len"), args=[only])):
            return ast.unparse(left) == text and (_is_loader(only) or _is_dataset(only))
    return False


def _ends_a_round(name: str, node: FunctionNode) -> bool:
    """Whether a method is called again and again: it does not hold the loop over the epochs itself."""
    return not any(_is_over_epochs(loop) for loop in _loops(node.body))


# --- divided by the wrong count


def _wrongly_divided(index: Index, module: Module, body: Sequence[ast.stmt]) -> Iterator[WrongTotal]:
    """Means of batches divided by the number of samples, and sums of samples by the number of batches."""
    for loop in _loops(body):
        for node in (one for statement in loop.body for one in own_below(statement, ast.AugAssign)):
            if not isinstance(node.op, ast.Add):
                continue
            if not isinstance(node.target, ast.Name):
                continue
            per_sample = _is_times_batch(node.value)
            mean = _mean_of_batch(index, module, body, node.value)
            for divided, counted in _divisions(body, node.target.id):
                is_length = isinstance(divided.right, ast.Call)
                if per_sample and is_length and _is_loader(counted) and not _is_loss_sum(body, node.value):
                    why = f"sums over samples and is divided by the batches, {ast.unparse(divided.right)}"
                    yield WrongTotal(module.source, node.target.id, node, divided, why)
                elif mean and (_counts_samples if is_length else _is_raised_by_batch)(loop, counted):
                    samples = ast.unparse(divided.right)
                    why = f"sums the means of batches and is divided by the samples, {samples}"
                    yield WrongTotal(module.source, node.target.id, node, divided, why)


def _divided_by_another(module: Module, body: Sequence[ast.stmt]) -> Iterator[WrongTotal]:
    """A sum over the batches of one loader that is next divided by the length of another one."""
    loops = [(loop, _gone_over(loop)) for loop in _loops(body) if isinstance(loop, ast.For)]
    loaders = {over for _, over in loops if over}
    for loop, over in loops:
        grown = (one for statement in loop.body for one in own_below(statement, ast.AugAssign))
        for node in grown if over else ():
            if isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name):
                read, counted = _next_division(body, node.target.id, loop.end_lineno or loop.lineno)
                if (
                    read is not None
                    and counted in loaders
                    and counted != over
                    and not _holds(loop, loops, counted)
                    and not _goes_along(loop, counted)
                ):
                    why = f"sums over {over} and is divided by the length of another, len({counted})"
                    yield WrongTotal(module.source, node.target.id, node, read, why)


def _goes_along(loop: ast.For, counted: str) -> bool:
    """Whether a loop takes an item of another collection in each round: `preds[i]`. Both are as long."""
    made = {one.id for one in all_nodes(loop.target, ast.Name)}
    return any(
        dotted(node.value) == counted and any(one.id in made for one in all_nodes(node.slice, ast.Name))
        for node in all_nodes(loop, ast.Subscript)
    )


def _gone_over(loop: ast.For) -> str:
    """The loader that a loop draws from, by its name: also behind `enumerate` or a progress bar."""
    over = loop.iter
    while (
        isinstance(over, ast.Call)
        and bare_name(over) in {"enumerate", "tqdm", "track", "trange"}
        and over.args
    ):
        over = over.args[0]
    return dotted(over) or ""


def _holds(loop: ast.For, loops: Sequence[tuple[ast.For, str]], name: str) -> bool:
    """Whether the loop over a loader is around or inside another: then one sum may be of both."""
    lines = range(loop.lineno, (loop.end_lineno or loop.lineno) + 1)
    around = [one for one, over in loops if over == name]
    return any(one.lineno in lines or loop.lineno in range(one.lineno, one.end_lineno or 0) for one in around)


def _next_division(body: Sequence[ast.stmt], name: str, behind: int) -> tuple[ast.AST | None, str]:
    """What is next done with a sum behind a line, where that is a division by the length of something."""
    later = sorted(
        (
            node
            for statement in body
            for node in own_below(statement, ast.Assign, ast.AugAssign, ast.BinOp)
            if isinstance(node, ast.stmt | ast.expr) and node.lineno > behind
        ),
        key=lambda node: (node.lineno, node.col_offset),
    )
    for node in later:
        match node:
            case ast.AugAssign(target=ast.Name(id=grown), op=ast.Div(), value=ast.Call() as count) if (
                grown == name
            ):
                return node, _counted(count)
            case ast.BinOp(left=ast.Name(id=left), op=ast.Div(), right=ast.Call() as count) if left == name:
                return node, _counted(count)
            case ast.AugAssign(target=ast.Name(id=grown)) if grown == name:
                return None, ""
            case ast.Assign(targets=targets, value=value) if any(_is_name(one, name) for one in targets):
                if not any(isinstance(one, ast.BinOp) for one in ast.walk(value)):
                    return None, ""
    return None, ""


def _counted(count: ast.Call) -> str:
    return (dotted(count.args[0]) or "") if bare_name(count) == "len" and len(count.args) == 1 else ""


def _divisions(body: Sequence[ast.stmt], name: str) -> Iterator[tuple[ast.BinOp, ast.expr]]:
    for statement in body:
        for node in own_below(statement, ast.BinOp):
            match node:
                case ast.BinOp(
                    op=ast.Div(),
                    left=ast.Name(id=left),
                    right=ast.Call(func=ast.Name(id="len"), args=[counted]),
                ) if left == name:
                    yield node, counted
                case ast.BinOp(op=ast.Div(), left=ast.Name(id=left), right=ast.Name() as counted) if (
                    left == name
                ):
                    yield node, counted


def _counts_samples(loop: ast.For | ast.While, counted: ast.expr) -> bool:
    """Whether a divisor is the length of a data set, and not of what the loop or one in it goes through."""
    return _is_dataset(counted) and not any(_is_gone_through(one, counted) for one in _loops([loop]))


def _is_raised_by_batch(loop: ast.For | ast.While, counted: ast.expr) -> bool:
    """Whether a divisor is a count of samples: `seen += len(x)`."""
    name = ast.unparse(counted)
    return any(
        _is_name(node.target, name) and _is_batch(node.value)
        for statement in loop.body
        for node in own_below(statement, ast.AugAssign)
    )


def _is_times_batch(value: ast.expr) -> bool:
    """`loss.item() * x.size(0)`."""
    match value:
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            return any(_is_item(one) and _is_batch(other) for one, other in ((left, right), (right, left)))
    return False


def _is_item(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and bare_name(node) == "item"


def _is_batch(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="size"), args=[ast.Constant(value=0)]):
            return True
        case ast.Call(func=ast.Name(id="len")):
            return True
        case ast.Subscript(value=ast.Attribute(attr="shape"), slice=ast.Constant(value=0)):
            return True
    return False


def _is_loss_sum(body: Sequence[ast.stmt], value: ast.expr) -> bool:
    return any("sum" in ast.unparse(one) and "reduction" in ast.unparse(one) for one in body)


def _mean_of_batch(index: Index, module: Module, body: Sequence[ast.stmt], value: ast.expr) -> bool:
    """Whether `loss.item()` is read off a loss that gives the mean of its batch."""
    made = _measured(body, value)
    return bool(made) and all(_gives_mean(index, module, one) for one in made)


def _measured(body: Sequence[ast.stmt], value: ast.expr) -> list[ast.expr]:
    """What the number of `loss.item()` was made by; nothing where it is not a plain number of a loss."""
    match value:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="item")):
            return [
                node.value
                for statement in body
                for node in own_below(statement, ast.Assign)
                if any(_is_name(one, name) for one in node.targets)
            ]
        case ast.Call(func=ast.Attribute(value=ast.Call() as made, attr="item")):
            return [made]
    return []


def _gives_mean(index: Index, module: Module, made: ast.expr) -> bool:
    if not isinstance(made, ast.Call):
        return False
    written = dotted(made.func) or ""
    target = index.resolve(module, written)
    is_mean = is_reduced_by_mean(made)
    if isinstance(target, External) and target.name.startswith("torch.nn.functional."):
        return is_mean
    return _is_mean_criterion(index, module, written) or _is_weighted_elsewhere(module, written)


def _is_weighted_elsewhere(module: Module, written: str) -> bool:
    """Whether another loop of the file multiplies what the same loss gives by the size of its batch."""
    for body in bodies(module.source.tree):
        added = (one for part in body for one in own_below(part, ast.AugAssign))
        for node in added:
            match node.value:
                case ast.BinOp(op=ast.Mult(), left=left, right=right) if _is_times_batch(node.value):
                    made = _measured(body, left) or _measured(body, right)
                    if any(isinstance(one, ast.Call) and dotted(one.func) == written for one in made):
                        return True
    return False


def _is_mean_criterion(index: Index, module: Module, written: str) -> bool:
    """Whether a name was given a loss of torch without a reduction: `criterion = nn.CrossEntropyLoss()`."""
    made = [
        node.value
        for node in all_nodes(module.source.tree, ast.Assign)
        if any(ast.unparse(one) == written for one in node.targets)
    ]
    return bool(made) and all(_is_mean_loss(index, module, one) for one in made)


def _is_mean_loss(index: Index, module: Module, made: ast.expr) -> bool:
    if not isinstance(made, ast.Call):
        return False
    target = index.resolve(module, dotted(made.func) or "")
    is_mean = is_reduced_by_mean(made)
    is_loss = (
        isinstance(target, External) and target.name.startswith("torch.nn.") and target.name.endswith("Loss")
    )
    return is_loss and is_mean


def _is_loader(node: ast.expr) -> bool:
    return bool(LOADER_WORDS & set(words((dotted(node) or "").rpartition(".")[2])))


def _is_dataset(node: ast.expr) -> bool:
    named = set(words((dotted(node) or "").rpartition(".")[2]))
    return bool(named & DATASETS) and not named & LOADER_WORDS
