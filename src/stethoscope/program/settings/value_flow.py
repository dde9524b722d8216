"""Where a value goes: into something that acts on it, or only into print-outs, logs and saved records.

The value is followed through expressions, assignments, attributes, parameters of functions in the
repository and what they return. Whatever cannot be followed counts as acting: only a value that is seen
to go nowhere else is called idle.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from stethoscope.program.index import Class, External, Function
from stethoscope.program.settings.handed_values import ANY, Leaf, handed_to_call, method_called
from stethoscope.program.settings.idle_branches import is_idle
from stethoscope.program.settings.kinship import kinship
from stethoscope.program.settings.mentions import (
    Mentions,
    Spot,
    called,
    computed_texts,
    taken_by_name,
    text_of,
    texts_of,
)
from stethoscope.program.settings.part_changes import is_changed_in_place
from stethoscope.program.settings.settings_tree import HOLDERS
from stethoscope.program.settings.telling import only_tells
from stethoscope.program.syntax import FunctionNode, walk
from stethoscope.run import Source, Where

MOST_STEPS = 2_000  # of following one value; beyond it the value counts as acting
ALL_STEPS = 60_000  # of following all values of a program

_ENDS = (ast.Assert, ast.Raise, ast.Expr, ast.Delete, ast.Global, ast.Nonlocal, ast.Pass)
# Bases that read no attributes which a derived class might set.
_PLAIN_BASES = re.compile(
    r"(?:^|\.)(?:Module|LightningModule|Dataset|IterableDataset|object|ABC|Protocol|Generic)$"
)
_CARRIES = (
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Tuple, ast.List, ast.Set, ast.Starred),
    *(ast.FormattedValue, ast.JoinedStr, ast.Await),
    *(ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp),
)


@dataclass(slots=True, eq=False)
class Flow:
    """What values are followed in. `left` is how many steps may be taken in all.

    `flags` are the names of command-line options: `args.config` is a path where `self.config` is not.
    `known` are answers that were found, by expression and key. Where only `amounts` act, a question that is
    answered yes or no (`if decay > 0`) is no use: how large the value is goes no further. `exact` takes
    computed keys for what they can be; then what is taken out of a whole is known from the whole alone.
    """

    code: Mentions
    flags: frozenset[str] = frozenset()
    known: dict[tuple[int, str | None], Where | None] = field(default_factory=dict)
    left: int = ALL_STEPS
    amounts: bool = False
    exact: bool = False

    @property
    def is_spent(self) -> bool:
        """Whether values remain that could not be followed."""
        return self.left <= 0


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """Where a settings object goes as a whole: the place where it gets lost, or what is taken out of it.

    `is_loose` says that its parts went on under their own names, so that what takes them is not all in
    `takes`. `spreads` are the functions whose parameters it fills by name.
    """

    escape: Where | None = None
    takes: dict[str, list[Spot]] = field(default_factory=dict)
    spreads: tuple[Function, ...] = ()
    is_loose: bool = False


def acts(spot: Spot, flow: Flow, key: str | None = None) -> Where | None:
    """Where the value of an expression reaches something that acts on it; None where nothing does.

    With a `key`, the expression is a container, and the value lies under that key in it.
    """
    asked = (id(spot.node), key)
    if asked not in flow.known:
        place = Following(flow).follow([Leaf(spot, key)])
        if flow.is_spent:
            return place  # with a fresh budget the answer may be another
        flow.known[asked] = place
    return flow.known[asked]


def parameter_acts(function: Function, name: str, flow: Flow) -> Where | None:
    """Where a parameter of a function reaches something that acts on it; None where nothing does."""
    following = Following(flow)
    if following.variable(name, function.node, function.source, None):
        return function.where()
    return following.follow(following.todo)


def whole(spots: Iterable[Spot], flow: Flow) -> Whole:
    """Follow an object of settings from the places where it is made."""
    following = Following(flow)
    escape = following.follow([Leaf(spot, ANY) for spot in spots])
    return Whole(escape, following.takes, tuple(following.spreads), following.is_loose)


class Following:
    """The walk along one value. It ends at the first thing that acts."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.code = flow.code
        self.seen: set[tuple[object, ...]] = set()
        self.todo: list[Leaf] = []
        self.steps = 0
        self.takes: dict[str, list[Spot]] = {}
        self.spreads: list[Function] = []
        self.is_loose = False

    def follow(self, starts: list[Leaf]) -> Where | None:
        """Where the value acts, or None."""
        self.todo = starts
        while self.todo:
            leaf = self.todo.pop()
            if (id(leaf.spot.node), leaf.key) in self.seen:
                continue
            self.seen.add((id(leaf.spot.node), leaf.key))
            self.steps += 1
            self.flow.left -= 1
            if self.steps > MOST_STEPS or self.flow.left <= 0 or self.step(leaf):
                return leaf.spot.where
        return None

    def step(self, leaf: Leaf) -> bool:
        """Take one step up from an expression; whether it acts there."""
        node = leaf.spot.node
        parent = self.code.parents.get(id(node))
        if self.flow.amounts and leaf.key is None:
            if _is_asked_about(node, parent):
                return False
            if isinstance(parent, ast.Compare):
                return True  # a threshold for something that is measured
        if isinstance(parent, ast.Attribute):
            return self.taken(parent, parent.attr, leaf)
        if isinstance(parent, ast.Subscript):
            if parent.slice is node:
                return text_of(node) is None  # an index decides what is taken
            return self.taken(parent, text_of(parent.slice), leaf)
        if isinstance(parent, ast.keyword):
            call = self.code.parents[id(parent)]
            return not isinstance(call, ast.Call) or handed_to_call(self, call, parent, leaf)
        if isinstance(parent, ast.Call):
            return True if parent.func is node else handed_to_call(self, parent, node, leaf)
        if isinstance(parent, ast.Dict):
            return self.in_dict(parent, leaf)
        if isinstance(parent, ast.NamedExpr):
            return self.assigned(parent.target, leaf) or self.on(parent, leaf)
        own = self.own_target(node)
        if own is not None:
            return self.assigned(own, leaf)
        if isinstance(parent, ast.IfExp) and parent.test is node and _builds_something(parent):
            return leaf.key != ANY
        if isinstance(parent, ast.DictComp) and leaf.key == ANY and not isinstance(parent.key, ast.Name):
            return True  # {"opt_" + key: value ...}: its parts go on under names that are computed
        if isinstance(parent, _CARRIES):
            return self.on(parent, leaf)
        if isinstance(parent, ast.comprehension):
            return self.looped(parent.target, leaf) if parent.iter is node else True
        if isinstance(parent, ast.Assign):
            return any(self.assigned(target, leaf) for target in parent.targets)
        if isinstance(parent, ast.AnnAssign | ast.AugAssign):
            return parent.value is node and self.assigned(parent.target, leaf)
        if isinstance(parent, ast.Return):
            return self.returned(parent, leaf)
        if isinstance(parent, ast.If):  # what depends on the whole depends on no setting in particular
            arms = (parent.body, parent.orelse)
            return leaf.key != ANY and not all(is_idle(arm, leaf.spot.source, self.code) for arm in arms)
        if isinstance(parent, ast.For | ast.AsyncFor):
            return not only_tells(parent.body) and self.looped(parent.target, leaf)
        return not isinstance(parent, _ENDS)

    def own_target(self, node: ast.expr) -> ast.expr | None:
        """What an element of `a, b = x, y` is assigned to, where that is one thing."""
        row = self.code.parents.get(id(node))
        if not isinstance(row, ast.Tuple | ast.List):
            return None
        around = self.code.parents.get(id(row))
        if isinstance(around, ast.Assign) and around.value is row and len(around.targets) == 1:
            target: ast.expr | None = around.targets[0]
        else:
            target = self.own_target(row)
        if not isinstance(target, ast.Tuple | ast.List) or len(target.elts) != len(row.elts):
            return None
        if any(isinstance(element, ast.Starred) for element in (*target.elts, *row.elts)):
            return None
        return next(to for to, element in zip(target.elts, row.elts, strict=True) if element is node)

    def on(self, parent: ast.expr, leaf: Leaf) -> bool:
        """Go on with the expression around."""
        self.todo.append(Leaf(Spot(parent, leaf.spot.source), leaf.key))
        return False

    def taken(self, part: ast.Attribute | ast.Subscript, name: str | None, leaf: Leaf) -> bool:
        """Something is taken out of the value, or a method of it is called."""
        if self.code.is_called(part):
            call = self.code.parents[id(part)]
            assert isinstance(call, ast.Call)
            return method_called(self, call, name or "", leaf)
        if leaf.key is None or name in {"__dict__", "_asdict"}:
            return False if isinstance(part.ctx, ast.Store) else self.on(part, leaf)
        if leaf.key == ANY and isinstance(part, ast.Subscript) and _is_number(part.slice):
            return self.on(part, leaf)  # one of a row: parse_known_args()[0]
        if not isinstance(part.ctx, ast.Store):
            self.part(part, part.slice if isinstance(part, ast.Subscript) else part.attr, leaf)
        return False

    def part(self, part: ast.expr, key: ast.expr | str | None, leaf: Leaf) -> None:
        """A part of a container is read, by a name or by an expression that gives one."""
        spot = Spot(part, leaf.spot.source)
        read = computed_texts if self.flow.exact else texts_of
        names = (key,) if isinstance(key, str) else read(key, self.code) if key is not None else None
        if names is None and leaf.key == ANY and is_changed_in_place(part, self.code):
            return
        if names is None or leaf.key in names:  # a key that is computed may be ours
            self.todo.append(Leaf(spot, None))
        elif leaf.key == ANY:
            for name in names:
                self.takes.setdefault(name, []).append(spot)

    def is_lost(self, leaf: Leaf, name: ast.expr | None = None) -> bool:
        """The value goes where only its name leads: that loses it, but not the parts of a whole.

        `name` is what gives the name, where that is an expression: a computed one loses the parts too.
        """
        self.is_loose = True
        return leaf.key != ANY or not isinstance(name, ast.Name | None)

    def in_rest(self, function: Function, leaf: Leaf) -> bool:
        """The value lies in a function's `**kwargs`, if it has any."""
        rest = function.node.args.kwarg
        return rest is not None and self.variable(rest.arg, function.node, function.source, leaf.key)

    def parameter(self, function: Function, place: int, leaf: Leaf) -> bool:
        """Follow a parameter through the body of its function."""
        names = function.parameters
        rest = function.node.args.vararg
        if place < len(names):
            return self.variable(names[place], function.node, function.source, leaf.key)
        return self.variable(rest.arg, function.node, function.source, leaf.key) if rest else True

    def variable(self, name: str, scope: ast.AST, source: Source, key: str | None) -> bool:
        """Every place in a scope where a variable is read."""
        if (name, id(scope), key) in self.seen:
            return False
        self.seen.add((name, id(scope), key))
        for spot in self.code.names_in(source, name):
            if self.code.is_within(spot.node, scope):
                self.todo.append(Leaf(spot, key))
        saving = self.code.calls.get("save_hyperparameters", ())
        if any(self.code.scope_of(spot.node) is scope for spot in saving):
            kept = (spot for spot in taken_by_name(name, self.code) if _is_of_hparams(spot.node))
            self.todo.extend(Leaf(spot, key) for spot in kept)
        return self.code.is_open(scope)

    def attribute(self, name: str, key: str | None, owner: Class | None = None) -> bool:
        """Every place in the repository where an attribute or key of this name is read.

        What an object of `owner` keeps for itself is not what `self` means in classes that are no kin.
        """
        if (name, key, owner) in self.seen:
            return False
        self.seen.add((name, key, owner))
        for spot in taken_by_name(name, self.code):
            if key == ANY and name in self.flow.flags and not _is_own(spot.node):
                continue
            if owner is None or self.may_be_of(owner, spot.node):
                self.todo.append(Leaf(spot, key))
        return False

    def may_be_of(self, owner: Class, node: ast.expr) -> bool:
        """Whether an expression may take an attribute of an object of this class."""
        if isinstance(node, ast.Subscript) or (isinstance(node, ast.Call) and called(node) != "getattr"):
            return False  # a key
        cls = self.code.class_around(node) if _is_own(node) else None
        return cls is None or kinship(self.code.index).are_kin(owner, cls)

    def assigned(self, target: ast.expr, leaf: Leaf) -> bool:
        """The value gets a name."""
        if isinstance(target, ast.Name):
            return self.named(target, leaf)
        if isinstance(target, ast.Attribute):
            return self.kept(target, leaf)
        if isinstance(target, ast.Tuple | ast.List):
            return any(self.assigned(element, leaf) for element in target.elts)
        if isinstance(target, ast.Subscript):
            return self.put(target, leaf)
        if isinstance(target, ast.Starred):
            return self.assigned(target.value, leaf)
        return True

    def kept(self, target: ast.Attribute, leaf: Leaf) -> bool:
        """The value becomes an attribute; of an object from outside, which may read it, unless ours does."""
        nobody_here = not any(True for _ in taken_by_name(target.attr, self.code))
        if nobody_here and not self.is_settings(target.value) and not self.is_plain_self(target):
            return True
        owner = self.code.class_around(target) if _is_own(target) else None
        if owner is not None and not self.is_plain_self(target):
            owner = None
        return self.attribute(target.attr, leaf.key, owner)

    def is_plain_self(self, target: ast.Attribute) -> bool:
        """Whether the attribute is of an object whose bases do not read it behind our back."""
        if not (isinstance(target.value, ast.Name) and target.value.id in {"self", "cls"}):
            return False
        cls = self.code.class_around(target)
        return cls is not None and all(_PLAIN_BASES.search(b) for b in self.code.index.outside_bases(cls))

    def put(self, target: ast.Subscript, leaf: Leaf) -> bool:
        """The value goes into a container: one of our own, or `group["lr"]` of an optimiser."""
        name, base = text_of(target.slice), target.value
        if name is None:
            return self.is_lost(leaf, target.slice)
        if self.is_settings(base):
            return self.attribute(name, leaf.key)
        if isinstance(base, ast.Name) and self.is_own_dict(base):
            return self.named(base, Leaf(leaf.spot, leaf.key or name))
        return True

    def is_settings(self, base: ast.expr) -> bool:
        """Whether something is a settings object by its name."""
        name = str(getattr(base, "id", getattr(base, "attr", "")))
        return name.lower() in HOLDERS

    def is_own_dict(self, base: ast.Name) -> bool:
        scope = self.code.scope_of(base)
        made = [
            spot.node for spot in self.code.given.get(base.id, ()) if self.code.scope_of(spot.node) is scope
        ]
        return bool(made) and all(
            isinstance(node, ast.Dict | ast.DictComp)
            or (isinstance(node, ast.Call) and called(node) in {"dict", "defaultdict", "OrderedDict"})
            for node in made
        )

    def named(self, target: ast.Name, leaf: Leaf) -> bool:
        scope = self.code.scope_of(target)
        if isinstance(scope, ast.ClassDef):
            return self.attribute(target.id, leaf.key)
        if isinstance(scope, ast.Module) or target.id in self.code.globals:  # other modules may import it
            self.todo.extend(Leaf(spot, leaf.key) for spot in self.code.names(target.id))
            return self.attribute(target.id, leaf.key)
        return self.variable(target.id, scope, leaf.spot.source, leaf.key)

    def looped(self, target: ast.expr, leaf: Leaf) -> bool:
        """The value is gone through: each element of a settings list is a settings object again."""
        if leaf.key == ANY and isinstance(target, ast.Tuple) and len(target.elts) == 2:
            target = target.elts[1]  # for key, value in settings.items()
        if leaf.key is None or not isinstance(target, ast.Name):
            return True
        return self.assigned(target, leaf)

    def in_dict(self, parent: ast.Dict, leaf: Leaf) -> bool:
        """The value lies in a literal dict; a whole settings object in it stays what it is."""
        place = next((i for i, value in enumerate(parent.values) if value is leaf.spot.node), None)
        if place is None:
            return False  # it is a key
        key = leaf.key if leaf.key is not None else text_of(parent.keys[place])
        if key is None:
            return True
        self.todo.append(Leaf(Spot(parent, leaf.spot.source), key))
        return False

    def returned(self, statement: ast.Return, leaf: Leaf) -> bool:
        """The value goes to every caller."""
        scope = self.code.scope_of(statement)
        if not isinstance(scope, FunctionNode):
            return True
        if scope.name.startswith("__") or scope.name in {"forward", "call"}:
            return True
        spots = [s for s in self.code.calls.get(scope.name, ()) if self.may_call(s, scope)]
        spots += [s for s in self.code.attributes.get(scope.name, ()) if not self.code.is_called(s.node)]
        spots += [s for s in self.code.names(scope.name) if not self.code.is_called(s.node)]
        self.todo.extend(Leaf(spot, leaf.key) for spot in spots)
        return not spots  # called from where we cannot look

    def may_call(self, spot: Spot, function: FunctionNode) -> bool:
        """Whether a call of this name is not seen to be one of another function."""
        assert isinstance(spot.node, ast.Call)
        if _is_of_base(spot.node) and self.code.is_within(spot.node, function):
            return False  # what it fills in for; whoever calls that one calls this one
        index = self.code.index
        found = index.resolve(index.module_of(spot.source), called(spot.node))
        return not isinstance(found, Function | Class | External) or getattr(found, "node", None) is function


def _is_asked_about(node: ast.expr, parent: ast.AST | None) -> bool:
    """Whether a value is only asked a question that has two answers: `if x`, `x > 0`, `x is None`."""
    match parent:
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            return test is node
        case ast.Compare(left=left, comparators=[other]):
            against = other if left is node else left
            return isinstance(against, ast.Constant)
        case ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Call(func=ast.Name(id="bool")):
            return True
    return False


def _is_of_base(call: ast.Call) -> bool:
    """`super().compute_loss(...)`."""
    holder = call.func.value if isinstance(call.func, ast.Attribute) else None
    return isinstance(holder, ast.Call) and isinstance(holder.func, ast.Name) and holder.func.id == "super"


def _builds_something(choice: ast.IfExp) -> bool:
    """Whether `a() if setting else b` decides what is built, and not merely what is said."""
    return any(isinstance(node, ast.Call) for side in (choice.body, choice.orelse) for node in walk(side))


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _is_own(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _is_of_hparams(node: ast.AST) -> bool:
    """`self.hparams.width`, `self.hparams["width"]`: where Lightning keeps the arguments of a constructor."""
    holder = getattr(node, "value", None)
    return getattr(holder, "attr", getattr(holder, "id", None)) == "hparams"
