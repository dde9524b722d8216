"""Random numbers that come again: one stream for all workers, seeds in every round, first batches."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.data.batches import datasets, is_loader
from stethoscope.program.data.ingredients import ingredients
from stethoscope.program.data.training_data import POSITIONAL, TrainingLoader, sources
from stethoscope.program.evaluation.evaluations import EVALUATION_WORDS, Walk
from stethoscope.program.index import Class, Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.loop.moves import Kind, full_name
from stethoscope.program.loop.whole_trainings import makes_its_network
from stethoscope.program.settings.stated_options import stated
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.events import Assignment, Call, Event, Scope
from stethoscope.program.walk.network_passes import is_network_pass
from stethoscope.program.walk.values import (
    Applied,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Items,
    Part,
    Site,
    Value,
    inputs,
    is_nothing,
)
from stethoscope.run import Source

# fmt: off
GENERATORS = frozenset({"default_rng", "RandomState", "Random", "Generator", "SeedSequence"})
SEEDS_ALL = frozenset({
    "torch.manual_seed", "torch.random.manual_seed", "torch.cuda.manual_seed", "torch.cuda.manual_seed_all",
    "random.seed", "numpy.random.seed",
})
RESTORING = frozenset({
    "fork_rng", "get_rng_state", "set_rng_state", "getstate", "setstate", "get_state", "set_state",
})
ASIDE = frozenset({
    "sample", "sampling", "generate", "plot", "visualize", "visualise", "preview", "demo", "log",
})
DRAWING = frozenset({
    "rand", "randn", "randint", "random", "choice", "choices", "sample", "shuffle", "permutation", "uniform",
    "normal", "integers", "randperm", "rand_like", "randn_like", "randrange", "standard_normal",
})
# fmt: on
# What divides a stream among those that read it: a place among them, or how many they are.
TOLD_APART = re.compile(
    r"(?i)worker|rank|world_size|node_split|split_by|num_shards|shard_?(?:id|idx|index|num|count)|\.shard\(|islice"
)
STEPS_OF_BATCHES = frozenset({"training_step", "compute_loss", "on_train_batch_start"})
MOST_PASSES = 40  # of networks, that are looked behind
WORKERS_PLACE = 5  # of num_workers among the arguments of a loader


@dataclass(frozen=True, slots=True, eq=False)
class SharedStream:
    """A generator that every worker of a loader has a copy of, and where items draw from it."""

    source: Source
    made: ast.AST
    drawn: ast.AST
    name: str


def shared_streams(loader: TrainingLoader) -> Iterator[SharedStream]:
    """The generators that a data set makes for itself before its workers are begun."""
    if not has_plain_workers(loader, 1) or loader.dataset is None:
        return
    for dataset in datasets(loader.run, loader.dataset):
        if isinstance(dataset, Instance):
            yield from _streams_of(loader.run.index, dataset.cls)


def has_plain_workers(loader: TrainingLoader, least: int) -> bool:
    """Whether a loader has at least so many workers, and nothing tells them apart."""
    options = loader.options
    given = loader.made.args
    workers = given[WORKERS_PLACE] if len(given) > WORKERS_PLACE else options.get("num_workers")
    init = options.get("worker_init_fn")
    is_plain = init is None or is_nothing(init)
    workers = stated(loader.run.index, loader.run.settings, workers)
    is_known = isinstance(workers, Constant) and isinstance(workers.value, int)
    return is_plain and loader.options_known and is_known and _number(workers) >= least


def _number(value: Value | None) -> int:
    known = value.value if isinstance(value, Constant) else 0
    return known if isinstance(known, int) else 0


def _streams_of(index: Index, cls: Class) -> Iterator[SharedStream]:
    lineage = index.lineage(cls)
    methods = {name: one for base in reversed(lineage) for name, one in base.methods.items()}
    init, item = methods.get("__init__"), methods.get("__getitem__") or methods.get("__iter__")
    if init is None or item is None or _tells_workers_apart(methods):
        return
    for name, node in _generators(init):
        if any(name in _set_in(method) for one, method in methods.items() if one != "__init__"):
            continue  # made anew while it is used
        drawn = next((one for one in _reached(methods, item) if _draws_from(one, name)), None)
        if drawn is not None:
            yield SharedStream(init.source, node, drawn, f"self.{name}")


def _tells_workers_apart(methods: dict[str, Function]) -> bool:
    return any("get_worker_info" in ast.unparse(method.node) for method in methods.values())


def _generators(init: Function) -> Iterator[tuple[str, ast.AST]]:
    """`self.rng = np.random.default_rng(seed)`."""
    for node in own_nodes(init.node):
        match node:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=made):
                calls = (one for one in all_nodes(made, ast.Call))
                if any(bare_name(one) in GENERATORS for one in calls):
                    yield name, node


def _set_in(method: Function) -> set[str]:
    stored = (node for node in own_nodes(method.node, ast.Attribute))
    return {node.attr for node in stored if isinstance(node.ctx, ast.Store)}


def reached_by_items(index: Index, cls: Class) -> Iterator[Function]:
    """What makes an item of a data set, and the methods that it calls."""
    methods = {name: one for base in reversed(index.lineage(cls)) for name, one in base.methods.items()}
    item = methods.get("__getitem__") or methods.get("__iter__")
    if item is not None:
        yield from _called_for(methods, item)


def _called_for(methods: dict[str, Function], item: Function) -> Iterator[Function]:
    yield item
    for node in own_nodes(item.node):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)) if name in methods:
                yield methods[name]


def _reached(methods: dict[str, Function], item: Function) -> Iterator[ast.AST]:
    """The nodes of what makes an item, and of the methods that it calls."""
    for method in _called_for(methods, item):
        yield from own_nodes(method.node)


def _draws_from(node: ast.AST, name: str) -> bool:
    """`self.rng.random()`, `torch.rand(2, generator=self.rng)`."""
    if not isinstance(node, ast.Call):
        return False
    match node.func:
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id="self"), attr=found)) if found == name:
            return True
    given = (keyword.value for keyword in node.keywords if keyword.arg == "generator")
    return any(ast.unparse(one) == f"self.{name}" for one in given)


def repeated_stream(loader: TrainingLoader) -> Class | None:
    """The stream of data that every worker goes through as a whole."""
    if not has_plain_workers(loader, 2) or loader.dataset is None:
        return None
    for dataset in datasets(loader.run, loader.dataset):
        if not isinstance(dataset, Instance):
            continue
        index = loader.run.index
        bases = {base.rpartition(".")[2] for base in index.outside_bases(dataset.cls)}
        text = " ".join(_code(one) for one in index.lineage(dataset.cls))
        if "IterableDataset" in bases and not _is_random_or_split(index, dataset.cls, text):
            return dataset.cls
    return None


def _code(cls: Class) -> str:
    """The methods of a class, without what is said about them."""
    bodies = [
        [
            one
            for one in method.node.body
            if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
        ]
        for method in cls.methods.values()
    ]
    signatures = [ast.unparse(method.node.args) for method in cls.methods.values()]
    return " ".join([*signatures, *(ast.unparse(one) for body in bodies for one in body)])


def _is_random_or_split(index: Index, cls: Class, text: str) -> bool:
    """Whether workers are told apart, or draw at random: each with a seed of its own."""
    order = index.method(cls, "__iter__")
    nodes = own_nodes(order.node) if order is not None else ()
    seeded = set(_seeded_alike(nodes))
    draws = any(
        isinstance(one, ast.Call) and bare_name(one) in DRAWING and _holder(one) not in seeded
        for one in nodes
    )
    hands_on = any(
        isinstance(one, ast.Call) and bare_name(one) in {"load_dataset", "WebDataset"} for one in nodes
    )
    return draws or hands_on or order is None or bool(TOLD_APART.search(text))


def _seeded_alike(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """`rng = random.Random(seed + epoch)`: generators that are the same in every worker."""
    for node in nodes:
        match node:
            case ast.Assign(targets=[target], value=ast.Call(args=[seed, *_]) as made):
                known = {"getpid", "time", "time_ns", "urandom", "initial_seed", "seed", "randint"}
                is_drawn = any(bare_name(one) in known for one in all_nodes(seed, ast.Call))
                if bare_name(made) in GENERATORS and not is_drawn:
                    yield ast.unparse(target)


def _holder(call: ast.Call) -> str:
    """What draws: `rng` in `rng.shuffle(files)`; a generator that is made for one draw by its seed."""
    return ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""


# --- seeds


@dataclass(frozen=True, slots=True, eq=False)
class SeedAgain:
    """A seed that is set to the same number in every round of a training loop.

    `aside` says that a function sets it which only measures or shows what was learned.
    """

    seed: Call
    loop: Scope
    aside: bool


def seeds_again(walk: Walk) -> Iterator[SeedAgain]:
    """The seeds that training sets again and again."""
    for event in walk.trace.events:
        if not isinstance(event, Call) or full_name(event) not in SEEDS_ALL or not event.args:
            continue
        loop = next((s for s in event.scopes() if s.kind == "loop" and id(s) in walk.training_scopes), None)
        if loop is None or not isinstance(event.args[0], Constant) or _is_put_back(event):
            continue
        if makes_its_network(walk.trace, walk.moves, loop):
            continue  # folds, seeds or optimizers that are compared begin alike on purpose
        conditions = [s for s in event.scopes() if s.kind == "if" and _is_inside(s, loop)]
        if not conditions or any(scope.kind == "call" for scope in _up_to(event, loop)):
            yield SeedAgain(event, loop, any(_is_aside(scope) for scope in _up_to(event, loop)))


def seeds_in_steps(walk: Walk) -> Iterator[Call]:
    """The seeds that a step sets which a framework calls for every batch."""
    for event in walk.trace.events:
        if not isinstance(event, Call) or full_name(event) not in SEEDS_ALL or not event.args:
            continue
        is_step = any(function.name in STEPS_OF_BATCHES for function in event.within)
        is_asked = any(scope.kind == "if" for scope in event.scopes())
        if is_step and not is_asked and isinstance(event.args[0], Constant) and not _is_put_back(event):
            yield event


def generators_again(walk: Walk) -> Iterator[Call]:
    """The generators that a round makes anew from one seed, and that its loss was drawn with."""
    rounds = [move for move in walk.moves if move.kind is Kind.BACKWARD and move.subject is not None]
    for event in walk.trace.events:
        if not isinstance(event, Call) or not _seeds_generator(event):
            continue
        around = _loop_around(event)
        if around is None or any(s.kind == "if" for s in _up_to(event, around)):
            continue
        if not _stays_the_same(walk, event.args[0], around):
            continue
        losses = [move.subject for move in rounds if _loop_around(move.event) is around]
        if any(_is_drawn_with(walk, loss, event) for loss in losses if loss is not None):
            yield event


def _seeds_generator(event: Call) -> bool:
    """`default_rng(0)`, `torch.Generator().manual_seed(0)`."""
    if not event.args:
        return False
    if event.name in GENERATORS:
        return True
    made = event.receiver if event.name == "manual_seed" else None
    return isinstance(made, Applied) and made.callee.rpartition(".")[2] in GENERATORS


def _stays_the_same(walk: Walk, seed: Value, around: Scope) -> bool:
    """Whether a seed is one number in all rounds: a constant, or a setting that nothing counts up."""
    if isinstance(seed, Constant):
        return isinstance(seed.value, int) and not _is_counted(seed, around)
    if not isinstance(seed, Part):
        return False
    base, keys = seed.base, {seed.key}
    while isinstance(base, Part):
        keys.add(base.key)
        base = base.base
    is_told = isinstance(base, Applied) and base.callee.endswith("parse_args")
    return is_told and not any(
        isinstance(event, Assignment)
        and isinstance(event.target, ast.Attribute)
        and event.target.attr in keys
        and any(scope is around for scope in event.scopes())
        for event in walk.trace.events
    )


def _is_counted(seed: Constant, around: Scope) -> bool:
    """Whether the number is one that the loop gives: one over known numbers is followed once for each."""
    return isinstance(around.value, Items) and any(one is seed for one in around.value.items)


def _loop_around(event: Event) -> Scope | None:
    return next((scope for scope in event.scopes() if scope.kind == "loop"), None)


def _is_drawn_with(walk: Walk, loss: Value, made: Call) -> bool:
    """Whether what is learned from was drawn by a generator, in what networks are given too."""
    run, waiting, passes = walk.trace.run, [loss], 0
    while waiting and passes < MOST_PASSES:
        for one in ingredients(run, waiting.pop(0), through_networks=True):
            if isinstance(one, Applied) and one.site.node is made.site.node:
                return True
            if is_network_pass(run.index, one):
                passes += 1
                waiting.extend(inputs(one))
    return False


def _is_aside(scope: Scope) -> bool:
    spoken = set(words(getattr(scope.node, "name", ""))) if scope.kind == "call" else set()
    return bool(spoken & (EVALUATION_WORDS | ASIDE))


def _up_to(event: Event, loop: Scope) -> Iterator[Scope]:
    for scope in event.scopes():
        if scope is loop:
            return
        yield scope


def _is_inside(scope: Scope, loop: Scope) -> bool:
    return any(one is loop for one in scope.outwards())


def _is_put_back(event: Call) -> bool:
    """Whether the numbers are set back behind it: by `fork_rng`, or by the state from before."""
    if any(scope.kind == "with" and "rng" in ast.unparse(scope.node) for scope in event.scopes()):
        return True
    around = event.within[-1].node if event.within else event.site.source.tree
    return any(isinstance(one, ast.Call) and bare_name(one) in RESTORING for one in all_nodes(around))


# --- first batches


def first_batches(walk: Walk) -> Iterator[tuple[Call, Site]]:
    """`next(iter(loader))` in a training loop, of a loader that keeps its order."""
    for event in walk.trace.events:
        if not isinstance(event, Call) or event.name != "next" or not event.args:
            continue
        begun = event.args[0]
        node = event.site.node
        is_begun_here = isinstance(node, ast.Call) and bool(node.args) and _is_iter(node.args[0])
        in_loop = any(s.kind == "loop" and id(s) in walk.training_scopes for s in event.scopes())
        if not is_begun_here or not in_loop or not isinstance(begun, Applied):
            continue
        for loader in sources(begun, walk.trace.run):
            if is_loader(loader) and _keeps_order(loader) and _is_trained_on(walk, event):
                yield event, loader.site


def streams_begun_again(walk: Walk) -> Iterator[tuple[Call, Site]]:
    """`stream = read(file)` before every update, of a generator that keeps its order, and `next(stream)`."""
    updating = [_loop_around(move.event) for move in walk.moves if move.updates]
    calls = [event for event in walk.trace.events if isinstance(event, Call)]
    begun_at = {id(event.site.node): _loop_around(event) for event in calls}
    for event in calls:
        begun = event.args[0] if event.name == "next" and event.args else None
        if not isinstance(begun, Delayed) or not _streams_in_order(begun):
            continue
        around = begun_at.get(id(begun.site.node))
        if around is not None and any(map(_is_aside, _up_to(event, around))):
            continue  # a look at what was learned, at whatever comes first
        if _reads_in_another_order(walk, begun):
            continue
        if around is not None and any(around is one for one in updating) and _is_within(event, around):
            yield event, begun.site


def _streams_in_order(begun: Delayed) -> bool:
    """Whether a call begins a generator of the repository that draws no random numbers."""
    if not isinstance(begun.callee, FunctionValue):
        return False
    nodes = own_nodes(begun.callee.function.node)
    is_stream = any(isinstance(node, ast.Yield) for node in nodes)
    return is_stream and not any(isinstance(one, ast.Call) and bare_name(one) in DRAWING for one in nodes)


def _reads_in_another_order(walk: Walk, begun: Delayed) -> bool:
    """Whether a stream goes through a loader that shuffles: it never begins alike."""
    made = (one for given in begun.args for one in ingredients(walk.trace.run, given))
    return any(is_loader(one) and isinstance(one, Applied) and not _keeps_order(one) for one in made)


def _is_within(event: Event, loop: Scope) -> bool:
    return any(scope is loop for scope in event.scopes())


def _is_iter(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and bare_name(node) == "iter"


def _keeps_order(loader: Applied) -> bool:
    options = {**dict(zip(POSITIONAL, loader.args, strict=False)), **loader.keywords}
    shuffle = options.get("shuffle")
    is_off = shuffle is None or (isinstance(shuffle, Constant) and not shuffle.value)
    return is_off and not {"sampler", "batch_sampler"} & options.keys()


def _is_trained_on(walk: Walk, event: Call) -> bool:
    """Whether the innermost loop around a draw holds a backward pass, and no evaluation does."""
    around = list(event.scopes())
    inner = next((scope for scope in around if scope.kind in {"loop", "call"}), None)
    # What is drawn now and then, to look at what the network makes of it, is looked at again on purpose.
    is_aside = any(scope.kind == "if" and id(scope) not in walk.training_scopes for scope in around)
    return inner is not None and id(inner) in walk.training_scopes and not is_aside
