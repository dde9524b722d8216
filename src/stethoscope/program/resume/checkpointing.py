"""What a run that is continued gets back: weights, optimizer, schedule, averages and the count of steps."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from stethoscope.program.evaluation.evaluations import Walk, names_in
from stethoscope.program.evaluation.frozen_copies import is_copy, trained_networks
from stethoscope.program.likenesses import words
from stethoscope.program.loop.derived_schedulers import as_of_library
from stethoscope.program.loop.moves import Kind, Move, receiver_role
from stethoscope.program.loop.roles import Role, role_by_name, role_of
from stethoscope.program.resume.own_checkpoints import is_written_by_training
from stethoscope.program.settings.settings_tree import HOLDERS
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.ancestry import ancestry, quietly
from stethoscope.program.walk.events import Assignment, Call, Event, Scope
from stethoscope.program.walk.networks import networks
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    ClassValue,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Items,
    Leaf,
    Part,
    Table,
    Value,
)

# fmt: off
COUNTER_WORDS = frozenset({
    "epoch", "epochs", "step", "steps", "iter", "iters", "iteration", "iterations", "it", "niter",
})
RESUME_WORDS = frozenset({"resume", "resuming", "resumed", "restart", "continue", "continued", "continuing"})
OTHER_PURPOSES = frozenset({
    "pretrained", "pretrain", "finetune", "finetuning", "transfer", "initial", "initialize", "backbone",
    "teacher", "best", "test", "eval", "evaluate", "ema", "inference", "export", "warm", "average", "swa",
})
STARTS = frozenset({"pretrained", "pretrain", "finetune", "finetuning", "transfer"})
LOADING = frozenset({"load", "load_file", "load_checkpoint", "restore", "safe_load", "load_torch_file"})
NO_CHECKPOINT = ("json.", "yaml.", "numpy.", "np.", "toml", "pickle.load_config", "importlib", "spacy.")
FINDING = frozenset({"max", "sorted", "glob", "iglob", "rglob", "listdir", "iterdir", "min", "Path"})
# Functions of libraries that read a file into the network that they are handed, and into nothing else.
INTO_NETWORKS = frozenset({
    "load_checkpoint_in_model", "load_checkpoint_and_dispatch", "load_model", "load_sharded_checkpoint",
    "load_checkpoint", "load_pretrained",
})
AVERAGES = frozenset({"ema", "average", "averaged", "avg", "shadow", "swa", "teacher", "polyak"})
LOAD_WORDS = frozenset({"load", "resume", "restore", "reload", "state", "recover"})
# Schedules that compute the rate from the step alone, so that replaying them over a restored rate is right.
FROM_THE_STEP = ("LambdaLR", "OneCycleLR", "CyclicLR", "CosineAnnealingWarmRestarts")
# fmt: on


@dataclass(frozen=True, eq=False)
class Resumption:
    """A walk that loads weights and goes on training where it stopped.

    `weights` is the call that restores the network; `counter` is where the count of epochs or steps comes
    back and is used. One of `counter` and `is_named` (the source says resume) holds.
    """

    walk: Walk
    weights: Call
    counter: Assignment | None
    is_named: bool

    @cached_property
    def loads(self) -> tuple[Call, ...]:
        """Every `load_state_dict` before training."""
        return tuple(loads_before_training(self.walk))

    def restores(self, role: Role) -> bool:
        """Whether something of this part is restored, or may be."""
        return any(may_be(self.walk, call, role) for call in self.loads) or self._is_read(role)

    @cached_property
    def only_starts(self) -> bool:
        """Whether the weights are where another training begins: they are called so, or some are left out."""
        if self.counter is not None:
            named = _context_words(self.walk, self.weights)
            return bool(named & STARTS) and not named & RESUME_WORDS
        given = self.weights.argument(0, "state_dict")
        strict = self.weights.argument(1, "strict")
        is_lax = isinstance(strict, Constant) and strict.value is False
        return is_lax or any(map(_leaves_some_out, ancestry(self.walk.trace.run, given, is_loaded)))

    def _is_read(self, role: Role) -> bool:
        """Whether a piece of the checkpoint with such a name is taken out, or other code gets to load it."""
        for event in self.walk.trace.events:
            if isinstance(event, Assignment) and _is_piece(self.walk, event.value, role):
                return True
            if isinstance(event, Call):
                given = (*event.args, *event.keywords.values())
                is_given = any(_is_piece(self.walk, value, role) for value in given)
                if is_given or self._is_handed_on(event, given, role):
                    return True
        return False

    def _is_handed_on(self, event: Call, given: tuple[Value, ...], role: Role) -> bool:
        """`timm.resume_checkpoint(model, path, optimizer)`."""
        if event.name == "load_state_dict" or not LOAD_WORDS & set(words(event.name)):
            return False
        is_given = any(role_of(self.walk.trace.run, value) is role for value in given)
        return is_given and not _is_ours(self.walk, event)


def resumptions(walk: Walk) -> Iterator[Resumption]:
    """The place at which a walk goes on with an earlier training, where there is one."""
    if restores_everything(walk):
        return
    for call in (*loads_before_training(walk), *_weights_by_engine(walk), *_weights_by_function(walk)):
        if call.name == "load_state_dict" and loaded_role(walk, call) is not Role.MODEL:
            continue
        if _is_from_memory(walk, call):
            continue
        counter = _counter(walk)
        if counter is not None and not _go_together(walk, call, counter):
            counter = None
        counter = counter or _counter_of_path(walk, call)
        named = _context_words(walk, call)
        is_named = bool(named & RESUME_WORDS) and not named & OTHER_PURPOSES
        is_named = is_named or (not named & OTHER_PURPOSES - {"best"} and _goes_on(walk, call))
        is_named = is_named or call.name in INTO_NETWORKS
        if counter is not None or is_named:
            yield Resumption(walk, call, counter, is_named)
            return


def _go_together(walk: Walk, load: Call, counter: Assignment) -> bool:
    """Whether weights and a count come from one file, or from two that are read at one place."""
    counted, loaded = _files(walk, counter.value), _files(walk, load.args[0] if load.args else None)
    if not counted or not loaded or counted & loaded:
        return True
    others = [_files(walk, call.args[0]) for call in loads_before_training(walk) if call.args]
    return load.within[-1:] == counter.within[-1:] and not any(counted & other for other in others)


def _files(walk: Walk, value: Value | None) -> set[int]:
    """What files held that a value was made from, by id."""
    made = ancestry(walk.trace.run, value) if value is not None else ()
    return {id(one) for one in made if is_loaded(one)}


def _leaves_some_out(value: Value) -> bool:
    node = value.site.node if isinstance(value, Applied) else None
    return isinstance(node, ast.DictComp) and any(part.ifs for part in node.generators)


def _is_from_memory(walk: Walk, load: Call) -> bool:
    """Whether weights come from a state that the same process kept: the best so far, at an early end."""
    made = [one for value in load.args[:1] for one in ancestry(walk.trace.run, value)]
    is_kept = any(isinstance(one, Applied) and one.callee == ".state_dict" for one in made)
    return is_kept and not any(map(is_loaded, made))


def without_weights(walk: Walk) -> Call | None:
    """Where the state of an optimizer is read from a file before training, and no weights are."""
    loads = list(loads_before_training(walk))
    restored = next(
        (call for call in loads if loaded_role(walk, call) is Role.OPTIMIZER and is_of_file(walk, call)),
        None,
    )
    if restored is None or restores_everything(walk):
        return None
    others = [call for call in loads if call is not restored and not _is_of_average(walk, call)]
    if any(may_be(walk, call, Role.MODEL) for call in others):
        return None
    is_read = Resumption(walk, restored, None, True)._is_read(Role.MODEL) or _speaks_of_weights(restored)
    return None if is_read or has_trained_weights(walk) else restored


def _speaks_of_weights(load: Call) -> bool:
    """Whether the file around a load takes something that is called as weights are out of a table."""
    taken = (node.slice for node in ast.walk(load.site.source.tree) if isinstance(node, ast.Subscript))
    keys = (str(key.value) for key in taken if isinstance(key, ast.Constant))
    return any(role_by_name(key) is Role.MODEL and not AVERAGES & set(words(key)) for key in keys)


def is_of_file(walk: Walk, load: Call) -> bool:
    """Whether what is loaded comes out of a file."""
    return any(is_loaded(one) for value in load.args[:1] for one in ancestry(walk.trace.run, value))


def _is_of_average(walk: Walk, load: Call) -> bool:
    """Whether what is loaded is an average of the weights, or a copy: the network itself is another."""
    piece = load.args[0] if load.args else None
    if isinstance(piece, Part) and bool(AVERAGES & set(words(str(piece.key)))):
        return True
    trained, filled = trained_networks(walk), tuple(networks(load.receiver))
    return bool(filled) and all(is_copy(one, trained) for one in filled)


def has_trained_weights(walk: Walk) -> bool:
    """Whether a library reads the network from a file."""
    calls = (event for event in walk.trace.events if isinstance(event, Call))
    return any(call.name in INTO_NETWORKS or call.name == "from_pretrained" for call in calls)


def _goes_on(walk: Walk, load: Call) -> bool:
    """Whether weights come from the file that the training itself writes."""
    made = (one for value in load.args[:1] for one in ancestry(walk.trace.run, value))
    read = [one for one in made if is_loaded(one) and isinstance(one, Applied) and one.args]
    return any(is_written_by_training(walk, one.args[0]) for one in read if isinstance(one, Applied))


def first_backward(walk: Walk) -> int:
    """The place in the walk at which training begins; a backward pass that measures the memory is none."""
    backwards = [move.event for move in walk.moves if move.kind is Kind.BACKWARD]
    updates = {id(scope) for move in walk.moves if move.updates for scope in _loops_around(move.event)}
    training = [one for one in backwards if any(id(scope) in updates for scope in _loops_around(one))]
    return min(map(walk.place, training or backwards), default=-1)


def _loops_around(event: Event) -> Iterator[Scope]:
    return (scope for scope in event.scopes() if scope.kind == "loop")


def loads_before_training(walk: Walk) -> Iterator[Call]:
    """Every `load_state_dict` of a walk before its training begins."""
    begins = first_backward(walk)
    for event in walk.trace.events[: max(begins, 0)]:
        if isinstance(event, Call) and event.name == "load_state_dict" and event.receiver is not None:
            yield event


def loaded_role(walk: Walk, call: Call) -> Role | None:
    """The part that is restored; of `unwrap(model)` what comes out, else what the loaded piece is called."""
    run = walk.trace.run
    found = receiver_role(run, call)
    if found is not None or not isinstance(call.receiver, Delayed):
        return found
    opened = role_of(run, quietly(run, call.receiver))
    piece = call.args[0] if call.args else None
    if opened is None and isinstance(piece, Part) and isinstance(piece.key, str):
        return role_by_name(piece.key)
    return opened


def may_be(walk: Walk, call: Call, role: Role) -> bool:
    """Whether a load restores something of this part, or something of which the part is not known."""
    value = call.receiver
    options = value.options if isinstance(value, Choice) else (value,)
    roles = {role_of(walk.trace.run, option) for option in options}
    if role in roles:
        return True
    found = loaded_role(walk, call)
    return found is role or (found is None and not isinstance(value, Instance))


def _is_ours(walk: Walk, call: Call) -> bool:
    """Whether a call leads into the repository, where it is followed."""
    if isinstance(call.receiver, Instance):
        return walk.trace.run.index.method(call.receiver.cls, call.name) is not None
    return isinstance(call.callee, FunctionValue | ClassValue)


def restores_everything(walk: Walk) -> bool:
    """accelerate, deepspeed and the like restore all they were given."""
    return any(True for _ in engine_loads(walk))


def engine_loads(walk: Walk) -> Iterator[Call]:
    """The calls by which an engine restores what it holds."""
    for event in walk.trace.events:
        if not isinstance(event, Call) or event.name not in {
            "load_state",
            "load_checkpoint",
            "load",
            "load_raw",
        }:
            continue
        if receiver_role(walk.trace.run, event) is Role.ENGINE and not _is_only_read(walk, event):
            yield event


def _is_only_read(walk: Walk, call: Call) -> bool:
    """`fabric.load(path)` hands out what a file holds; `fabric.load(path, state)` fills what it is given."""
    if call.name not in {"load", "load_raw"}:
        return False
    return call.argument(1, "state") is None or Role.OPTIMIZER not in roles_given(walk, call)


def roles_given(walk: Walk, call: Call) -> set[Role | None]:
    """The parts that fabric is told to fill; all that there are, where the table could not be followed."""
    state = call.argument(1, "state") or call.keywords.get("obj")
    if isinstance(state, Table) and not state.rest:
        # What an unknown factory made is what the table calls it.
        run = walk.trace.run
        return {role_of(run, value) or role_by_name(str(key)) for key, value in state.entries.items()}
    found = role_of(walk.trace.run, state)
    return {found} if found in {Role.MODEL, Role.OPTIMIZER} else set(Role)


def _weights_by_engine(walk: Walk) -> Iterator[Call]:
    """`fabric.load(path, {"model": model})` before training."""
    for event in walk.trace.events[: max(first_backward(walk), 0)]:
        if not isinstance(event, Call) or event.name not in {"load", "load_raw"}:
            continue
        is_told = len(event.args) > 1 or "state" in event.keywords or "obj" in event.keywords
        if is_told and receiver_role(walk.trace.run, event) is Role.ENGINE:
            given = roles_given(walk, event)
            if Role.MODEL in given and Role.OPTIMIZER not in given:
                yield event


def _weights_by_function(walk: Walk) -> Iterator[Call]:
    """`load_checkpoint_in_model(model, args.resume)` before training, where the source says resume."""
    run = walk.trace.run
    for event in walk.trace.events[: max(first_backward(walk), 0)]:
        if not isinstance(event, Call) or event.name not in INTO_NETWORKS or not event.args:
            continue
        filled = role_of(run, event.args[0]) or role_of(run, quietly(run, event.args[0]))
        if filled is Role.MODEL and not _is_ours(walk, event):
            named = _context_words(walk, event) | _words_in(event.site.node)
            if named & RESUME_WORDS and not named & OTHER_PURPOSES:
                yield event


def leaves_optimizer_behind(call: Call) -> bool:
    """deepspeed restores everything unless it is told not to."""
    for name, value in (("load_optimizer_states", False), ("load_module_only", True)):
        given = call.keywords.get(name)
        if isinstance(given, Constant) and given.value is value:
            return True
    return False


def is_loaded(value: Value) -> bool:
    """Whether a value is what a file held."""
    if not isinstance(value, Applied):
        return False
    last = value.callee.rpartition(".")[2]
    return last in LOADING and not value.callee.startswith(NO_CHECKPOINT)


def _counter(walk: Walk) -> Assignment | None:
    """Where the count of epochs or steps is set from a checkpoint, and a loop that trains goes on from it."""
    used = _names_in_headers(walk)
    for event in walk.trace.events[: max(first_backward(walk), 0)]:
        if not isinstance(event, Assignment):
            continue
        targets = set(names_in(event.target)) - {"self"}
        if targets & used and any(_is_count(walk, value) for value in ancestry(walk.trace.run, event.value)):
            return event
    return None


def _counter_of_path(walk: Walk, load: Call) -> Assignment | None:
    """The same where the count is read off the name of the file that the weights come from."""
    run = walk.trace.run
    read = {id(one) for value in load.args[:1] for one in ancestry(run, value) if _is_found(one)}
    used = _names_in_headers(walk) if read else set()
    for event in walk.trace.events[: max(first_backward(walk), 0)]:
        # A number has a name of its own: what is put into a table of data is no count of rounds.
        is_named = isinstance(event, Assignment) and isinstance(event.target, ast.Name | ast.Attribute)
        if is_named and isinstance(event, Assignment) and set(names_in(event.target)) & used - {"self"}:
            numbers = [
                one for one in ancestry(run, event.value) if isinstance(one, Applied) and one.callee == "int"
            ]
            if any(id(one) in read for number in numbers for one in ancestry(run, number)):
                return event
    return None


def _is_found(value: Value) -> bool:
    """A path that was found or given, and not merely a word in one."""
    if isinstance(value, Part):
        return isinstance(value.key, str) and not _is_setting(value)
    return isinstance(value, Applied) and value.callee.rpartition(".")[2] in FINDING


def _is_count(walk: Walk, value: Value) -> bool:
    if not isinstance(value, Part) or not isinstance(value.key, str):
        return False
    if not COUNTER_WORDS & set(words(value.key)):
        return False
    return any(is_loaded(inner) for inner in ancestry(walk.trace.run, value.base))


def _names_in_headers(walk: Walk) -> set[str]:
    """The names that the loops around training count with."""
    found: set[str] = set()
    for event in walk.trace.events:
        for scope in event.scopes():
            if scope.kind == "loop" and id(scope) in walk.training_scopes:
                found.update(_header_names(scope))
        is_counted = isinstance(event, Assignment) and event.operator == "+"
        if is_counted and any(s.kind == "loop" and id(s) in walk.training_scopes for s in event.scopes()):
            found.update(names_in(event.target))  # type: ignore[attr-defined]
    return found - {"self"}


def _header_names(scope: Scope) -> set[str]:
    node = scope.node
    header = node.iter if isinstance(node, ast.For | ast.AsyncFor) else getattr(node, "test", None)
    return set(names_in(header)) if isinstance(header, ast.AST) else set()


def _context_words(walk: Walk, call: Call) -> set[str]:
    """The words of what surrounds a load: conditions, functions, and the file it came from."""
    found: set[str] = set()
    for scope in call.scopes():
        if scope.kind == "if":
            found |= _words_in(scope.node)
        elif scope.kind == "call":
            found |= set(words(getattr(scope.node, "name", "")))
    for value in call.args[:1]:
        for inner in ancestry(walk.trace.run, value):
            if is_loaded(inner) and isinstance(inner, Applied):
                found |= _words_in(inner.site.node)
    return found


def _words_in(node: ast.AST) -> set[str]:
    names = (name.replace("-", "_").strip("_") for name in names_in(node))  # "--continue" in sys.argv
    return {word for name in names if len(name) < 60 for word in words(name)}


def _is_piece(walk: Walk, value: Value, role: Role) -> bool:
    """`checkpoint["optimizer"]`, also inside a tuple."""
    if isinstance(value, Items):
        return any(_is_piece(walk, item, role) for item in value.items)
    if isinstance(value, Part) and isinstance(value.key, str):
        is_named = role_by_name(value.key) is role and not _is_setting(value)
        # What an engine wraps, `optimizer.optimizer`, is no piece of a file.
        return is_named and role_of(walk.trace.run, value.base) is None
    return False


def _is_setting(value: Value) -> bool:
    """`args.optimizer`, however the arguments were read."""
    while isinstance(value, Part):
        value = value.base
        if isinstance(value, Part) and str(value.key).lower() in HOLDERS:
            return True
    if isinstance(value, Instance):
        return any(word in HOLDERS for word in words(value.cls.name))
    if isinstance(value, Applied):
        return value.callee.endswith(("parse_args", "parse_known_args"))
    return isinstance(value, Leaf) and value.name.lower() in HOLDERS


# What is trained


def optimizers(walk: Walk) -> tuple[Move, ...]:
    """The first step of each optimizer with a state worth keeping."""
    found: dict[int, Move] = {}
    for move in walk.moves:
        if move.updates and move.subject is not None and _has_state(move.subject):
            found.setdefault(id(move.subject), move)
    return tuple(found.values())


def _has_state(optimizer: Value) -> bool:
    """Plain SGD keeps nothing; with momentum it does, as all others do."""
    values = optimizer.options if isinstance(optimizer, Choice) else (optimizer,)
    for value in values:
        if not isinstance(value, Applied) or not value.callee.endswith(".SGD"):
            return True
        momentum = value.keywords.get("momentum", value.args[2] if len(value.args) > 2 else Constant(0))
        if not (isinstance(momentum, Constant) and momentum.value == 0):
            return True
    return False


def schedules(walk: Walk) -> tuple[Move, ...]:
    """The steps of schedules in loops that train."""
    return tuple(
        move
        for move in walk.moves
        if move.kind is Kind.SCHEDULER_STEP
        and any(s.kind == "loop" and id(s) in walk.training_scopes for s in move.event.scopes())
    )


def replays(walk: Walk) -> Iterator[tuple[Move, Scope]]:
    """Steps of a schedule in a loop of their own before training begins, or in rounds that do not train."""
    begins = first_backward(walk)
    for move in walk.moves:
        if move.kind is not Kind.SCHEDULER_STEP:
            continue
        loop = next((s for s in move.event.scopes() if s.kind in {"loop", "comprehension"}), None)
        if loop is None or any(isinstance(node, ast.Yield) for node in all_nodes(loop.node)):
            continue  # a generator of rounds steps with each of them
        if id(loop) in walk.training_scopes:
            is_replay = _is_in_skipped_round(move.event)
        else:
            is_replay = walk.place(move.event) < begins and not _is_over_schedules(loop)
        if is_replay:
            yield move, loop


SKIPPING_WORDS = RESUME_WORDS | {"start", "starting", "begin", "first", "done", "completed", "skip"}


def _is_in_skipped_round(step: Event) -> bool:
    """`if epoch < first_epoch: scheduler.step(); continue`."""
    scope = next((s for s in step.scopes() if s.kind in {"if", "loop"}), None)
    if scope is None or scope.kind != "if" or not scope.arm or not _words_in(scope.node) & SKIPPING_WORDS:
        return False
    asked = (node for node in all_nodes(scope.source.tree, ast.If))
    body = next((node.body for node in asked if node is scope.node or node.test is scope.node), [])
    called = {name for statement in body for name in names_in(statement)}
    return bool(body) and isinstance(body[-1], ast.Continue) and "backward" not in called


def _is_over_schedules(loop: Scope) -> bool:
    """`for scheduler in schedulers: scheduler.step()` is one step of each."""
    node = loop.node
    if isinstance(node, ast.While):
        return False
    header = getattr(node, "iter", None)
    return not isinstance(header, ast.AST) or not {"range", "trange"} & set(names_in(header))


def made_by(value: Value | None) -> str:
    """The class that made an object, by its last name; "" where that was not seen."""
    if isinstance(value, Applied):
        return value.callee.rpartition(".")[2]
    if isinstance(value, Instance):
        return value.cls.name
    if isinstance(value, Items) and value.items:
        return made_by(value.items[0])
    return ""


def keeps_own_count(walk: Walk, schedule: Move) -> bool:
    """Whether a schedule is told the epoch, was made to go on from one, or reads the metric instead."""
    event = schedule.event
    if isinstance(event, Call) and (event.args or event.keywords):
        return True
    return schedule.subject is None or _counts_itself(walk, schedule.subject)


def _counts_itself(walk: Walk, value: Value) -> bool:
    if isinstance(value, Choice):  # made again by the resume
        return any(_counts_itself(walk, option) for option in value.options)
    while isinstance(value, Delayed):  # by a function of the repository
        value = walk.trace.run.expand(value)
    if made_by(value) == "ReduceLROnPlateau":
        return True
    value = as_of_library(walk.trace, value)
    if isinstance(value, Applied):
        last = value.keywords.get("last_epoch")
        return last is not None and not (isinstance(last, Constant) and last.value == -1)
    # Where it was not seen how the schedule is made, it may count for itself.
    return not isinstance(value, Applied)


def assigned_names(walk: Walk) -> set[str]:
    """The attributes that are set anywhere: `scheduler.last_epoch = ...`."""
    events: list[Event] = list(walk.trace.events)
    return {
        event.target.attr
        for event in events
        if isinstance(event, Assignment) and isinstance(event.target, ast.Attribute)
    }


def pieces_of(value: Value) -> Iterator[Value]:
    """What a checkpoint is put together from."""
    if isinstance(value, Table):
        yield from value.entries.values()
        yield from value.rest
