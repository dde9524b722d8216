"""Following the bodies of a program with tables of a few thousand rows in the place of its data.

Slices, orders, masks and what libraries deal out are computed; of everything else nothing is known. A number
that is not known is taken for a share where a length is multiplied by it, and for a small count elsewhere.
Nothing of the program runs.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stethoscope.program.data.rows import dealing, libraries
from stethoscope.program.data.rows.frames import Frame, Inner, Left, Spent, bound
from stethoscope.program.data.rows.tables import (
    COUNT,
    Each,
    Numbers,
    Rows,
    Statistic,
    Thing,
    numbered,
    statistics_in,
    table,
)
from stethoscope.program.index import Class, Function, Index, Variable, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.known_numbers import option_defaults
from stethoscope.program.spelling.unsettled import unsettled_body
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.values import Site

STEPS = 6_000  # expressions followed from one body
DEPTH = 6
LONGEST = 24  # rounds of a loop over things that are known
OF_COLUMNS = frozenset({"col", "cols", "column", "columns", "features", "feature", "feats", "constant"})

ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}
COMPARING: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
}


@dataclass(slots=True, eq=False)
class Followed:
    """One body followed, with the frames of all calls in it."""

    index: Index
    steps: int = STEPS
    frames: list[Frame] = field(default_factory=list)
    known: dict[object, Any] = field(default_factory=dict)

    @property
    def steps_made(self) -> int:
        """How many expressions and statements were followed."""
        return STEPS - self.steps

    def body(self, function: Function) -> None:
        """Follow a function that is handed nothing that is known."""
        given = [Thing(function.owner)] if function.owner is not None else []
        try:
            self.call(function, given, {}, 0)
        except (Spent, RecursionError):
            return

    def call(self, function: Function, args: Sequence[Any], named: Mapping[str, Any], depth: int) -> Any:
        """What a function of the program gives back."""
        if depth > DEPTH:
            return table(object())
        frame = Frame(self.index.module_of(function.source), bound(function.node, args, named))
        return self._entered(unsettled_body(function.source, function.node), frame, depth)

    def _entered(self, body: Sequence[ast.stmt], frame: Frame, depth: int) -> Any:
        self.frames.append(frame)
        try:
            self._block(body, frame, depth)
        except Left as left:
            return left.value
        return None

    def _call_inner(self, inner: Inner, args: Sequence[Any], named: Mapping[str, Any], depth: int) -> Any:
        if depth > DEPTH:
            return table(object())
        frame = Frame(inner.around.module, bound(inner.node, args, named), around=inner.around)
        if isinstance(inner.node, ast.Lambda):
            return self.value(inner.node.body, frame, depth)
        return self._entered(inner.node.body, frame, depth)

    # Statements

    def _block(self, body: Sequence[ast.stmt], frame: Frame, depth: int) -> None:
        for node in body:
            self._spend()
            self._statement(node, frame, depth)

    def _spend(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise Spent

    def _statement(self, node: ast.stmt, frame: Frame, depth: int) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                given = self.value(value, frame, depth)
                for target in targets:
                    self._assign(target, given, frame, depth, node)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, self.value(value, frame, depth), frame, depth, node)
            case ast.AugAssign(target=target, op=op, value=value):
                left, right = self.value(target, frame, depth), self.value(value, frame, depth)
                self._assign(target, self._combined(op, left, right, node, frame), frame, depth, node)
            case ast.Expr(value=ast.Call() as call):
                self._moved(call, frame, depth)
            case ast.FunctionDef(name=name):
                frame.names[name] = Inner(node, frame)
            case ast.Delete():
                for one in all_nodes(node, ast.Name):
                    frame.names[one.id] = table(object())
            case ast.Return(value=value):
                raise Left(self.value(value, frame, depth) if value is not None else None)
            case ast.If(test=test, body=body, orelse=orelse):
                self._either(test, body, orelse, frame, depth)
            case ast.For(target=target, iter=over, body=body):
                for one in self._rounds(self.value(over, frame, depth)):
                    self._assign(target, one, frame, depth, node)
                    self._block(body, frame, depth)
            case ast.With(items=opened, body=body):
                for item in opened:
                    if isinstance(item.optional_vars, ast.Name):
                        frame.names[item.optional_vars.id] = self.value(item.context_expr, frame, depth)
                self._block(body, frame, depth)
            case ast.While(body=body) | ast.Try(body=body):
                self._block(body, frame, depth)

    def _moved(self, call: ast.Call, frame: Frame, depth: int) -> None:
        """`shuffle(order)` and `rows.append(...)` change what they are given."""
        name = str(getattr(call.func, "attr", None) or getattr(call.func, "id", ""))
        if name == "shuffle" and call.args and isinstance(call.args[0], ast.Name):
            held = self.value(call.args[0], frame, depth)
            frame.names[call.args[0].id] = dealing.shuffled(held, ast.unparse(call))
            return
        holder: ast.expr | None = call.func.value if isinstance(call.func, ast.Attribute) else None
        while isinstance(holder, ast.Subscript | ast.Attribute | ast.Call):
            holder = holder.func if isinstance(holder, ast.Call) else holder.value
        if name in {"append", "extend", "update", "pop", "insert", "add"} and isinstance(holder, ast.Name):
            if not isinstance(frame.names.get(holder.id), Thing):
                frame.names[holder.id] = table(object())
            return
        self.value(call, frame, depth)

    def _either(
        self, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt], frame: Frame, depth: int
    ) -> None:
        asked = self.value(test, frame, depth)
        if isinstance(asked, bool):
            self._block(body if asked else orelse, frame, depth)
            return
        before = dict(frame.names)
        for arm in (body, orelse):
            frame.names, kept = dict(before), frame.names
            try:
                self._block(arm, frame, depth)
            except Left as left:
                if arm is orelse or not _is_guard(arm):
                    raise left from None
                frame.names = kept
                continue
            if arm is orelse:
                for name, value in kept.items():
                    if frame.names.get(name) is not value:
                        frame.names[name] = table(object())

    def _rounds(self, over: Any) -> Iterator[Any]:
        if isinstance(over, Each):
            yield over.element
        elif isinstance(over, list | tuple | dict) and len(over) <= LONGEST:
            yield from over
        else:
            yield table(("element", over.origin)) if isinstance(over, Rows) else table(object())

    def _assign(self, target: ast.expr, value: Any, frame: Frame, depth: int, node: ast.AST) -> None:
        match target:
            case ast.Name(id=name):
                frame.names[name] = value
                frame.nodes[name] = node
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                whole = value if isinstance(value, list | tuple) else ()
                fits = len(whole) == len(elements)
                for place, element in enumerate(elements):
                    piece = whole[place] if fits else dealing.piece(value, place)
                    self._assign(element, piece, frame, depth, node)
            case ast.Attribute(value=base, attr=name):
                holder = self.value(base, frame, depth)
                if isinstance(holder, Thing):
                    holder.attributes[name] = value
                    frame.names[f".{name}"], frame.nodes[f".{name}"] = value, node
            case ast.Subscript(value=ast.Name(id=name) as base, slice=key):
                frame.names[name] = self._marked(base, key, value, frame, depth)

    def _marked(self, base: ast.Name, key: ast.expr, value: Any, frame: Frame, depth: int) -> Any:
        """`mask[order[:80]] = True`, `parts["train"] = rows`; a column changes no rows."""
        held = self.value(base, frame, depth)
        if isinstance(key, ast.Slice):
            length = len(held.places) if isinstance(held, Numbers) else 0
            ends = self._ends(key, frame, depth)
            at = dealing.cut(Numbers(np.arange(length)), ends)
        else:
            at = self.value(key, frame, depth)
        if isinstance(held, dict) and isinstance(at, str):
            return {**held, at: value}
        if isinstance(held, Numbers) and held.places.dtype == bool:
            return dealing.marked(held, at, value)
        return held

    # Expressions

    def value(self, node: ast.expr, frame: Frame, depth: int) -> Any:
        """What an expression is: a number, rows, their numbers, or a table of which nothing is known."""
        self._spend()
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self._named(name, frame)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return [self.value(one, frame, depth) for one in elements]
            case ast.Dict(keys=keys, values=values):
                said = [getattr(key, "value", None) for key in keys]
                return dict(zip(said, [self.value(one, frame, depth) for one in values], strict=True))
            case ast.BinOp(left=left, op=op, right=right):
                sides = self.value(left, frame, depth), self.value(right, frame, depth)
                return self._combined(op, *sides, node, frame)
            case ast.UnaryOp(op=op, operand=operand):
                return dealing.turned(op, self.value(operand, frame, depth))
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                sides = self.value(left, frame, depth), self.value(right, frame, depth)
                return self._compared(operator, *sides, node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                asked = self.value(test, frame, depth)
                arm = body if asked is True else orelse if asked is False else None
                return self.value(arm, frame, depth) if arm is not None else table(object())
            case ast.Subscript(value=base, slice=key):
                return self._item(base, key, frame, depth)
            case ast.Attribute(value=base, attr=name):
                return self._attribute(base, name, frame, depth)
            case ast.Call():
                return self._called(node, frame, depth)
            case ast.ListComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(node, frame, depth)
            case ast.Lambda():
                return Inner(node, frame)
            case ast.Starred(value=inner) | ast.Await(value=inner) | ast.NamedExpr(value=inner):
                return self.value(inner, frame, depth)
        return table(object())

    def _named(self, name: str, frame: Frame) -> Any:
        around: Frame | None = frame
        while around is not None:
            if name in around.names:
                return around.names[name]
            around = around.around
        target = self.index.resolve(frame.module, name)
        if isinstance(target, Variable):
            value = getattr(target.value, "value", None)
            return value if isinstance(value, int | float | str) else table(target)
        return self.known.setdefault((frame.module, name), table((frame.module, name)))

    def _combined(self, op: ast.operator, left: Any, right: Any, node: ast.AST, frame: Frame) -> Any:
        measured = [*statistics_in(left), *statistics_in(right)]
        if measured:
            rows = next((one for one in (left, right) if isinstance(one, Rows)), None)
            is_scaling = isinstance(op, ast.Sub | ast.Div)
            if rows is None or not is_scaling:
                return rows if rows is not None else measured[0]
            return rows.by(measured)
        if isinstance(left, Numbers) or isinstance(right, Numbers):
            return dealing.united(op, left, right)
        if isinstance(left, list) and isinstance(right, list) and isinstance(op, ast.Add):
            return left + right
        first, second = dealing.taken_for_numbers(op, left, right)
        if first is None or second is None:
            kept = next((one for one in (left, right) if isinstance(one, Rows)), None)
            return kept if kept is not None and not isinstance(op, ast.Add) else table(object())
        try:
            return ARITHMETIC[type(op)](first, second) if type(op) in ARITHMETIC else table(object())
        except (ArithmeticError, TypeError):
            return table(object())

    def _compared(self, operator: ast.cmpop, left: Any, right: Any, node: ast.AST) -> Any:
        if type(left) in {int, float} and type(right) in {int, float} and type(operator) in COMPARING:
            return bool(COMPARING[type(operator)](left, right))
        if isinstance(operator, ast.Is | ast.IsNot) or not isinstance(left, Rows):
            return None
        return dealing.guessed_mask(len(left.places), " ".join(ast.unparse(node).split()))

    def _item(self, base: ast.expr, key: ast.expr, frame: Frame, depth: int) -> Any:
        if isinstance(base, ast.Attribute) and base.attr in {"iloc", "loc"}:
            base = base.value
        held = self.value(base, frame, depth)
        if isinstance(key, ast.Tuple) and key.elts and isinstance(held, Rows | Numbers):
            key, *others = key.elts
            if ast.unparse(key) == ":":
                are_columns = all(isinstance(one, ast.Constant | ast.Slice | ast.UnaryOp) for one in others)
                return held if are_columns else table(object())
        if isinstance(key, ast.Slice):
            return dealing.cut(held, self._ends(key, frame, depth))
        if isinstance(held, Rows) and OF_COLUMNS & {word for one in all_nodes(key) for word in _said(one)}:
            return held
        return dealing.taken(held, self.value(key, frame, depth))

    def _ends(self, key: ast.Slice, frame: Frame, depth: int) -> list[Any]:
        ends: list[Any] = []
        for one in (key.lower, key.upper, key.step):
            end = self.value(one, frame, depth) if one is not None else None
            ends.append(COUNT if isinstance(end, Rows) or (end is None and one is not None) else end)
        return ends

    def _attribute(self, base: ast.expr, name: str, frame: Frame, depth: int) -> Any:
        held = self.value(base, frame, depth)
        if isinstance(held, Thing):
            return self._of_thing(held, name)
        if isinstance(held, Rows) and held.is_whole and name in (options := option_defaults(self.index)):
            number = options[name]
            return int(number) if number.is_integer() else number
        if isinstance(held, Rows) and name == "shape":
            return [len(held.places), table(object())]
        if isinstance(held, Rows | Numbers | Statistic) and name in libraries.KEEPING:
            return held
        if isinstance(held, Rows) and name == "index":
            return Numbers(held.places)
        if isinstance(held, Rows) and held.is_whole:
            return self.known.setdefault((held.origin, name), table((held.origin, name)))
        return held if isinstance(held, Rows) else table(object())

    def _of_thing(self, held: Thing, name: str) -> Any:
        """What an object was given under a name, else the number that its class gives it."""
        if name not in held.attributes and isinstance(held.cls, Class):
            declared = getattr(held.cls.variables.get(name), "value", None)
            if type(declared) in {int, float}:
                return declared
        return held.attributes.get(name, table((id(held), name)))

    def _comprehension(
        self, node: ast.ListComp | ast.GeneratorExp | ast.DictComp, frame: Frame, depth: int
    ) -> Any:
        first = node.generators[0]
        over = self.value(first.iter, frame, depth)
        element = node.value if isinstance(node, ast.DictComp) else node.elt
        chosen = numbered(over)
        if chosen is not None and len(node.generators) == 1 and not first.ifs:
            match element, first.target:
                case ast.Subscript(value=rows, slice=ast.Name(id=one)), ast.Name(id=number) if one == number:
                    return dealing.taken(self.value(rows, frame, depth), chosen)
                case ast.Name(id=one), ast.Name(id=number) if one == number:
                    return chosen
        inner = Frame(frame.module, dict(frame.names), around=frame.around)
        found: list[Any] = []
        entries: dict[Any, Any] = {}
        for one in self._rounds(over):
            self._assign(first.target, one, inner, depth, node)
            for more in node.generators[1:]:
                for each in self._rounds(self.value(more.iter, inner, depth)):
                    self._assign(more.target, each, inner, depth, node)
            found.append(self.value(element, inner, depth))
            if isinstance(node, ast.DictComp):
                key = self.value(node.key, inner, depth)
                entries[key if isinstance(key, str) else id(key)] = found[-1]
        if not isinstance(over, list | tuple):
            return Each(found[-1] if found else None)
        return entries if isinstance(node, ast.DictComp) else found

    # Calls

    def _called(self, node: ast.Call, frame: Frame, depth: int) -> Any:
        args = [self.value(one, frame, depth) for one in node.args]
        named = {one.arg: self.value(one.value, frame, depth) for one in node.keywords if one.arg}
        name = dotted(node.func) or (f"().{node.func.attr}" if isinstance(node.func, ast.Attribute) else "")
        site = Site(frame.module.source, node)
        if isinstance(node.func, ast.Attribute):
            known = libraries.library(name, args, named, site)
            if known is not libraries.NOT_KNOWN:
                return known
            holder = self.value(node.func.value, frame, depth)
            own = self._own_method(holder, node.func.attr, args, named, depth)
            if own is not libraries.NOT_KNOWN:
                return own
        called = self._named(name, frame) if isinstance(node.func, ast.Name) else None
        if isinstance(called, Inner):
            return self._call_inner(called, args, named, depth + 1)
        if isinstance(called, Thing):
            return self._own_method(called, "__call__", args, named, depth)
        target = self._target(name, frame)
        if isinstance(target, Function):
            return self.call(target, args, named, depth + 1)
        if isinstance(target, Class):
            return self._made(target, args, named, depth)
        if isinstance(node.func, ast.Attribute):
            return libraries.method(holder, node.func.attr, args, named, site)
        return libraries.library(name, args, named, site, table(object()))

    def _target(self, name: str, frame: Frame) -> Any:
        return self.index.resolve(frame.module, name) if name and name not in frame.names else None

    def _own_method(
        self, holder: Any, name: str, args: Sequence[Any], named: Mapping[str, Any], depth: int
    ) -> Any:
        if isinstance(holder, Thing) and isinstance(holder.cls, Class):
            method = self.index.method(holder.cls, name)
            if method is not None:
                return self.call(method, [holder, *args], named, depth + 1)
        return libraries.NOT_KNOWN if name != "__call__" else table(object())

    def _made(self, cls: Class, args: Sequence[Any], named: Mapping[str, Any], depth: int) -> Any:
        """An object of the program; a data set stands for the rows that it was given."""
        rows = next((one for one in (*args, *named.values()) if isinstance(one, Rows)), None)
        if rows is not None and self.index.method(cls, "__getitem__") is not None:
            return rows
        made = Thing(cls)
        begin = self.index.method(cls, "__init__")
        if begin is not None:
            self.call(begin, [made, *args], named, depth + 1)
        return made


def _said(node: ast.AST) -> Sequence[str]:
    name = getattr(node, "id", "") or getattr(node, "attr", "")
    return (*words(name), "constant") if name.isupper() else words(name)


def _is_guard(body: Sequence[ast.stmt]) -> bool:
    """Whether an arm only leaves: `if x is None: return`."""
    return len(body) == 1
