"""Following values through functions without running them.

An `Execution` walks statements in order. What is known is computed (constants, settings, containers,
objects of the repository's classes); what is not stays a value that remembers how it was made. Both
branches of an unknown condition are followed and joined. A loop over known things is unrolled; over
unknown things its body is followed once. Pure functions are followed only when their result matters.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from stethoscope.program import calls, field_defaults
from stethoscope.program.arithmetic import fold_binary, fold_compare, fold_unary, truth
from stethoscope.program.builtin_calls import BUILTINS, range_elements
from stethoscope.program.call_arguments import SPREAD
from stethoscope.program.computed_tensors import array_attribute, array_item
from stethoscope.program.decorators import decorated
from stethoscope.program.effects import effects, own_nodes
from stethoscope.program.events import Assignment, Call, Event, Jump, Scope
from stethoscope.program.framework_bases import given_to_base, holds_arguments
from stethoscope.program.given_back import moved
from stethoscope.program.index import Class, External, Function, FunctionNode, Index, Module, Variable, dotted
from stethoscope.program.learning_classes import learns
from stethoscope.program.network_passes import is_network_pass
from stethoscope.program.registries import registered, registry_item
from stethoscope.program.settings_tree import HOLDERS, SettingsTree
from stethoscope.program.values import (
    NOTHING,
    Applied,
    Choice,
    ClassValue,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Items,
    LambdaValue,
    Leaf,
    ModuleValue,
    Outside,
    Part,
    Settings,
    Site,
    SuperValue,
    Table,
    Value,
    choice,
)
from stethoscope.run import Source

STEPS = 30_000  # expressions and statements followed from one entry: about half a second
DEPTH = 40  # calls inside calls
UNROLLED = 24  # elements of a known container that a loop visits
LOOP_ROUNDS = 4  # rounds of `for i in range(4)` that are followed one by one
CONCRETE_ROUNDS = 64  # the same in a comprehension, or when computing with numbers
IN_PLACE = frozenset({"thumbnail"})  # of a picture; followed only where its size is at stake
SETUP_NAMES = ("setup", "build", "init", "configure", "prepare", "create", "define", "set", "on_", "make")


# What reads a file of settings, whatever the result is called.
SETTINGS_READERS = frozenset(
    {
        "runpy.run_path",
        "yaml.safe_load",
        "yaml.load",
        "yaml.full_load",
        "tomllib.load",
        "toml.load",
        "tomli.load",
        "omegaconf.OmegaConf.load",
        "mmengine.Config.fromfile",
        "mmengine.config.Config.fromfile",
        "mmcv.Config.fromfile",
    }
)
SYMBOLS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


class Exhausted(Exception):
    """The entry's budget of steps is spent."""


class Made(Exception):
    """The walk came to where an object of the awaited class is made; its __init__ is not followed yet."""

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance.cls.name)
        self.instance = instance


@dataclass(slots=True)
class Frame:
    """One function being followed: its names, those around it, and what it gave back so far."""

    module: Module
    names: dict[str, Value]
    around: Mapping[str, Value] = field(default_factory=dict)
    function: Function | None = None
    cls: Class | None = None
    returned: list[Value] = field(default_factory=list)
    yielded: list[Value] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Sink:
    """A value that is minimised, where, and inside which functions."""

    value: Value
    site: Site
    within: tuple[Function, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """A call or comparison that was met, and inside which functions."""

    value: Applied | Delayed
    within: tuple[Function, ...]


class Execution:
    """One walk from an entry. Holds what it met: `sinks`, `records`, and the functions `entered`.

    With `tracing` every call but a network's is followed at once, no loop over numbers is unrolled, and
    `events` holds all that was met in the order it would happen.
    """

    def __init__(
        self,
        index: Index,
        settings: SettingsTree,
        steps: int = STEPS,
        eager: bool = False,
        tracing: bool = False,
    ) -> None:
        self.index = index
        self.settings = settings
        self.steps = steps
        self.eager = eager  # compute tensors, follow every call at once: for trying a function on numbers
        self.tracing = tracing
        self.awaited: Class | None = None  # the walk ends with Made where an object of this class is made
        self.on_the_way: frozenset[Function] = frozenset()  # the functions that lead there
        self.events: list[Event] = []
        self.scope: Scope | None = None
        self.finished: set[ast.AST] = set()  # the scopes whose end was reached
        self.sinks: list[Sink] = []
        self.records: list[Record] = []
        self.entered: set[Function] = set()
        self.stack: list[Function] = []
        self.from_model: dict[int, tuple[bool, Value]] = {}  # answers of comes_from_model
        self.with_gradient: dict[int, tuple[bool, Value]] = {}
        self._effects = effects(index)
        self._script: Frame | None = None
        self._yields: list[int] = []  # where in `events` a generator gave something
        self._journal: list[tuple[dict[object, Value], object, Value | None]] = []
        self._parts: dict[tuple[int, str | int], Part] = {}
        self._stored: dict[object, Value] = {}
        self._expanded: dict[Delayed, Value] = {}
        self._globals: dict[tuple[str, str], Value] = {}
        self._wrapped: dict[Function, Value] = {}
        self._registries: dict[Value, str] = {}
        self._setting_up: set[tuple[Instance, str]] = set()
        self._unmade: dict[
            Instance, tuple[Function, tuple[Value, ...], Mapping[str, Value], Scope | None]
        ] = {}
        self._kept: list[Value] = []  # keeps the values alive whose id() is a key

    # Entries

    def enter(
        self, function: Function, bound: Instance | None = None, given: Mapping[str, Value] | None = None
    ) -> Value:
        """Follow a function as if called from outside, with leaves for the parameters that are not given."""
        if bound is None and function.owner is not None and "staticmethod" not in function.decorators:
            bound = self.make(function.owner)
        keywords = {name: self._entry_value(function, name) for name in _entry_parameters(function)}
        return self.follow(FunctionValue(function, bound), (), {**keywords, **(given or {})})

    def enter_module(self, module: Module) -> None:
        """Follow the statements of a script."""
        self._script = Frame(module, {})
        self._block(module.source.tree.body, self._script)

    def make(self, cls: Class) -> Instance:
        """An object of a class, made with unknown arguments."""
        init = self.index.method(cls, "__init__")
        keywords = {name: self._entry_value(init, name) for name in _entry_parameters(init)} if init else {}
        return self.construct(cls, (), keywords, open_=True)

    def construct(
        self, cls: Class, args: Sequence[Value], keywords: Mapping[str, Value], open_: bool = False
    ) -> Instance:
        """An object of a class, its __init__ followed."""
        init = self.index.method(cls, "__init__")
        instance = Instance(cls, {}, {}, open_)
        if init is None:
            fields = [name for c in reversed(self.index.lineage(cls)) for name in _fields(c)]
            instance.attributes.update(zip(fields, args, strict=False))
            instance.attributes.update({k: v for k, v in keywords.items() if k.isidentifier()})
            for name in fields if SPREAD in keywords else ():
                instance.attributes.setdefault(name, self.part(keywords[SPREAD], name))
            instance.attributes.update(given_to_base(self.index, cls, args, keywords))
            if cls is self.awaited:
                raise Made(instance)
            return instance
        instance.made_with.update(self._bind(init, instance, args, keywords))
        # Most objects, networks above all, are never looked into.
        self._unmade[instance] = (init, tuple(args), keywords, self.scope)
        if cls is self.awaited:
            raise Made(instance)
        if self.tracing and not learns(self.index, cls):
            self.initialise(instance)  # what a trainer makes belongs before what it does with it
        return instance

    def initialise(self, instance: Instance) -> None:
        """Follow the __init__ of an object that is about to be looked into."""
        pending = self._unmade.pop(instance, None)
        if pending is None:
            return
        init, args, keywords, scope = pending
        journal, self._journal = self._journal, []  # the object was made before any fork we are in
        here, self.scope = self.scope, scope
        try:
            self.follow(FunctionValue(init, instance), args, keywords)
        finally:
            self._journal = journal
            self.scope = here

    def take_out(self, instance: Instance) -> None:
        """Let an object that is not followed yet be made outside of all control."""
        if instance in self._unmade:
            init, args, keywords, _ = self._unmade[instance]
            self._unmade[instance] = (init, args, keywords, None)

    def copy(self, instance: Instance) -> Instance:
        """Another object like this one, to change by itself."""
        other = Instance(instance.cls, dict(instance.attributes), instance.made_with, instance.open)
        if instance in self._unmade:
            self._unmade[other] = self._unmade[instance]
        return other

    def follow(self, callee: FunctionValue, args: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
        """Follow a call of a function of the repository; give what it returns."""
        function = callee.function
        if len(self.stack) >= DEPTH or self.stack.count(function) > 1:
            return Leaf(function.name)
        self._spend()
        self.entered.add(function)
        names = self._bind(function, callee.bound, args, keywords)
        frame = Frame(
            self.index.module_of(function.source),
            names,
            callee.around,
            function,
            function.owner or _cls(callee),
        )
        self.stack.append(function)
        try:
            with self._inside("call", function.node, frame):
                self._block(function.node.body, frame)
        finally:
            self.stack.pop()
        if frame.yielded:
            return Items(frame.yielded)
        return choice(*frame.returned) if frame.returned else NOTHING

    def follow_lambda(
        self, callee: LambdaValue, args: Sequence[Value], keywords: Mapping[str, Value]
    ) -> Value:
        """Follow a call of a lambda."""
        spec = callee.node.args
        names = {arg.arg: Leaf(arg.arg) for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}
        given = dict(zip(names, args, strict=False))
        frame = Frame(self._module(callee.source), {**names, **given, **keywords}, callee.around)
        for arg, default in zip(
            reversed([*spec.posonlyargs, *spec.args]), reversed(spec.defaults), strict=False
        ):
            if arg.arg not in given and arg.arg not in keywords:
                frame.names[arg.arg] = self.evaluate(default, frame)
        return self.evaluate(callee.node.body, frame)

    def can_wait(self, function: Function) -> bool:
        """Whether following the function can wait until its result matters."""
        if function in self.on_the_way or (self.tracing and function in self._effects.telling):
            return False
        if function.name == "__init__":  # super().__init__(...), which fills the object being made
            return False
        return function not in self._effects.changing

    def may_train(self, function: Function) -> bool:
        """Whether a backward pass may be inside."""
        return function in self._effects.training

    def force(self, value: Value) -> Value:
        """The value behind a delayed call; network passes stay as they are."""
        while isinstance(value, Delayed) and not self.is_sealed(value):
            value = self.expand(value)
        return value

    def is_sealed(self, value: Value) -> bool:
        """Whether a call stays as it is: a network's, and in a trace every module's that has parameters."""
        return is_network_pass(self.index, value, with_scales=self.tracing)

    def expand(self, delayed: Delayed) -> Value:
        """Follow a delayed call."""
        if delayed not in self._expanded:
            self._expanded[delayed] = Leaf("recursion")
            if isinstance(delayed.callee, LambdaValue):
                result = self.follow_lambda(delayed.callee, delayed.args, delayed.keywords)
            else:
                result = self.follow(delayed.callee, delayed.args, delayed.keywords)
            self._expanded[delayed] = result
        return self._expanded[delayed]

    def note(self, value: Applied | Delayed) -> Value:
        """Remember a call that was met."""
        self.records.append(Record(value, tuple(self.stack)))
        return value

    def sink(self, value: Value, site: Site) -> None:
        """Remember a value that is minimised."""
        self.sinks.append(Sink(value, site, tuple(self.stack)))

    def met_call(
        self,
        node: ast.Call,
        frame: Frame,
        receiver: Value | None,
        callee: Value | None,
        args: Sequence[Value],
        keywords: Mapping[str, Value],
        arguments_known: bool,
    ) -> None:
        """Remember a call as an event."""
        if self.tracing:
            name = calls.bare_name(node)
            site = Site(frame.module.source, node)
            within = tuple(self.stack)
            self.events.append(
                Call(site, self.scope, within, name, receiver, callee, tuple(args), keywords, arguments_known)
            )

    def _met_assignment(
        self, node: ast.AST, target: ast.expr, value: Value, frame: Frame, operator: str = ""
    ) -> None:
        if self.tracing:
            site = Site(frame.module.source, node)
            owner = self._owner(target, frame)
            self.events.append(
                Assignment(site, self.scope, tuple(self.stack), target, value, operator, owner)
            )

    def _owner(self, target: ast.expr, frame: Frame) -> Value | None:
        """The object of `object.name = ...`, where it is written as a chain of names."""
        if not isinstance(target, ast.Attribute | ast.Subscript) or dotted(target.value) is None:
            return None
        return self.evaluate(target.value, frame)

    def _met_jump(self, node: ast.stmt, kind: str, frame: Frame) -> None:
        if not self.tracing:
            return
        around = "call" if kind == "return" else "loop"
        scopes = self.scope.outwards() if self.scope is not None else iter(())
        leaves = next((scope for scope in scopes if scope.kind == around), None) if kind != "raise" else None
        self.events.append(Jump(Site(frame.module.source, node), self.scope, tuple(self.stack), kind, leaves))

    @contextmanager
    def _inside(
        self, kind: str, node: ast.AST, frame: Frame, value: Value | None = None, arm: bool = True
    ) -> Iterator[None]:
        """Follow what is inside one more level of control."""
        before = self.scope
        self.scope = Scope(kind, node, frame.module.source, before, value, arm)
        try:
            yield
            self.finished.add(node)
        finally:
            self.scope = before

    # Statements: each block says whether it falls through to what comes after it

    def _block(self, body: Sequence[ast.stmt], frame: Frame) -> bool:
        return all(self._statement(statement, frame) for statement in body)

    def _statement(self, node: ast.stmt, frame: Frame) -> bool:
        self._spend()
        match node:
            case ast.Return(value=value):
                frame.returned.append(self.evaluate(value, frame) if value else NOTHING)
                self._met_jump(node, "return", frame)
                return False
            case ast.Raise() | ast.Break() | ast.Continue():
                self._met_jump(node, type(node).__name__.lower(), frame)
                return False
            case ast.Expr(value=value):
                self._run_expression(value, frame)
            case ast.Assign(targets=targets, value=value):
                self._assign_all(targets, value, frame)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self._assign_all([target], value, frame)
            case ast.AugAssign(target=target, op=op, value=value):
                self._augment(node, target, op, value, frame)
            case ast.If(test=test, body=body, orelse=orelse):
                return self._if(test, body, orelse, frame)
            case ast.For() | ast.AsyncFor():
                self._for(node, frame)
            case ast.While(test=test, body=body):
                self._while(node, test, body, frame)
            case ast.With() | ast.AsyncWith():
                return self._with(node, node.items, frame)
            case ast.Try(body=body, orelse=orelse, finalbody=final):
                falls = self._block(body, frame) and self._block(orelse, frame)
                return self._block(final, frame) and falls
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                frame.names[node.name] = self._local_function(node, frame)
            case ast.ClassDef():
                found = next((c for c in self.index.classes if c.node is node), None)
                if found is not None:
                    frame.names[node.name] = ClassValue(found)
            case ast.Match(cases=cases):
                blocks = [self._running(case.body, frame, case.pattern) for case in cases]
                return self._fork(blocks, frame)
        return True

    def _run_expression(self, node: ast.expr, frame: Frame) -> None:
        """An expression whose result is dropped; a method that works in place leaves it in its object."""
        result = self.evaluate(node, frame)
        if self.tracing and isinstance(result, Delayed) and _is_short(result.callee):
            self.force(result)  # called for what it does, such as telling a writer
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in IN_PLACE:
            self._assign(node.func.value, result, frame)

    def _if(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt], frame: Frame) -> bool:
        tested = self.evaluate(test, frame)
        known = truth(tested)
        if known is not None and not (self.tracing and _is_about_resuming(test)):
            return self._block(body if known else orelse, frame)
        arms = [
            self._running(body, frame, test, tested),
            self._running(orelse, frame, test, tested, arm=False),
        ]
        return self._fork(arms, frame)

    def _either(self, test: ast.expr, body: ast.expr, orelse: ast.expr, frame: Frame) -> Value:
        tested = self.evaluate(test, frame)
        known = truth(tested)
        if self.tracing and _is_about_resuming(test):
            with self._inside("if", test, frame, tested):
                resumed = self.evaluate(body, frame)
            with self._inside("if", test, frame, tested, False):
                return choice(resumed, self.evaluate(orelse, frame))
        if known is not None:
            return self.evaluate(body if known else orelse, frame)
        return choice(self.evaluate(body, frame), self.evaluate(orelse, frame))

    def _running(
        self,
        body: Sequence[ast.stmt],
        frame: Frame,
        test: ast.AST,
        tested: Value | None = None,
        arm: bool = True,
    ) -> Callable[[], bool]:
        def run() -> bool:
            with self._inside("if", test, frame, tested, arm):
                return self._block(body, frame)

        return run

    def _forget_counters(self, node: ast.For | ast.AsyncFor | ast.While, frame: Frame) -> None:
        """One round stands for all of them, so what rounds count or switch is not known in it."""
        if not self.tracing:
            return
        for target in _counted(node):
            match target:
                case ast.Name(id=name) if isinstance(frame.names.get(name), Constant):
                    frame.names[name] = Leaf(name)
                case ast.Attribute(value=ast.Name(id=base), attr=name):
                    holder = frame.names.get(base)
                    if isinstance(holder, Instance) and isinstance(holder.attributes.get(name), Constant):
                        self.store(holder, name, Leaf(name))
        for name in _begun(node):
            value = frame.names.get(name)
            if isinstance(value, Constant) and value.value is None:
                frame.names[name] = Leaf(name)

    def _while(self, node: ast.While, test: ast.expr, body: list[ast.stmt], frame: Frame) -> None:
        self._forget_counters(node, frame)
        rounds = CONCRETE_ROUNDS if self.eager else 1
        while rounds and truth(tested := self.evaluate(test, frame)) is not False:
            rounds -= 1
            with self._inside("loop", node, frame, tested):
                self._block(body, frame)

    def _with(self, node: ast.With | ast.AsyncWith, items: Sequence[ast.withitem], frame: Frame) -> bool:
        if not items:
            return self._block(node.body, frame)
        first, *others = items
        marks, self._yields = self._yields, []
        entered = self.evaluate(first.context_expr, frame)
        afterwards = self._after_yield()
        self._yields = marks
        manager = entered if isinstance(entered, Instance) and self.tracing else None
        if manager is not None:
            entered = self._managed(manager, "__enter__", entered)
        if first.optional_vars is not None:
            self._assign(first.optional_vars, _as_entered(entered), frame)
        with self._inside("with", first.context_expr, frame, entered):
            falls = self._with(node, others, frame)
        self.events.extend(afterwards)
        if manager is not None:
            self._managed(manager, "__exit__", entered)
        return falls

    def _after_yield(self) -> list[Event]:
        """Take out what a context manager of the repository does after its yield, and so after the body."""
        if not self._yields:
            return []
        afterwards = self.events[self._yields[0] :]
        del self.events[self._yields[0] :]
        return afterwards

    def _managed(self, manager: Instance, name: str, otherwise: Value) -> Value:
        """Follow what an object does when it is entered or left."""
        method = self.index.method(manager.cls, name)
        if method is None:
            return otherwise
        unknown = {parameter: Leaf(parameter) for parameter in _entry_parameters(method)}
        return self.follow(FunctionValue(method, manager), (), unknown)

    def _fork(self, blocks: Sequence[Callable[[], bool]], frame: Frame) -> bool:
        """Follow alternatives from the same state and join the states they end in."""
        before = frame.names
        ends: list[tuple[dict[str, Value], dict[tuple[int, object], Value]]] = []
        slots: dict[tuple[int, object], dict[object, Value]] = {}
        for block in blocks:
            frame.names = dict(before)
            mark = len(self._journal)
            falls = block()
            written = self._undo(mark, slots)
            if falls:
                ends.append((frame.names, written))
        frame.names = _joined_names([names for names, _ in ends]) if ends else dict(before)
        touched = {slot for _, written in ends for slot in written}
        for slot in touched:
            home, key = slots[slot], slot[1]
            options = [written.get(slot, home.get(key)) for _, written in ends]
            self.write(home, key, choice(*(option for option in options if option is not None)))
        return bool(ends)

    def write(self, home: dict[object, Value], key: object, value: Value) -> None:
        """Change an object in a way that a fork can take back."""
        self._journal.append((home, key, home.get(key)))
        home[key] = value

    def _undo(
        self, mark: int, slots: dict[tuple[int, object], dict[object, Value]]
    ) -> dict[tuple[int, object], Value]:
        written: dict[tuple[int, object], Value] = {}
        for home, key, before in reversed(self._journal[mark:]):
            slot = (id(home), key)
            slots[slot] = home
            written.setdefault(slot, home[key])
            if before is None:
                del home[key]
            else:
                home[key] = before
        del self._journal[mark:]
        return written

    def _for(self, node: ast.For | ast.AsyncFor, frame: Frame) -> None:
        iterable = self.evaluate(node.iter, frame)
        self._forget_counters(node, frame)
        for element in self.elements(iterable):
            self._assign(node.target, element, frame)
            with self._inside("loop", node, frame, iterable):
                self._block(node.body, frame)
        self._block(node.orelse, frame)

    def elements(self, iterable: Value) -> list[Value]:
        """What a loop over a value visits: its elements, or one unknown element."""
        value = self.force(iterable)
        match value:
            case Items(items=items):
                return items[:UNROLLED]
            case Table(entries=entries, rest=rest):
                return [Constant(key) for key in entries][:UNROLLED] + [Leaf("key") for _ in rest]
            case Settings(key=key, tree=list() as tree):
                return [self._setting((*key, i), tree[i]) for i in range(len(tree))][:UNROLLED]
            case Settings(tree=dict() as tree):
                return list[Value](map(Constant, tree))[:UNROLLED]
            case Choice(options=options):
                return [element for option in options for element in self.elements(option)][:UNROLLED]
            case Applied(callee="range", args=args):
                return range_elements(args, self._rounds)
            case Constant(value=np.ndarray() as array) if array.ndim:
                return list[Value](map(Constant, array[:CONCRETE_ROUNDS]))
        return [self.part(value, "*")]

    @property
    def _rounds(self) -> int:
        if self.tracing:
            return 0
        return CONCRETE_ROUNDS if self.eager else LOOP_ROUNDS

    def _assign_all(self, targets: list[ast.expr], value: ast.expr, frame: Frame) -> None:
        first = targets[0]
        if isinstance(first, ast.Tuple | ast.List) and isinstance(value, ast.GeneratorExp | ast.ListComp):
            evaluated: Value = self._comprehended_pieces(value, len(first.elts), frame)
        else:
            evaluated = self.evaluate(value, frame)
        for target in targets:
            self._met_assignment(value, target, evaluated, frame)
            self._assign(target, evaluated, frame)

    def _assign(self, target: ast.expr, value: Value, frame: Frame) -> None:
        match target:
            case ast.Name(id=name):
                frame.names[name] = value
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                for element, piece in zip(elements, self.pieces(value, len(elements)), strict=False):
                    self._assign(element, piece, frame)
            case ast.Starred(value=inner):
                self._assign(inner, value, frame)
            case ast.Attribute(value=base, attr=name):
                self.store(self.evaluate(base, frame), name, value)
            case ast.Subscript(value=base, slice=key):
                self._store_item(base, self.evaluate(key, frame), value, target, frame)

    def pieces(self, value: Value, count: int) -> list[Value]:
        """The parts of a value that is unpacked into `count` names."""
        value = self.force(value)
        if isinstance(value, Items):
            return [*value.items, *(Leaf("item") for _ in range(count))][:count]
        if isinstance(value, Constant) and isinstance(value.value, np.ndarray) and value.value.ndim:
            return list[Value](map(Constant, value.value))[:count]
        if isinstance(value, Choice):
            columns = zip(*(self.pieces(option, count) for option in value.options), strict=True)
            return [choice(*column) for column in columns]
        return [self.item(value, Constant(position)) for position in range(count)]

    def _comprehended_pieces(self, node: ast.GeneratorExp | ast.ListComp, count: int, frame: Frame) -> Value:
        """`h, w = (f(side) for side in shape)`: as many elements as there are names."""
        iterable = self.evaluate(node.generators[0].iter, frame)
        items: list[Value] = []
        for element in self.pieces(iterable, count):
            inner = Frame(frame.module, dict(frame.names), frame.around, frame.function, frame.cls)
            self._assign(node.generators[0].target, element, inner)
            items.append(self.evaluate(node.elt, inner))
        return Items(items)

    def store(self, base: Value, name: str, value: Value) -> None:
        """`base.name = value`."""
        match base:
            case Instance(attributes=attributes):
                self.initialise(base)
                self.write(attributes, name, value)  # type: ignore[arg-type]
            case Choice(options=options):
                for option in options:
                    self.store(option, name, value)
            case _:
                self._kept.append(base)
                self.write(self._stored, (id(base), name), value)

    def _store_item(
        self, base_node: ast.expr, key: Value, value: Value, target: ast.expr, frame: Frame
    ) -> None:
        base, key = self.force(self.evaluate(base_node, frame)), self.force(key)
        match base, key:
            case Table(entries=entries), Constant(value=known) if _hashable(known):
                self.write(entries, known, value)
            case Table(rest=rest), _:
                rest.append(value)
            case Items(items=items), Constant(value=int() as position) if (
                -len(items) <= position < len(items)
            ):
                items[position] = value
            case Items(items=items), _:
                items.append(value)
            case _:
                site = Site(frame.module.source, target)
                self._assign(base_node, Applied("[]=", (base, key, value), {}, site), frame)

    def _augment(
        self, node: ast.stmt, target: ast.expr, op: ast.operator, value: ast.expr, frame: Frame
    ) -> None:
        before = self.evaluate(target, frame)  # evaluation never looks at the load or store context
        after = self.evaluate(value, frame)
        self._met_assignment(node, target, after, frame, SYMBOLS.get(type(op), "?"))
        self._assign(target, self._binary(op, before, after, Site(frame.module.source, node)), frame)

    def _local_function(self, node: FunctionNode, frame: Frame) -> Value:
        known = next((f for f in self.index.functions_named(node.name) if f.node is node), None)
        if known is None:
            return Leaf(node.name)
        if frame.function is None:
            return self._decorated(FunctionValue(known), frame)
        # The names around a function are looked up when it is called, so the live mapping is kept.
        plain = FunctionValue(known, None, _Around(frame))
        return decorated(self, plain, frame) if self.tracing else plain

    # Expressions

    def evaluate(self, node: ast.expr, frame: Frame) -> Value:
        """The value of an expression."""
        self._spend()
        match node:
            case ast.Constant(value=value):
                return Constant(value)
            case ast.Name(id=name):
                return self._name(name, frame)
            case ast.Attribute(value=base, attr=attr):
                return self._attribute(node, base, attr, frame)
            case ast.Call():
                return calls.call(self, node, frame)
            case ast.BinOp(left=left, op=op, right=right):
                site = Site(frame.module.source, node)
                return self._binary(op, self.evaluate(left, frame), self.evaluate(right, frame), site)
            case ast.UnaryOp(op=op, operand=operand):
                return fold_unary(op, self.evaluate(operand, frame), Site(frame.module.source, node))
            case ast.BoolOp(op=op, values=values):
                return self._boolean(op, [self.evaluate(value, frame) for value in values], node, frame)
            case ast.Compare():
                return self._compare(node, frame)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._either(test, body, orelse, frame)
            case ast.Subscript(value=base, slice=key):
                return self._subscript(node, base, key, frame)
            case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
                return Items(self._unstarred(elements, frame))
            case ast.Dict(keys=keys, values=values):
                return self._dict(keys, values, frame)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                found: list[Value] = []
                self._comprehend(node.generators, frame, lambda f: found.append(self.evaluate(node.elt, f)))
                return Items(found)
            case ast.DictComp():
                return self._dict_comprehension(node, frame)
            case ast.Lambda():
                return LambdaValue(node, frame.module.source, _Around(frame))
            case ast.NamedExpr(target=target, value=value):
                evaluated = self.evaluate(value, frame)
                self._assign(target, evaluated, frame)
                return evaluated
            case ast.JoinedStr(values=values):
                return self._text(values, frame)
            case ast.Slice():
                parts = [
                    self.evaluate(p, frame) if p else NOTHING for p in (node.lower, node.upper, node.step)
                ]
                return Applied("slice", tuple(parts), {}, Site(frame.module.source, node))
            case ast.Await(value=value) | ast.Starred(value=value) | ast.FormattedValue(value=value):
                return self.evaluate(value, frame)
            case ast.Yield(value=value):
                self._yields.append(len(self.events))
                if value is not None:
                    frame.yielded.append(self.evaluate(value, frame))
            case ast.YieldFrom(value=value):
                self._yields.append(len(self.events))
                frame.yielded.extend(self.elements(self.evaluate(value, frame)))
        return Leaf(type(node).__name__)

    def _name(self, name: str, frame: Frame) -> Value:
        if name in frame.names:
            return frame.names[name]
        if name in frame.around:
            return frame.around[name]
        return self.global_name(name, frame.module)

    def global_name(self, name: str, module: Module) -> Value:
        """What a (dotted) name means at the top level of a module; in a script, what it means so far."""
        if self._script is not None and module is self._script.module and name in self._script.names:
            return self._script.names[name]
        key = (module.source.file, name)
        if key not in self._globals:
            self._globals[key] = Leaf(name)  # while it is being looked up
            self._globals[key] = self._global(name, module)
        return self._globals[key]

    def _global(self, name: str, module: Module) -> Value:
        target = self.index.resolve(module, name)
        match target:
            case Function():
                return self._decorated(FunctionValue(target))
            case Class():
                return ClassValue(target)
            case Module():
                return ModuleValue(target)
            case External(name=full):
                return Outside(full)
            case Variable(name=own, value=value, source=source):
                home = self.index.module_of(source)
                if home is not module:
                    return self.global_name(own, home)  # one object, whoever imports it
                made = self.evaluate(value, Frame(home, {}))
                if own in self.index.registries:
                    self._registries[made] = own
                return made
        return Outside(name) if name in BUILTINS else Leaf(name)

    def registry_of(self, value: Value) -> str:
        """The name of the registry that an object is, "" where it is none."""
        return self._registries.get(value, "")

    def _attribute(self, node: ast.Attribute, base: ast.expr, attr: str, frame: Frame) -> Value:
        return self.attribute(self.evaluate(base, frame), attr, Site(frame.module.source, node))

    def attribute(self, base: Value, name: str, site: Site) -> Value:
        """`base.name`."""
        base = self.force(base)
        stored = self._stored.get((id(base), name))
        if stored is not None:
            return stored
        match base:
            case Outside(name=full):
                return Outside(f"{full}.{name}")
            case ModuleValue(module=module):
                return self.global_name(name, module)
            case ClassValue(cls=cls):
                return self._class_attribute(cls, name) or self.part(base, name)
            case Instance():
                return self._instance_attribute(base, name)
            case SuperValue(instance=instance, cls=cls):
                for ancestor in self.index.lineage(cls)[1:]:
                    if name in ancestor.methods:
                        return FunctionValue(ancestor.methods[name], instance)
                return Outside(f"super.{name}")
            case Choice():
                return choice(*(self.attribute(option, name, site) for option in calls.usable(base)))
            case Constant(value=np.ndarray() as array):
                return array_attribute(array, name)
            case Applied(callee=callee, keywords=given) if name in given and holds_arguments(callee):
                return given[name]
        return self.part(base, name)

    def _instance_attribute(self, instance: Instance, name: str) -> Value:
        self.initialise(instance)
        if name in instance.attributes and not self._is_placeholder(instance, name):
            if self._is_counted_in_rounds(instance, name):
                self.store(instance, name, Leaf(name))
            return instance.attributes[name]
        found = self._class_attribute(instance.cls, name, instance)
        if isinstance(found, FunctionValue) and "property" in found.function.decorators:
            return self.follow(found, (), {})
        if isinstance(found, Applied) and found.callee in field_defaults.MAKERS:
            found = field_defaults.field_default(self, found)
            if not isinstance(found, Constant):
                instance.attributes[name] = found  # each object has a list or table of its own
        if found is not None and not (instance.open and isinstance(found, Constant)):
            return found
        if self._set_up(instance, name):
            return instance.attributes[name]
        return self.part(instance, name)

    def _is_counted_in_rounds(self, instance: Instance, name: str) -> bool:
        """Whether a method counts an attribute up while a loop goes round: `self.calls += 1`."""
        value = instance.attributes[name]
        if not self.tracing or not isinstance(value, Constant) or isinstance(value.value, bool | str | None):
            return False
        scopes = self.scope.outwards() if self.scope is not None else iter(())
        if not any(scope.kind == "loop" for scope in scopes):
            return False
        return any(name in _counted_attributes(ancestor) for ancestor in self.index.lineage(instance.cls))

    def _is_placeholder(self, instance: Instance, name: str) -> bool:
        """`self.gt = None` in __init__, which another method that was not followed yet fills."""
        value = instance.attributes[name]
        if not (isinstance(value, Constant) and value.value is None):
            return False
        return any(name in _assigned_later(ancestor) for ancestor in self.index.lineage(instance.cls))

    def _class_attribute(self, cls: Class, name: str, instance: Instance | None = None) -> Value | None:
        for ancestor in self.index.lineage(cls):
            if name in ancestor.methods:
                method = ancestor.methods[name]
                bound: Value | None = instance
                if "staticmethod" in method.decorators:
                    bound = None
                elif "classmethod" in method.decorators:
                    bound = ClassValue(cls)
                found = self._decorated(FunctionValue(method))
                return replace(found, bound=bound) if isinstance(found, FunctionValue) else found
            if name in ancestor.variables:
                return self.evaluate(ancestor.variables[name], Frame(self._module(ancestor.source), {}))
        return None

    def _decorated(self, plain: FunctionValue, frame: Frame | None = None) -> Value:
        """A function of a module or class behind the decorators of the repository; a trace follows them.

        `frame` is that of the module, where its statements are being followed.
        """
        function = plain.function
        if not self.tracing or not function.node.decorator_list:
            return plain
        if function not in self._wrapped:
            self._wrapped[function] = plain  # while it is being decorated
            around = frame or Frame(self._module(function.source), {})
            self._wrapped[function] = decorated(self, plain, around)
        return self._wrapped[function]

    def _set_up(self, instance: Instance, name: str) -> bool:
        """Frameworks call setup(), configure_...(); follow the one that gives the missing attribute."""
        if (instance, name) in self._setting_up:
            return False
        self._setting_up.add((instance, name))
        for ancestor in self.index.lineage(instance.cls):
            for method in _setup_methods(ancestor).get(name, ()):
                if method in self.stack:
                    continue
                keywords = {p: self._entry_value(method, p) for p in _entry_parameters(method)}
                self.follow(FunctionValue(method, instance), (), keywords)
                if name in instance.attributes:
                    return True
        return False

    def part(self, base: Value, key: str | int) -> Value:
        """An attribute or item of an unresolved value: a setting where the settings know it."""
        if isinstance(base, Settings):
            return self._settings_part(base, key)
        found = self._parts.get((id(base), key))
        if found is None:
            found = Part(base, key)
            self._kept.append(base)
            self._parts[(id(base), key)] = found
        holder, path = _path(found)
        known = self.settings.find(path, holder)
        return self._setting(*known) if known is not None else found

    def _settings_part(self, base: Settings, key: str | int) -> Value:
        tree = base.tree
        if isinstance(tree, dict) and isinstance(key, str):
            return self._setting((*base.key, key), tree[key]) if key in tree else NOTHING
        if isinstance(tree, list) and isinstance(key, int) and -len(tree) <= key < len(tree):
            return self._setting((*base.key, key), tree[key])
        return Leaf(str(key))

    def _setting(self, key: tuple[str | int, ...], value: object) -> Value:
        if isinstance(value, dict | list):
            return Settings(key, value)
        return Constant(value, ".".join(map(str, key)))

    def _subscript(self, node: ast.Subscript, base: ast.expr, key: ast.expr, frame: Frame) -> Value:
        registered = registry_item(self, base, key, frame)
        if registered is not None:
            return registered
        return self.item(
            self.evaluate(base, frame), self.evaluate(key, frame), Site(frame.module.source, node)
        )

    def item(self, base: Value, key: Value, site: Site | None = None) -> Value:
        """`base[key]`."""
        base = self.force(base)
        registry = self.registry_of(base)
        if registry and not (isinstance(base, Table) and base.entries):
            return registered(self, registry, key)
        match base, key:
            case Items(items=items), Constant(value=int() as position):
                return items[position] if -len(items) <= position < len(items) else Leaf("item")
            case Items(items=items), Applied(callee="slice", args=bounds):
                return Items(items[_slice(bounds)])
            case Items(items=items), _ if items:
                return choice(*items)
            case Table(entries=entries, rest=rest), Constant(value=known) if _hashable(known):
                if known in entries:
                    return entries[known]
                if not rest and base.missing is not None and site is not None:
                    self.write(entries, known, calls.call_value(self, base.missing, (), {}, site))
                    return entries[known]
                return choice(*rest) if rest else Leaf(str(known))
            case Table(entries=entries, rest=rest), _ if entries or rest:
                return self._by_settings(entries, rest, key)
            case Choice(options=options), _:
                return choice(*(self.item(option, key, site) for option in options))
            case Constant(value=np.ndarray() as array), _:
                return array_item(array, key)
            case _, Constant(value=str() | int() as known):
                stored = self._stored.get((id(base), known))
                if stored is not None:
                    return stored
                return self.part(base, known)
        if site is None:
            return Leaf("item")
        method = self.index.method(base.cls, "__getitem__") if isinstance(base, Instance) else None
        if method is not None:
            return calls.call_value(self, FunctionValue(method, base), (key,), {}, site)
        return Applied("[]", (base, key), {}, site)

    def _by_settings(self, entries: dict[object, Value], rest: list[Value], key: Value) -> Value:
        """An entry under an unknown key: those that the settings name, else any of them."""
        named = self.settings.named([key.lower() for key in entries if isinstance(key, str)])
        chosen = [value for key, value in entries.items() if isinstance(key, str) and key.lower() in named]
        option = calls.option_for(self, key) if calls.are_torch_names(entries.values()) else None
        if option is not None and option.value in entries:
            return entries[option.value]
        return choice(*(chosen or [*entries.values(), *rest]))

    def _dict(self, keys: Sequence[ast.expr | None], values: list[ast.expr], frame: Frame) -> Value:
        table = Table({})
        for key_node, value_node in zip(keys, values, strict=True):
            value = self.evaluate(value_node, frame)
            if key_node is None:
                spread = self.force(value)
                if isinstance(spread, Settings) and isinstance(spread.tree, dict):
                    table.entries.update({name: self.part(spread, name) for name in spread.tree})
                if isinstance(spread, Table):
                    table.entries.update(spread.entries)
                    table.rest.extend(spread.rest)
                continue
            self._put(table, self.evaluate(key_node, frame), value)
        return table

    def _dict_comprehension(self, node: ast.DictComp, frame: Frame) -> Value:
        mapped = self._moved_mapping(node, frame)
        if mapped is not None:
            return mapped
        table = Table({})

        def visit(inner: Frame) -> None:
            self._put(table, self.evaluate(node.key, inner), self.evaluate(node.value, inner))

        self._comprehend(node.generators, frame, visit)
        return table

    def _moved_mapping(self, node: ast.DictComp, frame: Frame) -> Value | None:
        """`{k: v.to(device) for k, v in batch.items()}` is the batch, where that is not known by its keys."""
        match node:
            case ast.DictComp(
                key=ast.Name(id=key),
                generators=[
                    ast.comprehension(
                        target=ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=second)]),
                        iter=ast.Call(func=ast.Attribute(value=mapping, attr="items")),
                        ifs=tests,
                    )
                ],
            ) if key == first:
                held = self.force(self.evaluate(mapping, frame))
                is_read = isinstance(held, Applied) and held.callee in SETTINGS_READERS
                if not is_read and (tests or not isinstance(held, Leaf | Part)):
                    return None
                element = Part(held, "*")
                names = {**frame.names, first: Leaf(first), second: element}
                inner = Frame(frame.module, names, frame.around, frame.function, frame.cls)
                made = self.evaluate(node.value, inner)
                options = made.options if isinstance(made, Choice) else (made,)
                return held if all(moved(option) is element for option in options) else None
        return None

    def _put(self, table: Table, key: Value, value: Value) -> None:
        key = self.force(key)
        if isinstance(key, Constant) and _hashable(key.value):
            table.entries[key.value] = value
        else:
            table.rest.append(value)

    def _comprehend(
        self, generators: list[ast.comprehension], frame: Frame, visit: Callable[[Frame], None]
    ) -> None:
        if not generators:
            visit(frame)
            return
        first, *others = generators
        iterable = self.evaluate(first.iter, frame)
        if isinstance(iterable, Applied) and iterable.callee == "range":
            elements = range_elements(iterable.args, CONCRETE_ROUNDS)
        else:
            elements = self.elements(iterable)
        with self._inside("comprehension", first, frame, iterable):
            for element in elements:
                inner = Frame(frame.module, dict(frame.names), frame.around, frame.function, frame.cls)
                self._assign(first.target, element, inner)
                if all(truth(self.evaluate(test, inner)) is not False for test in first.ifs):
                    self._comprehend(others, inner, visit)

    def _unstarred(self, elements: Sequence[ast.expr], frame: Frame) -> list[Value]:
        found: list[Value] = []
        for element in elements:
            if isinstance(element, ast.Starred):
                found.extend(self.elements(self.evaluate(element.value, frame)))
            else:
                found.append(self.evaluate(element, frame))
        return found

    def _binary(self, op: ast.operator, left: Value, right: Value, site: Site) -> Value:
        folded = fold_binary(op, left, right, site)
        if isinstance(folded, Applied) and folded.callee == "-":
            self.note(folded)
        return folded

    def _compare(self, node: ast.Compare, frame: Frame) -> Value:
        left = self.evaluate(node.left, frame)
        results: list[Value] = []
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(right_node, frame)
            result = fold_compare(op, left, right, Site(frame.module.source, node))
            if isinstance(result, Applied) and result.callee == "==":
                self.note(result)
            results.append(result)
            left = right
        return results[0] if len(results) == 1 else self._boolean(ast.And(), results, node, frame)

    def _boolean(self, op: ast.boolop, values: list[Value], node: ast.expr, frame: Frame) -> Value:
        wanted = isinstance(op, ast.Or)
        kept: list[Value] = []
        for value in values:
            known = truth(value)
            if known is wanted:
                return value if not kept else choice(*kept, value)
            if known is None:
                kept.append(value)
        if not kept:
            return values[-1]
        if wanted:  # `x or default`
            return choice(*kept)
        return Applied("and", tuple(kept), {}, Site(frame.module.source, node))

    def _text(self, values: list[ast.expr], frame: Frame) -> Value:
        pieces = [self.evaluate(value, frame) for value in values]
        if all(isinstance(piece, Constant) for piece in pieces):
            return Constant("".join(str(piece.value) for piece in pieces if isinstance(piece, Constant)))
        return Leaf("text")

    # Parameters

    def _bind(
        self, function: Function, bound: Value | None, args: Sequence[Value], keywords: Mapping[str, Value]
    ) -> dict[str, Value]:
        spec = function.node.args
        positional = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
        given = [*([bound] if bound is not None else []), *args]
        names = dict(zip(positional, given, strict=False))
        known = {*positional, *(arg.arg for arg in spec.kwonlyargs)}
        names.update({name: value for name, value in keywords.items() if name in known})
        if spec.vararg:
            names[spec.vararg.arg] = Items(given[len(positional) :])
        if spec.kwarg:
            others: dict[object, Value] = {
                n: v for n, v in keywords.items() if n not in known and n.isidentifier()
            }
            names[spec.kwarg.arg] = Table(others, [keywords[n] for n in keywords if n == SPREAD])
        spread = keywords.get(SPREAD)
        for name in known - names.keys():
            default = _default(function.node, name)
            home = Frame(self._module(function.source), {})
            if spread is not None and (default is None or _is_none(default)):
                names[name] = self.part(spread, name)
            else:
                names[name] = self.evaluate(default, home) if default is not None else Leaf(name)
        return names

    def _entry_value(self, function: Function, name: str) -> Value:
        """Switches and modes keep their default at an entry; numbers and objects are unknown."""
        default = _default(function.node, name)
        if isinstance(default, ast.Constant) and isinstance(default.value, bool | str):
            return Constant(default.value)
        return Leaf(name)

    def _module(self, source: Source) -> Module:
        return self.index.module_of(source)

    def _spend(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise Exhausted


class _Around(Mapping[str, Value]):
    """The live names of the frame that a local function was defined in."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def __getitem__(self, name: str) -> Value:
        if name in self._frame.names:
            return self._frame.names[name]
        return self._frame.around[name]

    def __contains__(self, name: object) -> bool:
        return name in self._frame.names or name in self._frame.around

    def __iter__(self) -> Iterator[str]:
        return iter({**self._frame.around, **self._frame.names})

    def __len__(self) -> int:
        return len(self._frame.names) + len(self._frame.around)

    @property
    def cls(self) -> Class | None:
        """The class of the method around."""
        return self._frame.cls


def _is_short(callee: FunctionValue | LambdaValue) -> bool:
    """Whether a function is followed in a few steps."""
    node = callee.function.node if isinstance(callee, FunctionValue) else callee.node
    return (node.end_lineno or node.lineno) - node.lineno <= FEW_LINES


FEW_LINES = 20


@lru_cache(maxsize=4096)
def _is_about_resuming(test: ast.expr) -> bool:
    """Whether a condition asks for a resume: off by default, and yet a way that a run goes."""
    texts = (
        getattr(n, "id", None) or getattr(n, "attr", None) or getattr(n, "value", "") for n in ast.walk(test)
    )
    return any(isinstance(text, str) and "resum" in text.lower() for text in texts)


def _cls(callee: FunctionValue) -> Class | None:
    return callee.around.cls if isinstance(callee.around, _Around) else None


def _entry_parameters(function: Function) -> tuple[str, ...]:
    skip = 1 if function.owner is not None and "staticmethod" not in function.decorators else 0
    return function.parameters[skip:]


def _default(node: FunctionNode, name: str) -> ast.expr | None:
    spec = node.args
    positional = [*spec.posonlyargs, *spec.args]
    for arg, default in zip(reversed(positional), reversed(spec.defaults), strict=False):
        if arg.arg == name:
            return default
    named = zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
    return next((default for arg, default in named if arg.arg == name), None)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _fields(cls: Class) -> list[str]:
    return [
        node.target.id
        for node in cls.node.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]


@lru_cache(maxsize=4096)
def _counted(loop: ast.For | ast.AsyncFor | ast.While) -> tuple[ast.expr, ...]:
    """What the body of a loop counts up (`step += 1`) or switches (`first = False`)."""
    found: list[ast.expr] = []
    waiting: list[ast.AST] = list(loop.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, FunctionNode | ast.ClassDef):
            continue
        if isinstance(node, ast.AugAssign) and isinstance(node.value, ast.Constant):
            found.append(node.target)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            found.extend(node.targets)
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting.extend(getattr(node, block, ()))
    return tuple(found)


@lru_cache(maxsize=4096)
def _begun(loop: ast.For | ast.AsyncFor | ast.While) -> frozenset[str]:
    """The names that a loop's body computes from themselves: None is only what the first round sees.

    `average = loss if average is None else 0.9 * average + 0.1 * loss`
    """
    found: set[str] = set()
    for statement in loop.body:
        for node in ast.walk(statement):
            if not isinstance(node, ast.Assign):
                continue
            read = {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}
            found.update(t.id for t in node.targets if isinstance(t, ast.Name) and t.id in read)
    return frozenset(found)


@lru_cache(maxsize=1024)
def _counted_attributes(cls: Class) -> frozenset[str]:
    """The attributes that methods count up by a number."""
    return frozenset(
        node.target.attr
        for method in cls.methods.values()
        for node in own_nodes(method.node)
        if isinstance(node, ast.AugAssign)
        and isinstance(node.target, ast.Attribute)
        and dotted(node.target.value) == "self"
        and isinstance(node.value, ast.Constant)
    )


@lru_cache(maxsize=1024)
def _assigned_later(cls: Class) -> frozenset[str]:
    """The attributes that methods other than __init__ assign."""
    return frozenset(
        node.attr
        for method in cls.methods.values()
        if method.name != "__init__"
        for node in own_nodes(method.node)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and dotted(node.value) == "self"
    )


@lru_cache(maxsize=1024)
def _setup_methods(cls: Class) -> dict[str, list[Function]]:
    """The methods that set something up, by the attributes they assign."""
    found: dict[str, list[Function]] = {}
    for method in cls.methods.values():
        if method.name == "__init__" or not method.name.lstrip("_").startswith(SETUP_NAMES):
            continue
        for node in own_nodes(method.node):
            is_own = isinstance(node, ast.Attribute) and dotted(node.value) == "self"
            if is_own and isinstance(node.ctx, ast.Store):  # type: ignore[attr-defined]
                found.setdefault(node.attr, []).append(method)  # type: ignore[attr-defined]
    return found


def _joined_names(states: list[dict[str, Value]]) -> dict[str, Value]:
    if len(states) == 1:
        return states[0]
    names = {name for state in states for name in state}
    return {name: choice(*(state[name] for state in states if name in state)) for name in names}


def _as_entered(value: Value) -> Value:
    """What `with ... as x` binds: apex's scale_loss gives the scaled loss."""
    if isinstance(value, Applied) and value.callee.endswith("scale_loss") and value.args:
        return value.args[0]
    return value


def _path(part: Part) -> tuple[str, tuple[str | int, ...]]:
    """The name that holds the settings, and the keys behind it: `self.opt.train.lr` is opt and train, lr."""
    keys: list[str | int] = []
    value: Value = part
    while isinstance(value, Part):
        if isinstance(value.key, str) and value.key.lower() in HOLDERS and keys:
            return value.key, tuple(reversed(keys))
        keys.append(value.key)
        value = value.base
    if isinstance(value, Applied) and value.callee in SETTINGS_READERS:
        return "config", tuple(reversed(keys))
    return value.name if isinstance(value, Leaf) else "", tuple(reversed(keys))


def _hashable(value: object) -> bool:
    return isinstance(value, str | int | float | bool | None | bytes)


def _slice(bounds: Sequence[Value]) -> slice:
    numbers = [b.value if isinstance(b, Constant) and isinstance(b.value, int) else None for b in bounds]
    return slice(*numbers)
