"""The loaders that training draws from: their data sets, order and samplers."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from stethoscope.program.data.ingredients import ingredients, part_path
from stethoscope.program.evaluation.evaluations import DATA_WORDS
from stethoscope.program.index import Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.loop.moves import Kind
from stethoscope.program.loop.training_loop import TrainingLoop, level, training_loops
from stethoscope.program.loop.whole_trainings import searches_for_samples
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.events import Call, Event, Scope
from stethoscope.program.walk.execution import STEPS, Execution, Exhausted
from stethoscope.program.walk.network_passes import is_network_pass
from stethoscope.program.walk.trace import TRACE_STEPS
from stethoscope.program.walk.values import (
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
MOST_PASSES = 20  # of networks, between a loss and the data


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
        if searches_for_samples(loop):
            continue
        drawn = (made for scope in around(loop) for made in sources(scope.value, loop.run))
        looped = [made for made in drawn if _is_loader(made)]
        for made in (*looped, *_behind_losses(loop)):
            found.setdefault(id(made.site.node), _loader(made, loop.run, loop.trace.events, loop))
    for loader in _of_frameworks(index, settings):
        found.setdefault(id(loader.site.node), loader)
    return tuple(found.values())


def around(loop: TrainingLoop) -> tuple[Scope, ...]:
    """The loops and comprehensions around the backward pass, innermost first."""
    first = next(iter(loop.of(Kind.BACKWARD)), None)
    scopes = first.event.scopes() if first is not None else iter(())
    return tuple(scope for scope in scopes if scope.kind in {"loop", "comprehension"})


def sources(value: Value | None, run: Execution | None = None) -> Iterator[Applied]:
    """What a loop over a value draws from, through enumerate, zip, wrappers and alternatives.

    With a walk, what a function of the program answers with is followed too.
    """
    match value:
        case Choice(options=options):
            for option in options:
                yield from sources(option, run)
        case Items(items=items):
            for item in items[:4]:
                if not _is_called_held_out(item):
                    yield from sources(item, run)
        case Part(base=base, key="*"):
            yield from sources(base, run)
        case Applied(callee="map" | "filter", args=[_, first, *_]):
            yield from sources(first, run)
        case Applied(callee=callee, args=[first, *rest]) if not _is_loader(value) and _passes_on(callee):
            is_method = callee.startswith(".") and bool(rest)  # `metrics.log_every(loader, 10)`
            yield from sources(rest[0] if is_method else first, run)
        case Instance(cls=cls, made_with=given) if "__iter__" in cls.methods:  # one that goes through another
            others = (one for name, one in given.items() if name != "self")
            held = (made for one in others for made in sources(one, run))
            yield from (made for made in held if _is_loader(made))
        case Delayed(args=args, keywords=keywords):  # a generator goes through the loader it is given
            each = [made for one in (*args, *keywords.values()) for made in sources(one, run)]
            loaders = [made for made in each if _is_loader(made)]
            answer = quietly(run, value) if run is not None and not loaders else None
            yield from loaders
            yield from sources(answer, run) if not isinstance(answer, Delayed) else ()
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

    def before_loaders(value: Value) -> Iterable[Value]:
        """What a stream is made of; what a loader loads may have been made of another, long before."""
        is_made_here = isinstance(value, Delayed) and _is_loader(quietly(loop.run, value))
        return () if is_made_here or _is_loader(value) else inputs(value)

    drawn = (one for stream in streams for one in ingredients(loop.run, stream, leading=before_loaders))
    return {id(one) for one in drawn if _is_loader(one)}


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
        "from_iterable",
        "repeat",
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
    given = {**dict(zip(POSITIONAL, made.args, strict=False)), **made.keywords}
    options = {name: quietly(run, value) for name, value in given.items()}
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


def repeats(loader: TrainingLoader) -> bool:
    """Whether the loop draws from the loader more than once: there is a loop of epochs around it."""
    loop = loader.loop
    if loop is None:
        return False
    drawing = [scope for scope in around(loop) if any(map(_is_loader, sources(scope.value, loop.run)))]
    outside = [scope for scope in loop.loops if scope not in drawing and scope is not loop.micro]
    if _is_drawn_without_end(loader, loop):
        return True
    return any(level(loop.run, scope) in {"epoch", "step", ""} for scope in outside)


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
