"""Where a training program measures its network on held-out data, in which mode, and with which weights.

An evaluation is one run of a network that no backward pass belongs to and that something calls an
evaluation: the function around it, what the loop around it runs over, or the names of what goes in and comes
out. The same code run once with and once without a backward pass (a loop over "train" and "val") evaluates in
the latter.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from stethoscope.program.evaluation.cut_short import ShortCut, short_cuts
from stethoscope.program.evaluation.data_origins import are_held_out, names_given
from stethoscope.program.evaluation.doubtful_modes import doubtful_switches
from stethoscope.program.evaluation.trained_runs import (
    ROUNDS,
    all_are_followed,
    innermost_round,
    trained_runs,
)
from stethoscope.program.index import Function, Index
from stethoscope.program.likenesses import words
from stethoscope.program.loop.gradient_modes import without_gradients
from stethoscope.program.loop.moves import Kind, Move, moves
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.events import Assignment, Call, Event, Scope
from stethoscope.program.walk.trace import Trace, traces
from stethoscope.program.walk.values import Applied, Constant, FunctionValue, Instance, Items, Table, Value

# fmt: off
EVALUATION_WORDS = frozenset({
    "validate", "validation", "valid", "val", "evaluate", "evaluation", "eval", "test", "testing",
    "validating", "evaluating", "dev", "holdout", "heldout", "perplexity", "estimate",
})
TRAINING_WORDS = frozenset({"train", "training", "fit", "trainer"})
DATA_WORDS = frozenset({
    "val", "valid", "validation", "test", "eval", "dev", "holdout", "heldout", "held", "evaluation", "vali",
    "tst",
})
OTHER_PURPOSES = frozenset({
    "bn", "statistics", "calibrate", "calibration", "recalibrate", "warmup", "init", "initialize", "mc",
    "uncertainty", "stochastic", "dropout", "adapt", "adaptation", "train", "training", "fit", "rollout",
})
WITHOUT_GRADIENT = ("no_grad", "inference_mode")
WITH_GRADIENT_KNOWN = (
    "autocast", "nullcontext", "fork_rng", "tqdm", "profile", "open", "record_function", "cuda.device",
    "suppress", "timer",
)
# fmt: on


@dataclass(frozen=True, eq=False)
class Evaluation:
    """One run of a network on held-out data.

    `region` are the scopes around it that no training shares, innermost first. `gradients` says that they are
    computed there: None where a context that is not known might switch them off.
    """

    walk: Walk
    forward: Move
    region: tuple[Scope, ...]
    gradients: bool | None

    @property
    def network(self) -> Value | None:
        """What is run."""
        return called_network(self.forward)

    @property
    def function(self) -> Function | None:
        """The function that evaluates: the outermost one of the region, best one that says so, or the one
        around."""
        nodes = {id(scope.node) for scope in self.region if scope.kind == "call"}
        inside = [function for function in self.forward.event.within if id(function.node) in nodes]
        named = [function for function in inside if EVALUATION_WORDS & set(words(function.name))]
        return (named or inside or (self.forward.event.within or (None,))[-1:])[0]


@dataclass(frozen=True, eq=False)
class Walk:
    """One walk of the program with its moves, and the place of every event in it."""

    trace: Trace
    moves: tuple[Move, ...]

    @cached_property
    def position(self) -> dict[int, int]:
        """The place of each event, by id."""
        return {id(event): place for place, event in enumerate(self.trace.events)}

    def place(self, event: Event) -> int:
        """The place of an event in the walk."""
        return self.position[id(event)]

    @cached_property
    def training_scopes(self) -> frozenset[int]:
        """The ids of all scopes that hold a backward pass."""
        return frozenset(
            id(scope) for move in self.moves if move.kind is Kind.BACKWARD for scope in move.event.scopes()
        )

    @cached_property
    def training_nodes(self) -> frozenset[int]:
        """The ids of all loops and functions that hold a backward pass in some round or call."""
        return frozenset(
            id(scope.node)
            for move in self.moves
            if move.kind is Kind.BACKWARD
            for scope in move.event.scopes()
            if scope.kind in {"loop", "call"}
        )

    @cached_property
    def trained(self) -> frozenset[int]:
        """The ids of the calls of networks that a backward pass goes back through."""
        return trained_runs(self.trace, self.moves)

    @cached_property
    def knows_what_trains(self) -> bool:
        """Whether `trained` is all that is trained."""
        return all_are_followed(self.trace, self.moves)

    @cached_property
    def trained_rounds(self) -> tuple[Value | None, ...]:
        """What the innermost loops around the runs of training draw from."""
        runs = (move.event for move in self.moves if id(move.event) in self.trained)
        return tuple(around.value for run in runs if (around := innermost_round(run)) is not None)

    @cached_property
    def doubtful_switches(self) -> tuple[tuple[Event, Value | None], ...]:
        """What may switch the mode of a network, in a way that is not followed to one."""
        return doubtful_switches(self.trace.events, self.moves)

    @cached_property
    def short_cuts(self) -> tuple[ShortCut, ...]:
        """The jumps under a condition, each with what it leaves out."""
        return tuple(short_cuts(self.trace.events))

    @cached_property
    def data_names(self) -> dict[int, list[str]]:
        """The names that values are given, by the id of the value."""
        return names_given(self.trace.events)

    @cached_property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """The runs of networks on held-out data."""
        return tuple(_evaluations(self))

    @cached_property
    def assignments(self) -> dict[int, list[str]]:
        """The names assigned directly or further inside each scope, by the scope's id."""
        found: dict[int, list[str]] = {}
        for event in self.trace.events:
            if isinstance(event, Assignment):
                names = [node.id for node in all_nodes(event.target, ast.Name)]
                for scope in event.scopes():
                    found.setdefault(id(scope), []).extend(names)
        return found

    @cached_property
    def _known_calls(self) -> dict[int, Call | None]:
        return {}

    def call_of(self, scope: Scope) -> Call | None:
        """The call that led into a function's scope."""
        if id(scope) not in self._known_calls:
            self._known_calls[id(scope)] = self._call_into(scope)
        return self._known_calls[id(scope)]

    @cached_property
    def _begins(self) -> dict[int, int]:
        """The place of the first event within each scope."""
        found: dict[int, int] = {}
        for place, event in enumerate(self.trace.events):
            for scope in event.scopes():
                if id(scope) in found:
                    break  # and so are those around it
                found[id(scope)] = place
        return found

    def _call_into(self, scope: Scope) -> Call | None:
        end = self._begins.get(id(scope), 0)
        name = getattr(scope.node, "name", "")
        for event in reversed(self.trace.events[:end]):
            if isinstance(event, Call) and event.scope is scope.outer and _leads_into(event, name):
                return event
        return None


def _leads_into(call: Call, name: str) -> bool:
    if isinstance(call.callee, FunctionValue) and call.callee.function.name == name:
        return True  # also behind another name, or a decorator
    return call.name == name or name in {"__call__", "__init__", "forward"}


@remembered
def walks(index: Index, settings: SettingsTree) -> tuple[Walk, ...]:
    """Every walk of the program that meets a backward pass, hooks of frameworks left out."""
    found = []
    for trace in traces(index, settings):
        if trace.hook is None:
            walk = Walk(trace, moves(trace.run, trace.events))
            if walk.training_scopes or any(move.kind is Kind.BACKWARD for move in walk.moves):
                found.append(walk)
    return tuple(found)


@remembered
def hook_walks(index: Index, settings: SettingsTree) -> tuple[Walk, ...]:
    """The walks of what frameworks call for every batch of training."""
    hooked = (trace for trace in traces(index, settings) if trace.hook is not None)
    return tuple(Walk(trace, moves(trace.run, trace.events)) for trace in hooked)


def called_network(forward: Move) -> Value | None:
    """The network that a forward pass runs: `self.net(x)` runs an attribute of its receiver."""
    call = forward.event
    if not isinstance(call, Call):
        return None
    if call.receiver is None:
        return call.callee
    if call.name == "forward":
        return call.receiver
    if isinstance(call.receiver, Instance):
        return call.receiver.attributes.get(call.name, call.receiver)
    return forward.subject or call.receiver


def _evaluations(walk: Walk) -> Iterator[Evaluation]:
    for move in walk.moves:
        if move.kind is Kind.FORWARD:
            region = tuple(_region(walk, move.event))
            if region and _is_evaluation(walk, move, region):
                yield Evaluation(walk, move, region, _keeps_gradients(walk, move.event))


def _region(walk: Walk, event: Event) -> Iterator[Scope]:
    for scope in event.scopes():
        if id(scope) in walk.training_scopes:
            return
        yield scope


def _is_evaluation(walk: Walk, forward: Move, region: tuple[Scope, ...]) -> bool:
    if not any(scope.kind in {"loop", "comprehension", "call", "with"} for scope in region):
        return False
    if id(forward.event) in walk.trained:
        return False  # whatever the function around it is called
    if any(id(scope.node) in walk.training_nodes for scope in region):
        return True  # the same code trains in another round or call
    if any(_is_named(walk, scope) for scope in region) or _is_fed_held_out(forward):
        return True
    if not without_gradients(forward.event):
        return False
    return _is_over_other_data(walk, forward.event, region) or _measures_others(walk, forward, region)


def _measures_others(walk: Walk, forward: Move, region: tuple[Scope, ...]) -> bool:
    """Whether the network is compared with the answers of a loader that holds other data than training's.

    Nothing may call the data anything: what is known to be of training is not.
    """
    around = innermost_round(forward.event)
    if around is None or not any(scope is around for scope in region) or _refreshes(region):
        return False
    if are_held_out(around.value, walk.data_names) is not None or not _is_compared(around.node):
        return False
    data = _data_of(around.value)
    trained = [_data_of(value) for value in walk.trained_rounds]
    return data is not None and bool(trained) and all(one is not None and one is not data for one in trained)


def _data_of(rounds: Value | None) -> Value | None:
    """The data set of the loader that a loop draws from."""
    if not isinstance(rounds, Applied) or not rounds.callee.endswith("DataLoader"):
        return None
    return rounds.keywords.get("dataset", rounds.args[0] if rounds.args else None)


def _is_compared(loop: ast.AST) -> bool:
    """Whether the last of what a loop draws is held against something: `loss(out, y)`, `out == y`."""
    if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Tuple):
        return False
    answers = {one.id for one in all_nodes(loop.target.elts[-1], ast.Name)}
    given: list[list[ast.expr]] = []
    for part in loop.body:
        given += [one.args for one in all_nodes(part, ast.Call)]
        given += [[one.left, *one.comparators] for one in all_nodes(part, ast.Compare)]
    return any(
        len(held) > 1 and any(isinstance(one, ast.Name) and one.id in answers for one in held)
        for held in given
    )


def _is_over_other_data(walk: Walk, event: Event, region: tuple[Scope, ...]) -> bool:
    """Whether a loop of its own runs over data that were held out, whatever they are called there."""
    around = innermost_round(event)
    if around is None or not any(scope is around for scope in region) or _refreshes(region):
        return False
    rounds = [s for s in region if s.kind in ROUNDS and not isinstance(s.value, Items | Table)]
    return any(are_held_out(scope.value, walk.data_names) is True for scope in rounds)


def _refreshes(region: tuple[Scope, ...]) -> bool:
    """Whether a function runs a network for what it does to its statistics, or for its randomness."""
    named = (words(getattr(scope.node, "name", "")) for scope in region if scope.kind == "call")
    return any(OTHER_PURPOSES & set(spoken) for spoken in named)


def _is_named(walk: Walk, scope: Scope) -> bool:
    node = scope.node
    if scope.kind == "call":
        named = set(words(getattr(node, "name", "")))
        if named & TRAINING_WORDS:
            return False
        return bool(named & EVALUATION_WORDS) or _is_given_held_out(walk, scope)
    if scope.kind in {"loop", "comprehension"}:
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            header: ast.expr | None = node.iter
        else:
            header = getattr(node, "test", None)
        named = {word for name in names_in(header) for word in words(name)} if header is not None else set()
        if named & DATA_WORDS and not named & TRAINING_WORDS:
            return True
        return bool(_texts(scope.value) & DATA_WORDS)
    if scope.kind == "with" and is_without_gradient(scope):
        named = {word for name in walk.assignments.get(id(scope), ()) for word in words(name)}
        return bool(named & DATA_WORDS)
    return False


def _is_given_held_out(walk: Walk, scope: Scope) -> bool:
    """`dice_on(net, val_loader)`: a function is given held-out data to loop over without gradients."""
    call = walk.call_of(scope)
    node = call.site.node if call is not None else None
    if not isinstance(node, ast.Call) or not any(map(_is_loop, all_nodes(scope.node))):
        return False
    given = (*node.args, *(keyword.value for keyword in node.keywords))
    named = {word for arg in given for name in names_in(arg) for word in words(name)}
    return bool(named & DATA_WORDS) and not named & TRAINING_WORDS


def _is_loop(node: ast.AST) -> bool:
    return isinstance(node, ast.For | ast.comprehension)


def _is_fed_held_out(forward: Move) -> bool:
    """`model(x_val)`."""
    node = forward.event.site.node
    given = node.args if isinstance(node, ast.Call) else []
    named = {word for arg in given for name in names_in(arg) for word in words(name)}
    return bool(named & DATA_WORDS) and not named & TRAINING_WORDS


def _texts(value: Value | None) -> set[str]:
    """The known texts that a loop runs over: ("train", "val")."""
    items: list[Value] = []
    if isinstance(value, Items):
        items = value.items
    elif isinstance(value, Table):
        items = [Constant(key) for key in value.entries]
    found = {item.value for item in items if isinstance(item, Constant)}
    return {word for text in found if isinstance(text, str) for word in words(text)}


def names_in(node: ast.AST) -> Iterator[str]:
    """The identifiers and texts in an expression."""
    for inner in all_nodes(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, ast.Attribute):
            yield inner.attr
        elif isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value


# Gradients


def is_without_gradient(scope: Scope) -> bool:
    """Whether a `with` switches gradients off."""
    value = scope.value
    if isinstance(value, Applied):
        last = value.callee.removesuffix("()").rpartition(".")[2]
        if last == "set_grad_enabled":
            return bool(value.args) and isinstance(value.args[0], Constant) and value.args[0].value is False
        return last in WITHOUT_GRADIENT
    return False


def _keeps_gradients(walk: Walk, event: Event) -> bool | None:
    unknown = False
    for scope in event.scopes():
        if scope.kind == "with":
            if is_without_gradient(scope):
                return False
            unknown = unknown or not _is_harmless_context(scope)
    for function in event.within:
        for name in function.decorators:
            if name.rpartition(".")[2] in WITHOUT_GRADIENT:
                return False
            unknown = unknown or name.rpartition(".")[2] not in {"staticmethod", "classmethod", "property"}
    if _switched_off_before(walk, event):
        return False
    return None if unknown else True


def _is_harmless_context(scope: Scope) -> bool:
    text = ast.unparse(scope.node)
    return any(name in text for name in WITH_GRADIENT_KNOWN)


def _switched_off_before(walk: Walk, event: Event) -> bool:
    """`torch.set_grad_enabled(False)`, or any setting of it that is not known."""
    end = walk.place(event)
    for other in reversed(walk.trace.events[:end]):
        if isinstance(other, Call) and other.name in {"set_grad_enabled", "_set_grad_enabled"}:
            mode = other.args[0] if other.args else None
            return not (isinstance(mode, Constant) and mode.value is True)
        if isinstance(other, Call) and other.name == "__enter__":
            return True
    return False
