"""Following values through functions without running them.

An `Execution` is one walk and holds what it met; the expressions are followed here, the statements in
`statement_flow`, the calls in `calls`. What is known is computed (constants, settings, containers,
objects of the repository's classes); what is not stays a value that remembers how it was made. Both
branches of an unknown condition are followed and joined. A loop over known things is unrolled; over
unknown things its body is followed once. Pure functions are followed only when their result matters.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from stethoscope.program.index import Class, External, Function, Index, Module, Variable
from stethoscope.program.loop.gradient_modes import recorded_as
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk import calls
from stethoscope.program.walk.arithmetic import fold_unary
from stethoscope.program.walk.assignments import assign
from stethoscope.program.walk.builtin_calls import BUILTINS, CONCRETE_ROUNDS, LOOP_ROUNDS, range_elements
from stethoscope.program.walk.call_arguments import SPREAD
from stethoscope.program.walk.chained_layers import kept_by_chain
from stethoscope.program.walk.computed_tensors import array_attribute, array_item
from stethoscope.program.walk.container_methods import Defaulted
from stethoscope.program.walk.decorators import decorated
from stethoscope.program.walk.displays import comprehended, dict_comprehension, dict_display, unstarred
from stethoscope.program.walk.effects import effects
from stethoscope.program.walk.events import Call, Event, Scope
from stethoscope.program.walk.filled_tables import fill
from stethoscope.program.walk.frames import Around, Frame, class_around
from stethoscope.program.walk.framework_bases import given_to_base, kept_argument
from stethoscope.program.walk.instance_attributes import class_attribute, instance_attribute
from stethoscope.program.walk.learning_classes import learns
from stethoscope.program.walk.loop_counters import counted_globals
from stethoscope.program.walk.network_passes import is_network_pass
from stethoscope.program.walk.opened_outputs import opened_output
from stethoscope.program.walk.operators import binary, boolean, compared, either, joined_text
from stethoscope.program.walk.parameter_values import bind, entry_parameters, entry_value
from stethoscope.program.walk.registries import registered, registry_item
from stethoscope.program.walk.settings_paths import setting, settings_part, settings_path, told_to_module
from stethoscope.program.walk.statement_flow import follow_block
from stethoscope.program.walk.unrecorded import Unrecorded
from stethoscope.program.walk.values import (
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
    is_key,
)

STEPS = 30_000  # expressions and statements followed from one entry: about half a second
DEPTH = 40  # calls inside calls
UNROLLED = 24  # elements of a known container that a loop visits


class Exhausted(Exception):
    """The entry's budget of steps is spent."""


class Made(Exception):
    """The walk came to where an object of the awaited class is made; its __init__ is not followed yet."""

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance.cls.name)
        self.instance = instance


@dataclass(frozen=True, slots=True)
class Extent:
    """Lengths of a training: the epochs, and the batches of each."""

    epochs: int
    batches: int


StandIn = Callable[[Value, Sequence[Value], Mapping[str, Value]], Value | None]


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


class Inside:
    """One more level of control, while it is entered. A class, as a generator takes three times as long."""

    __slots__ = ("run", "scope")

    def __init__(self, run: Execution, scope: Scope) -> None:
        self.run = run
        self.scope = scope

    def __enter__(self) -> None:
        self.run.scope = self.scope

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.run.scope = self.scope.outer
        if kind is None:
            self.run.finished.add(self.scope.node)


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
        self.networks: list[Instance] = []  # objects of classes that learn, in the order they were made
        self.sinks: list[Sink] = []
        self.records: list[Record] = []
        self.entered: set[Function] = set()
        self.stack: list[Function] = []
        self.from_model: dict[int, tuple[bool, Value]] = {}  # answers of comes_from_model
        self.with_gradient: dict[int, tuple[bool, Value]] = {}
        self.defaulted: dict[int, Defaulted] = {}  # what was given for what is not in a table
        self.unrecorded: Unrecorded = {}  # what was computed without recording gradients
        self.stand_in: StandIn | None = None  # answers in the place of what cannot be computed
        self.most_rounds = 0  # of any loop, where more are wanted than is usual
        self.extent: Extent | None = None  # what is taken for lengths that are not known, while that is tried
        self.numbers: Callable[[Value], Value] | None = None  # what names hold meanwhile
        self._effects = effects(index)
        self._script: Frame | None = None
        self.yields: list[tuple[int, Scope | None]] = []  # where in `events` a generator gave something
        self.counted_by: dict[int, tuple[Value, ast.AST]] = {}  # what the rounds of a loop count
        self.journal: list[tuple[dict[Any, Value], object, Value | None]] = []
        self._parts: dict[tuple[int, str | int], Part] = {}
        self._stored: dict[object, Value] = {}
        self._expanded: dict[Delayed, Value] = {}
        self._met_in: dict[Delayed, Scope | None] = {}
        self._globals: dict[tuple[str, str], Value] = {}
        self._wrapped: dict[Function, Value] = {}
        self._registries: dict[Value, str] = {}
        self.setting_up: set[tuple[Instance, str]] = set()
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
        keywords = {name: entry_value(function, name) for name in entry_parameters(function)}
        return self.follow(FunctionValue(function, bound), (), {**keywords, **(given or {})})

    def enter_module(self, module: Module) -> None:
        """Follow the statements of a script."""
        self._script = Frame(module, {})
        follow_block(self, module.source.tree.body, self._script)

    def make(self, cls: Class) -> Instance:
        """An object of a class, made with unknown arguments."""
        init = self.index.method(cls, "__init__")
        keywords = {name: entry_value(init, name) for name in entry_parameters(init)} if init else {}
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
            instance.attributes.update(kept_by_chain(self.index, cls, args, keywords))
            if cls is self.awaited:
                raise Made(instance)
            return instance
        instance.made_with.update(bind(self, init, instance, args, keywords))
        if learns(self.index, cls):
            self.networks.append(instance)
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
        journal, self.journal = self.journal, []  # the object was made before any fork we are in
        here, self.scope = self.scope, scope
        try:
            self.follow(FunctionValue(init, instance), args, keywords)
        finally:
            self.journal = journal
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
        self.spend()
        self.entered.add(function)
        names = bind(self, function, callee.bound, args, keywords)
        frame = Frame(
            self.index.module_of(function.source),
            names,
            callee.around,
            function,
            function.owner or class_around(callee),
        )
        self.stack.append(function)
        try:
            with self.inside("call", function.node, frame):
                follow_block(self, function.node.body, frame)
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
        frame = Frame(self.index.module_of(callee.source), {**names, **given, **keywords}, callee.around)
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
            here = self.scope
            if delayed in self._met_in:  # gradients are recorded as where the call is, whoever asks for it
                self.scope = recorded_as(self._met_in[delayed], here)
            try:
                if isinstance(delayed.callee, LambdaValue):
                    result = self.follow_lambda(delayed.callee, delayed.args, delayed.keywords)
                else:
                    result = self.follow(delayed.callee, delayed.args, delayed.keywords)
            finally:
                self.scope = here
            self._expanded[delayed] = result
        return self._expanded[delayed]

    def note(self, value: Applied | Delayed) -> Value:
        """Remember a call that was met."""
        self.records.append(Record(value, tuple(self.stack)))
        if self.tracing and isinstance(value, Delayed):
            self._met_in[value] = self.scope
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

    def inside(
        self, kind: str, node: ast.AST, frame: Frame, value: Value | None = None, arm: bool = True
    ) -> Inside:
        """Follow what is inside one more level of control."""
        return Inside(self, Scope(kind, node, frame.module.source, self.scope, value, arm))

    def write(self, home: dict[Any, Value], key: object, value: Value) -> None:
        """Change an object in a way that a fork can take back."""
        self.journal.append((home, key, home.get(key)))
        home[key] = value

    def elements(self, iterable: Value) -> list[Value]:
        """What a loop over a value visits: its elements, or one unknown element."""
        value = self.force(iterable)
        value = opened_output(self, value) or value
        match value:
            case Items(items=items):
                return items[: self.most_rounds or UNROLLED]
            case Table(entries=entries, rest=rest):
                return [Constant(key) for key in entries][:UNROLLED] + [Leaf("key") for _ in rest]
            case Settings(key=key, tree=list() as tree):
                return [setting((*key, i), tree[i]) for i in range(len(tree))][:UNROLLED]
            case Settings(tree=dict() as tree):
                return list[Value](map(Constant, tree))[:UNROLLED]
            case Choice(options=options):
                return [element for option in options for element in self.elements(option)][:UNROLLED]
            case Applied(callee="range", args=args):
                return range_elements(args, self._rounds)
            case Applied(callee="map", args=[_, _, *_] as args, site=site):
                return calls.mapped(self, args, site)
            case Constant(value=np.ndarray() as array) if array.ndim:
                return list[Value](map(Constant, array[: self.most_rounds or CONCRETE_ROUNDS]))
        return [self.part(value, "*")]

    @property
    def _rounds(self) -> int:
        if self.tracing:
            return 0
        return (self.most_rounds or CONCRETE_ROUNDS) if self.eager else LOOP_ROUNDS

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
        if isinstance(value, Applied) and value.callee == "map" and len(value.args) == 2:
            function, whole = value.args
            each = self.pieces(whole, count)
            return [calls.call_value(self, function, [one], {}, value.site) for one in each]
        return [self.item(value, Constant(position)) for position in range(count)]

    def store(self, base: Value, name: str, value: Value) -> None:
        """`base.name = value`."""
        match base:
            case Instance(attributes=attributes):
                self.initialise(base)
                self.write(attributes, name, value)
            case Choice(options=options):
                for option in options:
                    self.store(option, name, value)
            case _:
                self._kept.append(base)
                self.write(self._stored, (id(base), name), value)

    def stored_in(self, base: Value, name: str) -> Value | None:
        """What `base.name = value` kept in an object that is not of the program: a namespace, a record."""
        return self._stored.get((id(base), name))

    # Expressions

    def evaluate(self, node: ast.expr, frame: Frame) -> Value:
        """The value of an expression."""
        self.spend()
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
                return binary(self, op, self.evaluate(left, frame), self.evaluate(right, frame), site)
            case ast.UnaryOp(op=op, operand=operand):
                return fold_unary(op, self.evaluate(operand, frame), Site(frame.module.source, node))
            case ast.BoolOp(op=op, values=values):
                return boolean(op, [self.evaluate(value, frame) for value in values], node, frame)
            case ast.Compare():
                return compared(self, node, frame)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return either(self, test, body, orelse, frame)
            case ast.Subscript(value=base, slice=key):
                return self._subscript(node, base, key, frame)
            case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
                return Items(unstarred(self, elements, frame))
            case ast.Dict(keys=keys, values=values):
                return dict_display(self, keys, values, frame)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                return comprehended(self, node, frame)
            case ast.DictComp():
                return dict_comprehension(self, node, frame)
            case ast.Lambda():
                return LambdaValue(node, frame.module.source, Around(frame))
            case ast.NamedExpr(target=target, value=value):
                evaluated = self.evaluate(value, frame)
                assign(self, target, evaluated, frame)
                return evaluated
            case ast.JoinedStr(values=values):
                return joined_text(self, values, frame)
            case ast.Slice():
                parts = [
                    self.evaluate(p, frame) if p else NOTHING for p in (node.lower, node.upper, node.step)
                ]
                return Applied("slice", tuple(parts), {}, Site(frame.module.source, node))
            case ast.Await(value=value) | ast.Starred(value=value) | ast.FormattedValue(value=value):
                return self.evaluate(value, frame)
            case ast.Yield(value=value):
                self.yields.append((len(self.events), self.scope))
                if value is not None:
                    frame.yielded.append(self.evaluate(value, frame))
            case ast.YieldFrom(value=value):
                self.yields.append((len(self.events), self.scope))
                frame.yielded.extend(self.elements(self.evaluate(value, frame)))
        return Leaf(type(node).__name__)

    def _name(self, name: str, frame: Frame) -> Value:
        if name in frame.names:
            found = frame.names[name]
        elif name in frame.around:
            found = frame.around[name]
        else:
            found = self.global_name(name, frame.module)
        return found if self.numbers is None else self.numbers(found)

    def global_name(self, name: str, module: Module) -> Value:
        """What a (dotted) name means at the top level of a module; in a script, what it means so far."""
        key = (module.source.file, name)
        if self._script is not None and module is self._script.module and name in self._script.names:
            known = self._script.names[name]
            is_counted = self.tracing and bool(self.stack) and isinstance(known, Constant)
            if is_counted and name in counted_globals(module.source):
                return self._globals.setdefault(key, Leaf(name))
            return known
        if key not in self._globals:
            self._globals[key] = Leaf(name)  # while it is being looked up
            self._globals[key] = self._global(name, module)
        return self._globals[key]

    def _global(self, name: str, module: Module) -> Value:
        target = self.index.resolve(module, name)
        match target:
            case Function():
                return self.decorated_function(FunctionValue(target))
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
                self._globals[(source.file, name)] = made  # what fills it asks for it
                fill(self, made, source.file, own)
                if own in self.index.registries:
                    self._registries[made] = own
                return made
        return Outside(name) if name in BUILTINS else Leaf(name)

    def registry_of(self, value: Value) -> str:
        """The name of the registry that an object is, "" where it is none."""
        return self._registries.get(value, "")

    def _attribute(self, node: ast.Attribute, base: ast.expr, attr: str, frame: Frame) -> Value:
        found = self.attribute(self.evaluate(base, frame), attr, Site(frame.module.source, node))
        return found if self.numbers is None else self.numbers(found)

    def attribute(self, base: Value, name: str, site: Site) -> Value:
        """`base.name`."""
        base = self.force(base)
        stored = self._stored.get((id(base), name))
        if stored is not None:
            return stored
        match base:
            case Outside(name="math") if self.eager and isinstance(getattr(math, name, None), float):
                return Constant(getattr(math, name))
            case Outside(name=full):
                return Outside(f"{full}.{name}")
            case ModuleValue(module=module):
                return self.global_name(name, module)
            case ClassValue(cls=cls):
                return class_attribute(self, cls, name) or self.part(base, name)
            case Instance():
                return instance_attribute(self, base, name)
            case SuperValue(instance=instance, cls=cls):
                for ancestor in self.index.lineage(cls)[1:]:
                    if name in ancestor.methods:
                        return FunctionValue(ancestor.methods[name], instance)
                return Outside(f"super.{name}")
            case Choice():
                return choice(*(self.attribute(option, name, site) for option in calls.usable(base)))
            case Constant(value=np.ndarray() as array):
                return array_attribute(array, name)
            case Items(items=[first, second]) if self.eager and name in {"values", "indices"}:
                return first if name == "values" else second  # what `max(dim=1)` gave
            case Applied() if (kept := kept_argument(base, name)) is not None:
                return kept
        return self.part(base, name)

    def decorated_function(self, plain: FunctionValue, frame: Frame | None = None) -> Value:
        """A function of a module or class behind the decorators of the repository; a trace follows them.

        `frame` is that of the module, where its statements are being followed.
        """
        function = plain.function
        if not self.tracing or not function.node.decorator_list:
            return plain
        if function not in self._wrapped:
            self._wrapped[function] = plain  # while it is being decorated
            around = frame or Frame(self.index.module_of(function.source), {})
            self._wrapped[function] = decorated(self, plain, around)
        return self._wrapped[function]

    def part(self, base: Value, key: str | int) -> Value:
        """An attribute or item of an unresolved value: a setting where the settings know it."""
        if isinstance(base, Settings):
            return settings_part(base, key)
        told = told_to_module(base, key)
        if told is not None:
            return told
        found = self._parts.get((id(base), key))
        if found is None:
            found = Part(base, key)
            self._kept.append(base)
            self._parts[(id(base), key)] = found
        holder, path = settings_path(found)
        known = self.settings.find(path, holder)
        return setting(*known) if known is not None else found

    def _subscript(self, node: ast.Subscript, base: ast.expr, key: ast.expr, frame: Frame) -> Value:
        entry = registry_item(self, base, key, frame)
        if entry is not None:
            return entry
        return self.item(
            self.evaluate(base, frame), self.evaluate(key, frame), Site(frame.module.source, node)
        )

    def item(self, base: Value, key: Value, site: Site | None = None) -> Value:
        """`base[key]`."""
        base = _before_others_were_set(self.force(base), key)
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
            case Table(entries=entries, rest=rest), Constant(value=known) if is_key(known):
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
                if not (isinstance(base, Instance) and isinstance(known, str) and site is not None):
                    return self.part(base, known)
        if site is None:
            return Leaf("item")
        method = self.index.method(base.cls, "__getitem__") if isinstance(base, Instance) else None
        if method is None and isinstance(key, Constant) and isinstance(key.value, str):
            return self.part(base, key.value)
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

    def spend(self) -> None:
        """Take one step out of the budget."""
        self.steps -= 1
        if self.steps < 0:
            raise Exhausted


def _before_others_were_set(base: Value, key: Value) -> Value:
    """What had `options["rate"]` before `options["size"]` was set: the one is not made of the other."""
    while isinstance(base, Applied) and base.callee == "[]=" and _is_name(key):
        container, other, _ = base.args
        if not _is_name(other) or other.value == key.value:
            break
        base = container
    return base


def _is_name(key: Value) -> TypeGuard[Constant]:
    return isinstance(key, Constant) and isinstance(key.value, str)


def _fields(cls: Class) -> list[str]:
    return [
        node.target.id
        for node in cls.node.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]


def _slice(bounds: Sequence[Value]) -> slice:
    numbers = [b.value if isinstance(b, Constant) and isinstance(b.value, int) else None for b in bounds]
    return slice(*numbers)
