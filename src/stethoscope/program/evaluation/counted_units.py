"""Sums over batches whose divisor counts something else than they do.

What a round of a loop adds to a sum has a unit: a mean counts once for its round, a mean times the size of
its batch once for each sample, times a number of targets once for each target. What the sum is divided by has
one too: rounds, samples or targets. Where both are known and differ, the quotient is no average.

total += loss.item() * len(x); rounds += 1        total / rounds
total += loss.item()                              total / (len(loader) * loader.batch_size)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import chain

from stethoscope.program.index import External, Function, Index, Target, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.roles import LOADER_WORDS
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

MOST_NAMES = 4  # names behind one number
DEEPEST = 3  # calls behind one mean
WRAPPING = frozenset({"float", "int", "item", "detach", "cpu", "abs", "tensor", "numpy", "tolist", "double"})
AVERAGING = frozenset({"mean", "fmean", "average", "nanmean"})
PASSING_ON = frozenset({"enumerate", "tqdm", "track", "trange", "iter", "islice", "log_every"})
DATASET_WORDS = frozenset({"dataset", "datasets", "ds", "trainset", "valset", "testset"})
# What a score of a whole sample is called after.
WHOLE_SAMPLES = frozenset({
    "seq", "sequence", "sequences", "sentence", "sentences", "sample", "samples", "nll", "elbo", "document",
    "image", "row", "rows", "line", "lines", "example", "examples", "item", "items", "bits", "likelihood",
})  # fmt: skip
# What graphs come in: a batch of them has no first axis of its own.
BATCH_SIZES = frozenset({"batch_size", "num_graphs", "train_batch_size", "val_batch_size"})


class Unit(Enum):
    """What a number counts."""

    ROUNDS = "batches"
    SAMPLES = "samples"
    TARGETS = "targets"
    HITS = "right answers"
    FULL_BATCHES = "samples of full batches, with a last one that may be smaller"


@dataclass(frozen=True, slots=True, eq=False)
class UnitMismatch:
    """Where a sum grows, where it is divided, and what the one and the other count."""

    name: str
    added: Site
    divided: Site
    summed: Unit
    counted: Unit


@dataclass(frozen=True, slots=True, eq=False)
class _Growth:
    """One statement of a loop that adds to a sum or a list, and the loop."""

    name: str
    node: ast.AST
    value: ast.expr
    loop: ast.For
    is_list: bool


@remembered
def unit_mismatches(index: Index) -> tuple[UnitMismatch, ...]:
    """Every sum of the repository whose divisor counts something else."""
    return tuple(
        found
        for function in index.bodies
        if not is_test(function.source) and any(own_nodes(function.node, ast.For))
        for found in _Function(index, function).mismatches()
    )


class _Function:
    """A function with what its names are given and what its loops add up."""

    def __init__(self, index: Index, function: Function, depth: int = 0) -> None:
        self.index = index
        self.depth = depth  # calls that led here
        self.function = function
        self.given: dict[str, list[ast.expr]] = {}
        self.taken: dict[str, list[tuple[ast.Call, int]]] = {}  # out of what calls give, at which place
        for node in own_nodes(function.node, ast.Assign):
            for target in node.targets:
                if not (isinstance(node.value, ast.Constant) and node.value.value is None):
                    self.given.setdefault(ast.unparse(target), []).append(node.value)
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Call):
                    for place, one in enumerate(target.elts):
                        self.taken.setdefault(ast.unparse(one), []).append((node.value, place))
        self.growths = list(self._grown())

    def mismatches(self) -> Iterator[UnitMismatch]:
        """Every sum whose unit and that of what it is divided by are known and differ."""
        for growth in self.growths:
            summed = self._unit_added(growth.value, growth.loop)
            if summed is None or _is_of_one(self._loader_of(growth.loop)):
                continue
            for divided, counted in chain(self._divisors(growth), self._divided_by_callers(growth)):
                is_of_samples = summed is not Unit.ROUNDS
                if counted is Unit.FULL_BATCHES and is_of_samples and not self._keeps_last(growth.loop):
                    continue
                is_whole = counted is Unit.TARGETS and self._counts_all_compared(growth)
                is_apart = _differ(summed, counted) or self._is_no_loss(growth, divided, summed, counted)
                if is_apart and not is_whole:
                    here = Site(self.function.source, growth.node)
                    yield UnitMismatch(growth.name, here, divided, summed, counted)

    # --- what is added up

    def _grown(self) -> Iterator[_Growth]:
        """What grows in the innermost loop around it."""
        inner: dict[int, ast.For] = {}
        for loop in sorted(own_nodes(self.function.node, ast.For), key=lambda one: one.lineno):
            inner.update((id(node), loop) for part in loop.body for node in all_nodes(part))
        for node in own_nodes(self.function.node, ast.AugAssign, ast.Call):
            around = inner.get(id(node))
            if around is None:
                continue
            match node:
                case ast.AugAssign(op=ast.Add(), target=target, value=value):
                    yield _Growth(ast.unparse(target), node, value, around, is_list=False)
                case ast.Call(func=ast.Attribute(value=held, attr="append"), args=[value]):
                    yield _Growth(ast.unparse(held), node, value, around, is_list=True)

    def _unit_added(self, value: ast.expr, loop: ast.For) -> Unit | None:
        """What a round adds, where it is a mean, a weighted mean, or a number of hits."""
        value = self._followed(value)
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
            for one, other in ((value.left, value.right), (value.right, value.left)):
                size = self._size(other, loop)
                if size not in (None, Unit.ROUNDS) and self._is_mean(one):
                    return size
            return None
        if self._is_mean(value):
            return Unit.ROUNDS
        return Unit.HITS if self._is_hits(value) and self._has_loader(loop) else None

    def _is_mean(self, value: ast.expr) -> bool:
        """Whether a number is the mean over its batch: of a loss of torch, of a function, or `x.mean()`."""
        value = self._followed(value)
        if isinstance(value, ast.Attribute) and value.attr == "loss":
            return self._answers_labels(value.value)
        if isinstance(value, ast.Name):
            return self._is_taken_mean(value.id)
        if not isinstance(value, ast.Call) or _told(value) & {"dim", "axis"}:
            return False
        if bare_name(value) == "mean":
            given = value.args if isinstance(value.func, ast.Attribute) else value.args[1:]
            is_of_library = dotted(getattr(value.func, "value", value.func)) in {"torch", "np", "numpy"}
            return not (given[1:] if is_of_library else given)
        return self._is_mean_loss(value)

    def _is_taken_mean(self, name: str) -> bool:
        """Whether a name is given a mean loss out of what calls give: `logits, loss = net(x, y)`."""
        taken = self.taken.get(name, [])
        return bool(taken) and all(self._gives_mean_at(*one) for one in taken)

    def _gives_mean_at(self, call: ast.Call, place: int) -> bool:
        """Whether a call gives a mean loss at a place: a function, or a network that is told answers."""
        target, depth = self._resolved(call.func), self.depth + 1
        if depth > DEEPEST:
            return False  # networks inside networks, or one that calls itself
        if isinstance(target, Function):
            return _returns_mean_at(self.index, target, place, depth) is True
        if isinstance(target, External) or bare_name(call) in {"next", "zip"}:
            return False
        told = {_returns_mean_at(self.index, forward, place, depth) for forward in _forwards(self.index)}
        return told - {None} == {True}

    def _answers_labels(self, output: ast.expr) -> bool:
        """Whether something is what a network of transformers gives back: `model(**batch)`."""
        made = self._followed(output)
        is_handed = isinstance(made, ast.Call) and bool(_told(made) & {None, "labels"})
        return is_handed and any(
            "from transformers" in one.source.text for one in self.index.modules.values()
        )

    def _is_mean_loss(self, call: ast.Call) -> bool:
        target = self._resolved(call.func)
        if isinstance(target, External):
            is_loss = target.name.startswith("torch.nn.functional.") and _is_loss_name(target.name)
            return is_loss and is_reduced_by_mean(call)
        if isinstance(target, Function):
            return _returns_mean(self.index, target)
        return self._is_mean_criterion(dotted(call.func) or "")

    def _is_mean_criterion(self, written: str) -> bool:
        """Whether everything that the repository calls so is a loss of torch without another reduction."""
        name = written.rpartition(".")[2]
        made = [one for one in _assigned_as(self.index).get(name, ()) if isinstance(one[1], ast.Call)]
        return bool(made) and all(_makes_mean_loss(self.index, *one) for one in made)

    def _is_hits(self, value: ast.expr) -> bool:
        """`(guess == y).sum()`: how many of a batch are right."""
        match self._followed(value):
            case ast.Call(func=ast.Attribute(value=ast.Compare(ops=[ast.Eq()]), attr="sum"), args=[]):
                return True
            case ast.Call(func=ast.Attribute(attr="sum"), args=[ast.Compare(ops=[ast.Eq()])]):
                return True
            case ast.Call(
                func=ast.Attribute(value=ast.Call(func=ast.Attribute(attr="eq"), args=[_]), attr="sum"),
                args=[],
            ):
                return True
        return False

    def _counts_all_compared(self, hits: _Growth) -> bool:
        """Whether what is counted beside hits is all that was compared: `(guess == y).sum()`, `y.numel()`."""
        compared = {
            ast.unparse(side)
            for node in all_nodes(self._followed(hits.value), ast.Compare)
            for side in (node.left, *node.comparators)
        }
        beside = (one.value for one in self.growths if one.loop is hits.loop and one is not hits)
        return any(
            bare_name(call) == "numel" and ast.unparse(getattr(call.func, "value", call)) in compared
            for value in beside
            for call in all_nodes(value, ast.Call)
        )

    # --- what a number counts

    def _size(self, value: ast.expr, loop: ast.For, depth: int = MOST_NAMES) -> Unit | None:
        """What a number that is known in a loop counts of its batch."""
        match value:
            case ast.Call(
                func=ast.Name(id="len"), args=[ast.Name() | ast.Subscript() | ast.Attribute() as of]
            ):
                return Unit.SAMPLES if self._is_of_round(of, loop) else None
            case ast.Call(func=ast.Attribute(attr="size"), args=[ast.Constant(value=0)]):
                return Unit.SAMPLES
            case ast.Subscript(value=ast.Attribute(attr="shape"), slice=ast.Constant(value=0)):
                return Unit.SAMPLES
            case ast.Call(func=ast.Attribute(attr="numel"), args=[]):
                return Unit.TARGETS
            case ast.Call(func=ast.Attribute(value=inner, attr="item" | "float" | "long"), args=[]):
                return self._size(inner, loop, depth)
            case ast.Call(func=ast.Name(id="int" | "float"), args=[inner]):
                return self._size(inner, loop, depth)
            case ast.Call(func=ast.Attribute(value=mask, attr="sum"), args=[], keywords=[]):
                return Unit.TARGETS if self._is_mask(mask) else None
            case ast.Attribute(attr=name) if name in BATCH_SIZES:
                return Unit.SAMPLES
            case ast.Constant(value=1):
                return Unit.ROUNDS
            case ast.Name(id=name):
                given = self.given.get(name, [])
                units = {self._size(one, loop, depth - 1) for one in given} if depth else set()
                if len(units) == 1:
                    return units.pop()
                return Unit.SAMPLES if not given and name in BATCH_SIZES else None
        return None

    def _is_of_round(self, value: ast.expr, loop: ast.For) -> bool:
        """Whether something is made in each round: `len(x)`, and not `len(loader)`."""
        made = {one.id for one in all_nodes(loop.target, ast.Name)}
        made |= {
            one.id
            for part in loop.body
            for node in all_nodes(part, ast.Assign)
            for target in node.targets
            for one in all_nodes(target, ast.Name)
        }
        return any(one.id in made for one in all_nodes(value, ast.Name))

    def _count(self, value: ast.expr, growth: _Growth, depth: int = MOST_NAMES) -> Unit | None:
        """What a divisor behind a loop counts."""
        value = _unwrapped(value)
        match value:
            case ast.Call(func=ast.Name(id="len"), args=[of]):
                return self._length(of, growth)
            case (
                ast.Call(func=ast.Name(id="max"), args=[one, ast.Constant(value=1 | 1.0)])
                | ast.Call(func=ast.Name(id="max"), args=[ast.Constant(value=1 | 1.0), one])
            ):
                return self._count(one, growth, depth)
            case ast.Call(func=ast.Name(id="sum"), args=[one]):
                return self._raised(ast.unparse(one), growth, is_list=True)
            case ast.BinOp(op=ast.Mult(), left=left, right=right):
                units = {self._count(one, growth, depth) for one in (left, right)}
                sizes = [one for one in (left, right) if _is_batch_size(one)]
                if units != {Unit.ROUNDS, None} or len(sizes) != 1:
                    return None
                is_length = any(bare_name(one) == "len" for one in (left, right) if isinstance(one, ast.Call))
                return Unit.FULL_BATCHES if is_length else Unit.SAMPLES
            case ast.BinOp(op=ast.Add(), left=ast.Name(id=name), right=ast.Constant(value=1)):
                return Unit.ROUNDS if name == _number_of_round(growth.loop) else None
        name = ast.unparse(value)
        if any(one.name == name for one in self.growths):
            return self._raised(name, growth, is_list=False)
        given = self.given.get(name, [])
        return self._count(given[0], growth, depth - 1) if depth and len(given) == 1 else None

    def _length(self, of: ast.expr, growth: _Growth) -> Unit | None:
        name = ast.unparse(of)
        if name == growth.name and growth.is_list:
            return Unit.ROUNDS
        if name in _split_up(growth.loop):
            return Unit.SAMPLES
        if name == ast.unparse(_gone_over(growth.loop)):
            return Unit.ROUNDS if self._has_batches() else None
        spoken = set(words((dotted(of) or "").rpartition(".")[2]))
        if spoken & DATASET_WORDS and not spoken & LOADER_WORDS:
            return Unit.SAMPLES if self._is_over_batches(growth.loop) else None
        return None

    def _has_batches(self) -> bool:
        """Whether `len(loader)` is a number of batches: a loader of one's own may say otherwise."""
        return not any({"__len__", "__iter__"} <= cls.methods.keys() for cls in self.index.classes)

    def _raised(self, name: str, growth: _Growth, *, is_list: bool) -> Unit | None:
        """What a count is raised by in the same loop as the sum."""
        raised = [one for one in self.growths if one.name == name and one.is_list == is_list]
        if not raised or any(one.loop is not growth.loop for one in raised):
            return None
        units = {self._size(one.value, one.loop) for one in raised}
        return units.pop() if len(units) == 1 else None

    def _is_mask(self, value: ast.expr) -> bool:
        """Whether something says which targets count: `y != pad`, `y.ne(pad)`, `attention_mask`."""
        made = self._followed(value)
        if isinstance(made, ast.Compare):
            op, against = made.ops[0], made.comparators[0]
            is_bound = isinstance(_number(against), int) and isinstance(op, ast.Gt | ast.GtE)
            return isinstance(op, ast.NotEq) or is_bound
        if isinstance(made, ast.Call):
            return bare_name(made) == "ne"
        spoken = ast.unparse(made.slice) if isinstance(made, ast.Subscript) else dotted(made) or ""
        return bool({"mask", "masks", "lengths", "lens"}.intersection(words(spoken.strip("'\""))))

    def _is_no_loss(self, growth: _Growth, divided: Site, summed: Unit, counted: Unit) -> bool:
        """Whether a sum over targets is divided by samples, beside the mean that training minimises.

        A score of whole samples goes by another name.
        """
        if (summed, counted) != (Unit.TARGETS, Unit.SAMPLES) or divided.source is not self.function.source:
            return False
        kept = [
            ast.unparse(target)
            for node in own_nodes(self.function.node, ast.Assign)
            if any(one is divided.node for one in all_nodes(node.value))
            for target in node.targets
        ]
        spoken = {word for name in (*kept, self.function.name) for word in words(name)}
        is_loss = bool(spoken & {"loss", "losses"}) and not spoken & WHOLE_SAMPLES
        return is_loss and minimises_means(self.index)

    # --- where a sum is divided

    def _divisors(self, growth: _Growth) -> Iterator[tuple[Site, Unit]]:
        """Every division of a sum whose result is not divided or multiplied once more."""
        within = {id(node) for part in growth.loop.body for node in all_nodes(part)}
        parts = {
            id(one)
            for node in own_nodes(self.function.node, ast.BinOp)
            if isinstance(node.op, ast.Div | ast.Mult)
            for one in (node.left, node.right)
            if not isinstance(node.left, ast.Constant) and not isinstance(node.right, ast.Constant)
        }
        for node in own_nodes(self.function.node, ast.BinOp, ast.AugAssign, ast.Call):
            if id(node) in parts or getattr(node, "lineno", 0) < growth.loop.lineno:
                continue
            divisor = _divisor(node, growth)
            if divisor is None:
                continue
            is_average = isinstance(node, ast.Call)
            counted = Unit.ROUNDS if is_average else self._count(divisor, growth)
            if counted is not None and not (id(node) in within and not _is_counted_inside(divisor)):
                yield Site(self.function.source, node), counted

    def _divided_by_callers(self, growth: _Growth) -> Iterator[tuple[Site, Unit]]:
        """Where a caller divides the returned sum by the length of the loader that it handed in."""
        returned = [one.value for one in own_nodes(self.function.node, ast.Return) if one.value is not None]
        over = ast.unparse(_gone_over(growth.loop))
        if [ast.unparse(one) for one in returned] != [growth.name] or over not in self.function.parameters:
            return
        if growth.is_list or len(self.index.functions_named(self.function.name)) != 1:
            return
        for caller, call in _calls(self.index).get(self.function.name, ()):
            for node in own_nodes(caller.node, ast.BinOp):
                match node:
                    case ast.BinOp(
                        left=left, op=ast.Div(), right=ast.Call(func=ast.Name(id="len"), args=[of])
                    ) if left is call and any(ast.unparse(one) == ast.unparse(of) for one in call.args):
                        if self._has_batches():
                            yield Site(caller.source, node), Unit.ROUNDS

    # --- what is behind a name

    def _followed(self, value: ast.expr) -> ast.expr:
        """What a number was made by, through names and through what only changes its kind."""
        for _ in range(2 * MOST_NAMES):
            inner = _unwrapped(value)
            given = self.given.get(inner.id, []) if isinstance(inner, ast.Name) else []
            if inner is value and len(given) != 1:
                return value
            value = given[0] if len(given) == 1 else inner
        return value

    def _resolved(self, callee: ast.expr) -> Target | None:
        written = dotted(callee) or ""
        owner = self.function.owner
        first, _, rest = written.partition(".")
        if owner is not None and first == "self" and rest in owner.methods:
            return owner.methods[rest]
        return self.index.resolve(self.index.module_of(self.function.source), written)

    def _loader_of(self, loop: ast.For) -> ast.expr | None:
        """What made the loader of a loop, here or where this function is called."""
        over = _gone_over(loop)
        if isinstance(over, ast.Call):
            return over
        name = ast.unparse(over)
        given = self.given.get(name, []) or list(self._handed_in(name))
        return given[0] if given else None

    def _handed_in(self, name: str) -> Iterator[ast.expr]:
        """What the callers of this function made for a parameter of it."""
        parameters = self.function.parameters
        if name not in parameters:
            return
        for caller, call in _calls(self.index).get(self.function.name, ()):
            place = parameters.index(name) - (parameters[0] == "self")
            named = [word.value for word in call.keywords if word.arg == name]
            held = named[0] if named else call.args[place] if place < len(call.args) else None
            if held is not None:
                made = [one for node in own_nodes(caller.node, ast.Assign) for one in _values_for(node, held)]
                yield from made or [held]

    def _has_loader(self, loop: ast.For) -> bool:
        """Whether a loop draws from a loader, by what made it or by its name."""
        made = self._loader_of(loop)
        if isinstance(made, ast.Call) and bare_name(made).endswith("DataLoader"):
            return True
        name = (dotted(_gone_over(loop)) or "").rpartition(".")[2]
        return bool((LOADER_WORDS | {"batches"}).intersection(words(name)))

    def _keeps_last(self, loop: ast.For) -> bool:
        """Whether a loader hands out a last batch that is smaller: this one, or all that are not shuffled."""
        made = self._loader_of(loop)
        if isinstance(made, ast.Call) and bare_name(made).endswith("DataLoader"):
            return _is_whole(made)
        loaders = [call for _, call in _calls(self.index).get("DataLoader", ())]
        ordered = [one for one in loaders if not _is_told_true(one, "shuffle")]
        return bool(ordered) and all(map(_is_whole, ordered))

    def _is_over_batches(self, loop: ast.For) -> bool:
        """Whether a loop draws batches: from a loader, or it takes the size of what it draws."""
        return self._has_loader(loop) or any(
            self._size(node, loop) is Unit.SAMPLES
            for part in loop.body
            for node in all_nodes(part, ast.Call, ast.Subscript)
        )


def _differ(summed: Unit, counted: Unit) -> bool:
    """Whether a quotient is no average. Sums over targets are also read for each sample, on purpose.

    Right answers are as many as there are targets, or samples where each has one.
    """
    if counted is Unit.FULL_BATCHES:
        return summed in {Unit.HITS, Unit.SAMPLES, Unit.ROUNDS}
    if summed is Unit.HITS:
        return counted is Unit.ROUNDS
    return summed is not counted and (summed, counted) != (Unit.TARGETS, Unit.SAMPLES)


def _divisor(node: ast.AST, growth: _Growth) -> ast.expr | None:
    """What a sum is divided by in a division, or the list itself where its mean is taken."""
    match node:
        case ast.BinOp(op=ast.Div(), left=left, right=right) if not growth.is_list:
            return right if ast.unparse(_numerator(left)) == growth.name else None
        case ast.AugAssign(op=ast.Div(), target=target, value=value) if not growth.is_list:
            return value if ast.unparse(target) == growth.name else None
        case ast.BinOp(
            op=ast.Div(), left=ast.Call(func=ast.Name(id="sum"), args=[ast.expr() as held]), right=right
        ) if growth.is_list:
            return right if ast.unparse(held) == growth.name else None
        case ast.Call(args=[held]) if growth.is_list and bare_name(node) in AVERAGING:
            return held if ast.unparse(held) == growth.name else None
    return None


def _numerator(node: ast.expr) -> ast.expr:
    """The sum itself: of `100.0 * total.item()`."""
    node = _unwrapped(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(one, ast.Constant):
                return _numerator(other)
    return node


def _is_counted_inside(divisor: ast.expr) -> bool:
    """Whether a divisor may be read in each round too, because it grows with the sum."""
    return not any(bare_name(call) == "len" for call in all_nodes(divisor, ast.Call))


def _unwrapped(value: ast.expr) -> ast.expr:
    """A number without what only changes its kind: `float(x)`, `x.item()`."""
    while isinstance(value, ast.Call) and bare_name(value) in WRAPPING:
        inner = value.args[0] if value.args else getattr(value.func, "value", None)
        if not isinstance(inner, ast.expr):
            break
        value = inner
    return value


def _gone_over(loop: ast.For) -> ast.expr:
    over = loop.iter
    while isinstance(over, ast.Call) and bare_name(over) in PASSING_ON and over.args:
        over = over.args[0]
    return over


def _split_up(loop: ast.For) -> set[str]:
    """What a loop goes through in parts of several: `zip(x.split(size), y.split(size))`."""
    over = _gone_over(loop)
    parts = over.args if isinstance(over, ast.Call) and bare_name(over) == "zip" else [over]
    return {
        ast.unparse(one.func.value)
        for one in parts
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr == "split"
        if len(one.args) == 1 and not (isinstance(one.args[0], ast.Constant) and one.args[0].value == 1)
    }


def _number_of_round(loop: ast.For) -> str:
    """The name that counts the rounds: `for i, batch in enumerate(loader)`."""
    match loop:
        case ast.For(target=ast.Tuple(elts=[ast.Name(id=name), *_]), iter=ast.Call(args=[_]) as over) if (
            bare_name(over) == "enumerate"
            or any(bare_name(one) == "enumerate" for one in all_nodes(over, ast.Call))
        ):
            return name
    return ""


def _is_batch_size(value: ast.expr) -> bool:
    return (dotted(value) or "").rpartition(".")[2].lower() in BATCH_SIZES


def _is_of_one(loader: ast.expr | None) -> bool:
    """Whether a loader hands out samples one by one."""
    if not isinstance(loader, ast.Call) or not bare_name(loader).endswith("DataLoader"):
        return False
    sizes = [word.value for word in loader.keywords if word.arg == "batch_size"]
    size = sizes[0] if sizes else loader.args[1] if len(loader.args) > 1 else None
    return size is None or (isinstance(size, ast.Constant) and size.value in (1, None))


def _is_whole(loader: ast.Call) -> bool:
    """Whether a loader leaves nothing out, as far as it is told."""
    told = {word.arg: word.value for word in loader.keywords}
    last = told.get("drop_last")
    return not {None, "batch_sampler", "sampler"} & told.keys() and (
        last is None or (isinstance(last, ast.Constant) and last.value is False)
    )


def _is_told_true(call: ast.Call, name: str) -> bool:
    return any(
        word.arg == name and isinstance(word.value, ast.Constant) and word.value.value is True
        for word in call.keywords
    )


def _told(call: ast.Call) -> set[str | None]:
    return {word.arg for word in call.keywords}


def _is_loss_name(name: str) -> bool:
    return name.endswith(("_loss", "cross_entropy", "_with_logits", "kl_div"))


def is_reduced_by_mean(call: ast.Call) -> bool:
    """Whether a loss is told nothing else: `size_average=False` was how a sum was once asked for."""
    told = {word.arg: word.value for word in call.keywords}
    reduced = told.get("reduction")
    is_mean = reduced is None or (isinstance(reduced, ast.Constant) and reduced.value == "mean")
    return is_mean and not told.keys() & {"size_average", "reduce", None}


def _number(node: ast.expr) -> object:
    """The number that is written, -1 too."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return node.value if isinstance(node, ast.Constant) else None


@remembered
def minimises_means(index: Index) -> bool:
    """Whether every loss that the repository goes back from is a mean, divided by a number at the most."""
    found: list[bool] = []
    for function in index.bodies:
        for call in own_nodes(function.node, ast.Call):
            if isinstance(call.func, ast.Attribute) and call.func.attr == "backward":
                within = _Function(index, function)
                loss = within._followed(call.args[0] if call.args else call.func.value)
                if isinstance(loss, ast.BinOp) and isinstance(loss.op, ast.Div):
                    loss = loss.left
                name = loss.id if isinstance(loss, ast.Name) else ""
                found.append(within._is_taken_mean(name) or within._is_mean(loss))
    return bool(found) and all(found)


@remembered
def _forwards(index: Index) -> tuple[Function, ...]:
    """What the networks of the repository do when they are called."""
    found = []
    for cls in index.classes:
        forward = cls.methods.get("forward")
        if forward is not None and any(base.endswith("Module") for base in index.outside_bases(cls)):
            found.append(forward)
    return tuple(found)


def _returns_mean_at(index: Index, function: Function, place: int, depth: int) -> bool | None:
    """Whether what a function gives at a place is a mean loss; None where it gives nothing there."""
    known = _known_returns(index)
    key = (id(function), place, depth)
    if key not in known:
        known[key] = _means_returned(index, function, place, depth)
    return known[key]


@remembered
def _known_returns(index: Index) -> dict[tuple[int, int, int], bool | None]:
    """What was found of returned means so far: each network of a program may ask about all others."""
    return {}


def _means_returned(index: Index, function: Function, place: int, depth: int) -> bool | None:
    returned = [one.value for one in own_nodes(function.node, ast.Return)]
    at = [one.elts[place] for one in returned if isinstance(one, ast.Tuple) and len(one.elts) > place]
    at = [one for one in at if not (isinstance(one, ast.Constant) and one.value is None)]
    within = _Function(index, function, depth)
    return all(within._is_mean(one) for one in at) if at else None


@remembered
def _calls(index: Index) -> dict[str, list[tuple[Function, ast.Call]]]:
    """Every call of the repository and what it is in, by the last part of its name."""
    found: dict[str, list[tuple[Function, ast.Call]]] = {}
    for function in index.bodies:
        for call in own_nodes(function.node, ast.Call):
            found.setdefault(bare_name(call), []).append((function, call))
    return found


def _values_for(node: ast.Assign, held: ast.expr) -> Iterator[ast.expr]:
    """What an assignment gives to a name, also as one of several: `a, b = first(), second()`."""
    name = ast.unparse(held)
    for target in node.targets:
        if ast.unparse(target) == name:
            yield node.value
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = zip(target.elts, node.value.elts, strict=False)
            yield from (value for one, value in pairs if ast.unparse(one) == name)


@remembered
def _assigned_as(index: Index) -> dict[str, list[tuple[Function, ast.expr]]]:
    """What every name and attribute of the repository is given, by its last part."""
    found: dict[str, list[tuple[Function, ast.expr]]] = {}
    for function in index.bodies:
        for node in own_nodes(function.node, ast.Assign):
            for target in node.targets:
                name = (dotted(target) or "").rpartition(".")[2]
                found.setdefault(name, []).append((function, node.value))
    return found


def _makes_mean_loss(index: Index, function: Function, made: ast.expr) -> bool:
    if not isinstance(made, ast.Call):
        return False
    while isinstance(made.func, ast.Attribute) and made.func.attr in {"to", "cuda"}:
        inner = made.func.value
        if not isinstance(inner, ast.Call):
            return False
        made = inner
    target = index.resolve(index.module_of(function.source), dotted(made.func) or "")
    is_loss = isinstance(target, External) and target.name.startswith("torch.nn.")
    return is_loss and bare_name(made).endswith("Loss") and is_reduced_by_mean(made)


def _returns_mean(index: Index, function: Function) -> bool:
    """Whether all that a function of the repository gives back is the mean over its batch."""
    returned = [node.value for node in own_nodes(function.node, ast.Return)]
    within = _Function(index, function) if len(returned) == 1 else None
    if within is None or returned[0] is None:
        return False
    value = within._followed(returned[0])
    is_of_itself = isinstance(value, ast.Call) and isinstance(within._resolved(value.func), Function)
    return not is_of_itself and within._is_mean(value)
