"""The loaders that training draws from: their data sets, order and samplers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from stethoscope.program.evaluation import DATA_WORDS
from stethoscope.program.events import Call, Event
from stethoscope.program.execution import STEPS, Execution, Exhausted
from stethoscope.program.index import Class, Function, Index, dotted
from stethoscope.program.ingredients import ingredients, part_path
from stethoscope.program.likenesses import words
from stethoscope.program.moves import Kind
from stethoscope.program.network_passes import is_network_pass
from stethoscope.program.remembered import remembered
from stethoscope.program.settings_tree import SettingsTree
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.trace import TRACE_STEPS
from stethoscope.program.training_loop import TrainingLoop, level, training_loops
from stethoscope.program.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Items,
    Part,
    Site,
    Value,
    inputs,
)

POSITIONAL = ("dataset", "batch_size", "shuffle", "sampler", "batch_sampler")
SHUFFLING = frozenset({"shuffle", "randperm", "permutation", "sample", "shuffled"})
MOST_PASSES = 20  # of networks, between a loss and the data
SHUFFLE_PLACE = 3  # among the arguments of a distributed sampler
TABLE_STEPS = frozenset({
    ".map", ".with_format", ".remove_columns", ".rename_column", ".rename_columns", ".filter", ".cast_column",
    ".set_transform", ".with_transform", ".select_columns",
})  # fmt: skip
DRAWING = frozenset({"randn", "rand", "randint", "normal", "uniform", "standard_normal", "integers"})


@dataclass(frozen=True, slots=True, eq=False)
class TrainingLoader:
    """A DataLoader that training draws batches from.

    `options` are its arguments by name; `options_known` is false where some came from what could not be
    resolved. `loop` is the training loop, None where a framework has it.
    """

    made: Applied
    options: dict[str, Value]
    options_known: bool
    run: Execution
    loop: TrainingLoop | None = None

    @property
    def site(self) -> Site:
        """Where the loader is made."""
        return self.made.site

    @property
    def dataset(self) -> Value | None:
        """What it loads."""
        return self.options.get("dataset")


@remembered
def training_loaders(index: Index, settings: SettingsTree) -> tuple[TrainingLoader, ...]:
    """Every loader that a training loop or a framework's training draws from."""
    found: dict[int, TrainingLoader] = {}
    for loop in training_loops(index, settings):
        looped = (made for scope in loop.loops for made in sources(scope.value) if _is_loader(made))
        for made in (*looped, *_behind_losses(loop)):
            found.setdefault(id(made.site.node), _loader(made, loop.run, loop.trace.events, loop))
    for loader in _of_frameworks(index, settings):
        found.setdefault(id(loader.site.node), loader)
    return tuple(found.values())


def sources(value: Value | None) -> Iterator[Applied]:
    """What a loop over a value draws from, through enumerate, zip, wrappers and alternatives."""
    match value:
        case Choice(options=options):
            for option in options:
                yield from sources(option)
        case Items(items=items):
            for item in items[:4]:
                if not _is_called_held_out(item):
                    yield from sources(item)
        case Part(base=base, key="*"):
            yield from sources(base)
        case Applied(callee=callee, args=[first, *_]) if not _is_loader(value) and _passes_on(callee):
            yield from sources(first)
        case Delayed(args=args, keywords=keywords):  # a generator goes through the loader it is given
            for given in (*args, *keywords.values()):
                yield from (made for made in sources(given) if _is_loader(made))
        case Applied():
            yield value


def _is_called_held_out(item: Value) -> bool:
    """`("test", test_loader)`, in a loop that trains with one of its rows and measures with another."""
    texts = [one.value for one in item.items if isinstance(one, Constant)] if isinstance(item, Items) else []
    return any(isinstance(text, str) and DATA_WORDS & set(words(text)) for text in texts)


def _behind_losses(loop: TrainingLoop) -> Iterator[Applied]:
    """The loaders whose batches lead to a loss, as by `next(stream)` or through a generator."""
    loop.run.steps = max(loop.run.steps, STEPS // 4)
    backward = {id(move.event.site.node) for move in loop.of(Kind.BACKWARD)}
    try:
        drawn = _drawn_in_loop(loop)
        for event in loop.trace.events if drawn else ():  # one backward is met once for each loader
            if isinstance(event, Call) and id(event.site.node) in backward:
                given = [event.receiver] if event.receiver is not None else []
                made = _loaders_behind(loop.run, [*given, *event.args])
                yield from (loader for loader in made if id(loader) in drawn)
    except (Exhausted, RecursionError):
        return


def _drawn_in_loop(loop: TrainingLoop) -> set[int]:
    """The loaders that give batches while the loop goes round: a batch drawn before it is no training."""
    around = set(map(id, loop.loops))
    streams: list[Value] = [scope.value for scope in loop.loops if isinstance(scope.value, Delayed)]
    streams += (
        event.args[0]
        for event in loop.trace.events
        if isinstance(event, Call) and event.name == "next" and event.args
        if any(id(scope) in around for scope in event.scopes())
    )
    return {id(one) for stream in streams for one in ingredients(loop.run, stream) if _is_loader(one)}


def _loaders_behind(run: Execution, waiting: list[Value]) -> Iterator[Applied]:
    seen: set[int] = set()
    while waiting and len(seen) < MOST_PASSES:
        for one in ingredients(run, waiting.pop()):
            loader, keys = part_path(one)
            if _is_loader(loader) and isinstance(loader, Applied) and keys[:1] == ("*",):
                yield loader
            if is_network_pass(run.index, one) and id(one) not in seen:
                seen.add(id(one))
                waiting.extend(inputs(one))


def _passes_on(callee: str) -> bool:
    last = callee.rpartition(".")[2].lower()
    return last in {
        "tqdm",
        "track",
        "cycle",
        "islice",
        "chain",
        "prepare",
        "iter",
        "log_every",
        "next",
        "range",
    }


def _is_loader(value: Value | None) -> bool:
    return isinstance(value, Applied) and value.callee.rpartition(".")[2] == "DataLoader"


def _loader(
    made: Applied, run: Execution, events: tuple[Event, ...], loop: TrainingLoop | None
) -> TrainingLoader:
    options = {**dict(zip(POSITIONAL, made.args, strict=False)), **made.keywords}
    calls = (event for event in events if isinstance(event, Call) and event.site.node is made.site.node)
    known = all(call.arguments_known for call in calls)
    return TrainingLoader(made, options, known, run, loop)


def _of_frameworks(index: Index, settings: SettingsTree) -> Iterator[TrainingLoader]:
    """What `train_dataloader` hooks give back, and what a Hugging Face Trainer is told to train on."""
    for cls in index.classes:
        method = cls.methods.get("train_dataloader") or cls.methods.get("get_train_dataloader")
        if method is None:
            continue
        run = Execution(index, settings, TRACE_STEPS // 4, tracing=True)
        try:
            returned = run.force(run.enter(method, run.make(cls)))
        except (Exhausted, RecursionError):
            continue
        for made in sources(returned):
            if _is_loader(made):
                yield _loader(made, run, tuple(run.events), None)


def is_map_style(index: Index, dataset: Value | None) -> bool:
    """Whether a data set is known to be one whose order the loader decides."""
    match dataset:
        case Instance(cls=cls):
            bases = {base.rpartition(".")[2] for base in index.outside_bases(cls)}
            is_indexed = index.method(cls, "__getitem__") is not None
            return is_indexed and not bases & {"IterableDataset", "IterDataPipe"}
        case Applied(callee=callee, args=[joined, *_]) if callee.endswith("ConcatDataset"):
            parts = joined.items if isinstance(joined, Items) else []
            return bool(parts) and all(is_map_style(index, part) for part in parts)
        case Applied() | Part() if _is_stored_table(dataset):
            return True
        case Applied(callee=callee):
            home, _, last = callee.rpartition(".")
            return "torchvision.datasets" in home or last in {"TensorDataset", "ImageFolder", "random_split"}
        case Part(base=base, key=int()):
            return is_map_style(index, base)
        case Choice(options=options):
            return all(is_map_style(index, option) for option in options)
    return False


def _is_stored_table(value: Value) -> bool:
    """Whether a value is a split of `datasets.load_dataset(...)`, mapped or not, that nothing has mixed."""
    while True:
        match value:
            case Part(base=base):
                value = base
            case Applied(callee="[]", args=[base, *_]):
                value = base
            case Applied(callee=callee, args=[base, *_]) if callee in TABLE_STEPS:
                value = base
            case Applied(callee=callee, keywords=keywords):
                is_loaded = callee in {"datasets.load_dataset", "datasets.load_from_disk"}
                return is_loaded and is_off(keywords.get("streaming"))
            case _:
                return False


def mixes_by_itself(index: Index, dataset: Value | None) -> bool:
    """Whether a data set of the repository shuffles, or makes its items up whatever the index."""
    if not isinstance(dataset, Instance):
        return False
    return any(_shuffles(ancestor) or _ignores_index(ancestor) for ancestor in index.lineage(dataset.cls))


@lru_cache(maxsize=512)
def _shuffles(cls: Class) -> bool:
    return any(
        isinstance(node, ast.Call) and (dotted(node.func) or "").rpartition(".")[2] in telling
        for method in cls.methods.values()
        # Items that were all drawn at random have no order to lose.
        for telling in (SHUFFLING | DRAWING if method.name == "__init__" else SHUFFLING,)
        for node in own_nodes(method.node)
    )


@lru_cache(maxsize=512)
def _ignores_index(cls: Class) -> bool:
    method = cls.methods.get("__getitem__")
    if method is None or len(method.parameters) < 2:
        return False
    return not _reads(method, method.parameters[1])


def _reads(method: Function, name: str) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        for node in own_nodes(method.node)
    )


def is_off(value: Value | None) -> bool:
    """Whether an option is absent, None or False."""
    return value is None or (isinstance(value, Constant) and not value.value)


def is_parsed(value: Part) -> bool:
    """Whether a value is an option of the command line: `parser.parse_args().shuffle`."""
    return isinstance(value.base, Applied) and value.base.callee.endswith(("parse_args", "parse_known_args"))


def goes_in_order(sampler: Value | None) -> bool:
    """Whether a sampler gives the stored order: a sequential one, or a distributed one without shuffling."""
    match sampler:
        case Choice(options=options):
            return all(is_off(option) or goes_in_order(option) for option in options)
        case Applied(callee=callee, args=args, keywords=keywords):
            kind = callee.rpartition(".")[2]
            if kind.endswith("DistributedSampler"):
                given = args[SHUFFLE_PLACE] if len(args) > SHUFFLE_PLACE else keywords.get("shuffle")
                return given is not None and is_off(given)
            return kind == "SequentialSampler"
    return False


def repeats(loader: TrainingLoader) -> bool:
    """Whether the loop draws from the loader more than once: there is a loop of epochs around it."""
    loop = loader.loop
    if loop is None:
        return False
    around = [scope for scope in loop.loops if not any(_is_loader(made) for made in sources(scope.value))]
    if _is_drawn_without_end(loader, loop):
        return True
    return any(level(loop.run, scope) in {"epoch", "step", ""} for scope in around if scope is not loop.micro)


def _is_drawn_without_end(loader: TrainingLoader, loop: TrainingLoop) -> bool:
    """Whether a generator that goes through what it is given again and again has the loader."""
    return any(
        isinstance(event, Call)
        and isinstance(event.callee, FunctionValue)
        and _never_ends(event.callee.function)
        and any(loader.made in sources(given) for given in (*event.args, *event.keywords.values()))
        for event in loop.trace.events
    )


@lru_cache(maxsize=512)
def _never_ends(function: Function) -> bool:
    """`while True: yield from batches`."""
    return any(
        isinstance(node, ast.While)
        and any(isinstance(inner, ast.Yield | ast.YieldFrom) for inner in all_nodes(node))
        for node in own_nodes(function.node)
    )
