"""What an evaluation draws at random each time it is made, and how many draws decide its score.

A draw counts where nothing seeds it: no generator is handed to it and nothing is seeded in the function
around it. What a network draws inside itself is its own business.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from stethoscope.program.data.batches import is_loader
from stethoscope.program.data.ingredients import ingredients
from stethoscope.program.data.training_data import POSITIONAL, sources
from stethoscope.program.evaluation.evaluations import Evaluation, Walk
from stethoscope.program.index import External, Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.roles import Role, class_role
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.values import Applied, Constant, Value, inputs, is_nothing
from stethoscope.run import Source

# fmt: off
DRAWS = frozenset({
    "torch.rand", "torch.randn", "torch.randint", "torch.randperm", "torch.rand_like", "torch.randn_like",
    "torch.normal", "torch.bernoulli", "torch.multinomial", "random.random", "random.uniform",
    "random.randint", "random.sample", "random.choice", "random.choices", "random.gauss", "random.randrange",
    "random.shuffle",
    "numpy.random.rand", "numpy.random.randn", "numpy.random.randint", "numpy.random.permutation",
    "numpy.random.choice", "numpy.random.uniform", "numpy.random.normal", "numpy.random.random",
    "numpy.random.shuffle",
})
SEEDING = frozenset({
    "fork_rng", "set_rng_state", "setstate", "seed_everything", "set_seed", "isolate_rng", "temp_seed",
    "fixed_seed",
})
SEEDS_ALL = frozenset({
    "torch.manual_seed", "torch.random.manual_seed", "torch.cuda.manual_seed", "torch.cuda.manual_seed_all",
    "random.seed", "numpy.random.seed",
})
# fmt: on
ONE = frozenset(
    {"random.random", "random.uniform", "random.randint", "random.choice", "random.gauss", "random.randrange"}
)
# What functions do that only show what was measured.
ASIDE = frozenset({"summary", "plot", "visualize", "visualise", "draw", "show", "log", "write", "render"})
GENERATORS = frozenset({"Generator", "default_rng", "RandomState"})
UNUSED = "the noise of its samples, and not with the generator that was seeded for it"
FLOWS = 3  # assignments between a draw and what an evaluation is handed


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """A draw that each evaluation makes anew; `count` is how many numbers or samples it gives, if known.

    `decides` says what one number settles for all samples of a batch, or for a picture: its noise, its crop.
    """

    source: Source
    node: ast.AST
    name: str
    count: int | None
    decides: str = ""


def draws(walk: Walk) -> Iterator[Draw]:
    """The draws of the evaluations that a training makes again and again."""
    seen: set[int] = set()
    for evaluation in walk.evaluations:
        if not _is_repeated(walk, evaluation):
            continue
        for draw in (
            *_inside(walk, evaluation),
            *_in_input(walk, evaluation),
            *_handed_in(walk, evaluation),
            *_cut_short(walk, evaluation),
        ):
            if id(draw.node) not in seen:
                seen.add(id(draw.node))
                yield draw


def _is_repeated(walk: Walk, evaluation: Evaluation) -> bool:
    """Whether it is made inside a loop that trains: what is measured once cannot differ from itself."""
    scopes = evaluation.forward.event.scopes()
    return any(scope.kind == "loop" and id(scope) in walk.training_scopes for scope in scopes)


def _inside(walk: Walk, evaluation: Evaluation) -> Iterator[Draw]:
    """The draws in the functions that evaluate."""
    index = walk.trace.run.index
    functions = _functions(index, evaluation)
    if any(_seeds(index, function) for function in functions) or _is_seeded_around(evaluation):
        return
    for function in functions:
        if ASIDE.intersection(words(function.name)):
            continue
        for draw in _draws_of(index, function.source, list(own_nodes(function.node)), function.node):
            decides = _decides(draw, function)
            yield replace(draw, decides=decides) if decides else draw


def _functions(index: Index, evaluation: Evaluation) -> list[Function]:
    """The functions of an evaluation's region, networks left out."""
    nodes = {id(scope.node) for scope in evaluation.region if scope.kind == "call"}
    inside = [one for one in evaluation.forward.event.within if id(one.node) in nodes]
    return [
        one
        for one in inside
        if one.owner is None or class_role(index, one.owner) is not Role.MODEL or _measures(one)
    ]


def _measures(function: Function) -> bool:
    """`validation_step` of a module is no part of its network."""
    return "validation" in function.name or "evaluate" in function.name or "test_step" in function.name


def _seeds(index: Index, function: Function) -> bool:
    """Whether the numbers that everybody draws from are seeded; a generator of its own seeds nothing else."""
    home = index.module_of(function.source)
    for call in (node for node in own_nodes(function.node, ast.Call)):
        target = index.resolve(home, dotted(call.func) or "")
        is_global = isinstance(target, External) and target.name in SEEDS_ALL
        if is_global or bare_name(call) in SEEDING:
            return True
    return False


def _draws_of(index: Index, source: Source, nodes: list[ast.AST], body: ast.AST) -> Iterator[Draw]:
    asked = _under_a_switch(nodes)
    for node in nodes:
        if id(node) in asked:
            continue
        name = _drawn(index, source, node) if isinstance(node, ast.Call) else ""
        if name and isinstance(node, ast.Call):
            yield Draw(source, node, name, _count(name, node, body))


def _under_a_switch(nodes: list[ast.AST]) -> set[int]:
    """`random() < self.eps and not greedy`: chance that a switch takes out of an evaluation."""
    return {
        id(inner)
        for node in nodes
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And) and any(map(_is_switch, node.values))
        for inner in all_nodes(node)
    }


def _is_switch(value: ast.expr) -> bool:
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not):
        value = value.operand
    return isinstance(value, ast.Name | ast.Attribute)


def _drawn(index: Index, source: Source, call: ast.Call) -> str:
    """The full name of a draw that nothing seeds, "" for any other call."""
    written = dotted(call.func) or ""
    target = index.resolve(index.module_of(source), written) if written else None
    name = target.name if isinstance(target, External) else ""
    if name not in DRAWS:
        return ""
    seeded = next((one.value for one in call.keywords if one.arg == "generator"), None)
    is_seeded = seeded is not None and not (isinstance(seeded, ast.Constant) and seeded.value is None)
    return "" if is_seeded else name


def _count(name: str, call: ast.Call, body: ast.AST) -> int | None:
    """How many numbers decide an evaluation: those of one draw times the rounds of the loops around it."""
    each = _size(name, call, body)
    rounds = _rounds(call, body)
    return each * rounds if each is not None and rounds is not None else None


def _size(name: str, call: ast.Call, body: ast.AST) -> int | None:
    last = name.rpartition(".")[2]
    if name in ONE:
        return 1
    if last in {"randperm", "permutation"}:
        return _first_of(call, body)
    if last in {"sample", "choices", "choice"}:
        return _whole(call.args[1]) if len(call.args) > 1 else _keyword(call, "k", "size")
    if last in {"rand", "randn"}:
        return _shape(call.args)
    if last == "randint":
        given = next((one.value for one in call.keywords if one.arg == "size"), None)
        tuples = [one for one in (*call.args, given) if isinstance(one, ast.Tuple | ast.List)]
        return _shape(tuples[:1]) if tuples else None
    return None


def _first_of(call: ast.Call, body: ast.AST) -> int | None:
    """How many of a permutation are taken: `torch.randperm(n)[:8]`."""
    for node in all_nodes(body):
        match node:
            case ast.Subscript(value=value, slice=ast.Slice(lower=None, upper=ast.expr() as upper)):
                if any(one is call for one in all_nodes(value)):
                    return _whole(upper)
    return None


def _whole(node: ast.expr) -> int | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else None


def _keyword(call: ast.Call, *names: str) -> int | None:
    given = next((one.value for one in call.keywords if one.arg in names), None)
    return _whole(given) if given is not None else None


def _shape(sizes: Sequence[ast.expr]) -> int | None:
    """The number of elements of a shape that is written down: `(4,)`, `1`, `()`."""
    flat = [
        inner for one in sizes for inner in (one.elts if isinstance(one, ast.Tuple | ast.List) else [one])
    ]
    known = [_whole(one) for one in flat]
    return math.prod(one for one in known if one is not None) if None not in known else None


def _rounds(call: ast.Call, body: ast.AST) -> int | None:
    """How often the loops around a draw make it; None where that is not written down."""
    total = 1
    for node in all_nodes(body):
        match node:
            case ast.For(iter=over, body=inside) if any(call in all_nodes(one) for one in inside):
                times = _times(over)
                if times is None:
                    return None
                total *= times
            case ast.While() if call in all_nodes(node):
                return None
            case ast.ListComp(elt=element) | ast.GeneratorExp(elt=element) if call in all_nodes(element):
                return None
    return total


def _times(over: ast.expr) -> int | None:
    match over:
        case ast.Call(func=ast.Name(id="range"), args=[only]):
            return _whole(only)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return len(elements)
    return None


# --- one number for many samples


def _decides(draw: Draw, function: Function) -> str:
    """What one or two numbers settle: how strong the noise is, or which part is measured."""
    call = draw.node
    if not isinstance(call, ast.Call) or _is_optional(call, function):
        return ""
    size = _size(draw.name, call, function.node)
    if size == 1 and any(_scales_noise(one, call) for one in own_nodes(function.node, ast.BinOp)):
        return "how strong the noise of all samples is"
    if size in {1, 2} and any(_begins_at(function, name) for name in _given(call, function)):
        return "which part is measured"
    return ""


def _is_optional(call: ast.Call, function: Function) -> bool:
    """Whether a condition stands around a draw: of training, of a setting."""
    around = own_nodes(function.node, ast.If, ast.IfExp)
    return any(any(inner is call for inner in all_nodes(one)) for one in around)


def _scales_noise(product: ast.BinOp, call: ast.Call) -> bool:
    """`torch.rand(1) * torch.randn_like(x)`."""
    if not isinstance(product.op, ast.Mult):
        return False
    for one, other in ((product.left, product.right), (product.right, product.left)):
        noise = [inner for inner in all_nodes(other, ast.Call) if inner is not call]
        if any(inner is call for inner in all_nodes(one)) and any(map(_is_noise, noise)):
            return True
    return False


def _is_noise(call: ast.Call) -> bool:
    seeded = any(one.arg == "generator" for one in call.keywords)
    return bare_name(call) in {"randn", "randn_like", "rand_like"} and not seeded


def _given(call: ast.Call, function: Function) -> set[str]:
    """The names that hold a draw and nothing else."""
    return {
        name
        for one in own_nodes(function.node, ast.Assign)
        if any(inner is call for inner in all_nodes(one.value))
        for name in _names(one.targets)
    }


def _begins_at(function: Function, name: str) -> bool:
    """`x[..., top : top + size]`: a part that begins at a name and ends a size behind it."""
    for one in own_nodes(function.node, ast.Slice, ast.Call):
        match one:
            case ast.Slice(lower=ast.Name(id=lower), upper=ast.BinOp(op=ast.Add()) as upper):
                pass
            case ast.Call(
                func=ast.Name(id="slice"), args=[ast.Name(id=lower), ast.BinOp(op=ast.Add()) as upper]
            ):
                pass
            case _:
                continue
        if lower == name and name in _names([upper]):
            return True
    return False


def _is_seeded_around(evaluation: Evaluation) -> bool:
    """Whether a loop around an evaluation speaks of seeds: `torch.manual_seed(0)` in front of it."""
    loops = [scope.node for scope in evaluation.forward.event.scopes() if scope.kind == "loop"]
    calls = (call for loop in loops for call in all_nodes(loop, ast.Call))
    return any(
        part in (dotted(call.func) or "").lower() for call in calls for part in ("seed", "rng", "determin")
    )


# --- what its networks are given


def _in_input(walk: Walk, evaluation: Evaluation) -> Iterator[Draw]:
    """The draws in what the network is given that could have been handed a generator, and were meant to be:
    the evaluation seeds one, and nothing draws from it.
    """
    event, run = evaluation.forward.event, walk.trace.run
    region = {id(scope.node) for scope in evaluation.region}
    bodies = [one for one in event.within if id(one.node) in region]
    if not isinstance(event, Call) or not any(map(_seeds_for_nothing, bodies)):
        return
    if any(_seeds(run.index, one) for one in bodies) or _is_seeded_around(evaluation):
        return
    for given in (*event.args, *event.keywords.values()):
        for value in ingredients(run, given, leading=_outside_loaders):
            if not isinstance(value, Applied) or value.callee not in DRAWS or not is_left_open(value):
                continue
            drawn_by = _function_of(run.index, value)
            if drawn_by is None or _seeds(run.index, drawn_by):
                continue
            if _is_drawn_in(drawn_by, bodies):
                yield Draw(value.site.source, value.site.node, value.callee, None, UNUSED)


def is_left_open(value: Applied) -> bool:
    """`torch.randn(n, generator=generator)` where nobody gave one."""
    seeded = value.keywords.get("generator")
    return seeded is not None and is_nothing(seeded)


def _outside_loaders(value: Value) -> tuple[Value, ...]:
    return () if is_loader(value) else tuple(inputs(value))


def _function_of(index: Index, value: Applied) -> Function | None:
    """The innermost function that a value is made in."""
    source, node = value.site.source, value.site.node
    around = [
        one for one in index.functions if one.source is source and any(n is node for n in own_nodes(one.node))
    ]
    return around[-1] if around else None


def _is_drawn_in(function: Function, bodies: Sequence[Function]) -> bool:
    """Whether an evaluation runs a function, or calls it: what was drawn before it is the same each time."""
    calls = (call for body in bodies for call in own_nodes(body.node, ast.Call))
    return function in bodies or any(bare_name(call) == function.name for call in calls)


def _seeds_for_nothing(function: Function) -> bool:
    """`generator = torch.Generator().manual_seed(0)` in a function that never reads it."""
    for one in own_nodes(function.node, ast.Assign):
        made = {bare_name(call) for call in all_nodes(one.value, ast.Call)}
        names = _names(one.targets)
        if made & GENERATORS and names and not any(_reads(function, name) for name in names):
            return True
    return False


def _reads(function: Function, name: str) -> bool:
    """Whether a name is read; seeding it is no reading."""
    nodes = list(own_nodes(function.node))
    seeding = {id(node.value) for node in nodes if isinstance(node, ast.Attribute) and "seed" in node.attr}
    return any(
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
        and id(node) not in seeding
        for node in nodes
    )


# --- what an evaluation is handed


def _handed_in(walk: Walk, evaluation: Evaluation) -> Iterator[Draw]:
    """The draws in a training loop that decide what an evaluation is given."""
    outermost = [scope for scope in evaluation.region if scope.kind == "call"][-1:]
    call = walk.call_of(outermost[0]) if outermost else None
    node = call.site.node if call is not None else None
    if call is None or not isinstance(node, ast.Call):
        return
    loop = next((s for s in call.scopes() if s.kind == "loop" and id(s) in walk.training_scopes), None)
    if loop is None or loop.source is not call.site.source:
        return
    given = [*node.args, *(one.value for one in node.keywords)]
    inside = all_nodes(loop.node, ast.Assign)
    made = _made_in(given, inside)
    for one in (*given, *made):
        yield from _draws_of(walk.trace.run.index, call.site.source, list(all_nodes(one)), one)


def _made_in(given: list[ast.expr], assignments: Sequence[ast.Assign]) -> list[ast.expr]:
    """What the names in expressions are assigned in a loop, a few steps back."""
    found: list[ast.expr] = []
    waiting = _names(given)
    for _ in range(FLOWS):
        made = [one.value for one in assignments if waiting & _names(one.targets) and one.value not in found]
        found += made
        waiting = _names(made)
    return found


def _names(nodes: list[ast.expr]) -> set[str]:
    return {one.id for node in nodes for one in all_nodes(node, ast.Name)}


# --- loaders that shuffle and are not gone through


def _cut_short(walk: Walk, evaluation: Evaluation) -> Iterator[Draw]:
    """A loader that shuffles and is left after its first batches."""
    for scope in evaluation.region:
        if scope.kind != "loop" or not isinstance(scope.node, ast.For):
            continue
        taken = _batches_taken(scope.node)
        for loader in sources(scope.value, walk.trace.run) if taken is not None else ():
            batch = _shuffled_batch(loader)
            if batch is not None and taken is not None:
                yield Draw(loader.site.source, loader.site.node, "shuffle=True", batch * taken)


def _batches_taken(loop: ast.For) -> int | None:
    """After how many batches a loop is always left."""
    if any(isinstance(one, ast.Break) for one in loop.body):
        return 1
    for one in loop.body:
        match one:
            case ast.If(
                test=ast.Compare(ops=[op], comparators=[ast.Constant(value=int() as last)]),
                body=[ast.Break()],
            ):
                return last + (1 if isinstance(op, ast.Gt) else 0)
    return None


def _shuffled_batch(loader: Applied) -> int | None:
    """The batch of a loader that shuffles by no generator of its own."""
    if not is_loader(loader):
        return None
    options = {**dict(zip(POSITIONAL, loader.args, strict=False)), **loader.keywords}
    shuffle, batch = options.get("shuffle"), options.get("batch_size", Constant(1))
    is_shuffled = isinstance(shuffle, Constant) and shuffle.value is True and "generator" not in options
    size = batch.value if isinstance(batch, Constant) else None
    return size if is_shuffled and isinstance(size, int) else None
