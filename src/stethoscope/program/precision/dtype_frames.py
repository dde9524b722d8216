"""One function or script whose types are being followed, statement by statement.

A `TypeFrame` holds what is known of each name at this point and the mode the code runs in; branches are
followed side by side and joined where they meet.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from stethoscope.program.index import Class, Module
from stethoscope.program.precision.autocast import HALVES, Autocast, DType, autocast_of
from stethoscope.program.precision.dtype_calls import call_type
from stethoscope.program.precision.entered_modes import entered
from stethoscope.program.precision.folded_numbers import default_of, folded
from stethoscope.program.precision.kept_types import held_of, is_unknown
from stethoscope.program.precision.numbered_parts import written
from stethoscope.program.precision.plain_numbers import is_setting, names_number, names_tensor
from stethoscope.program.precision.tensor_types import (
    MOST_LAYERS,
    NUMBER,
    UNKNOWN,
    Held,
    Mode,
    is_layer,
    joined,
    most_layers,
    operation,
    part_at,
    promoted,
    table_of,
)
from stethoscope.program.precision.wrapped_regions import wrapped_region
from stethoscope.program.settings.stated_options import stated
from stethoscope.program.syntax import FunctionNode
from stethoscope.program.walk.execution import Exhausted
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    ClassValue,
    Constant,
    Instance,
    Items,
    Outside,
    Site,
    Table,
    choice,
)

if TYPE_CHECKING:
    from stethoscope.program.precision.dtype_flow import Flow

DEPTH = 24  # functions followed one inside the other
UNARY_ATTRIBUTES = frozenset({"T", "mT", "H", "real", "imag", "data", "grad", "values"})
# The fields of what networks of others give.
OUTPUTS = frozenset({"logits", "last_hidden_state", "pooler_output", "sample", "image_embeds", "text_embeds"})
SHAPE_ATTRIBUTES = frozenset({"shape", "ndim", "device", "requires_grad", "is_cuda", "itemsize"})


class TypeFrame:
    """One function being followed."""

    def __init__(
        self, flow: Flow, module: Module, names: dict[str, Held], mode: Mode, cls: Class | None
    ) -> None:
        self.flow = flow
        self.module = module
        self.names = names
        self.mode = mode
        self.cls = cls
        self.returned: list[Held] = []
        self.local: dict[str, FunctionNode] = {}

    # Statements: each block says whether it falls through

    def block(self, body: Sequence[ast.stmt]) -> bool:
        """Follow statements in order."""
        return all(self._statement(statement) for statement in body)

    def _statement(self, node: ast.stmt) -> bool:
        match node:
            case ast.Return(value=value):
                self.returned.append(self.evaluate(value) if value is not None else NUMBER)
                return False
            case ast.Raise() | ast.Break() | ast.Continue():
                return False
            case ast.Expr(value=value):
                self._expression(value)
            case ast.Assign(targets=targets, value=value):
                held = self.evaluate(value)
                for target in targets:
                    self._assign(target, held)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self._assign(target, self.evaluate(value))
            case ast.AugAssign(target=target, value=value):
                # In place: the type of what is changed stays.
                before, after = self.evaluate(target), self.evaluate(value)
                layers = max(before.layers, after.layers)
                if isinstance(node.op, ast.Mult) and DType.NUMBER not in {before.dtype, after.dtype}:
                    layers = min(before.layers + after.layers, MOST_LAYERS)
                self._assign(target, Held(before.dtype, layers, sure=before.sure))
            case ast.If():
                return self._if(node)
            case ast.For() | ast.AsyncFor():
                self._for(node)
            case ast.While(test=test, body=body):
                self.evaluate(test)
                self._branches([body, []])
            case ast.With() | ast.AsyncWith():
                return self._with(node)
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
                falls = self._branches([[*body, *orelse], *(handler.body for handler in handlers)])
                return self.block(final) and falls
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.local[node.name] = node
        return True

    def _expression(self, node: ast.expr) -> None:
        held = self.evaluate(node)
        match node:
            # Until the stack is left: `stack.enter_context(torch.autocast("cuda"))`.
            case ast.Call(func=ast.Attribute(attr="enter_context"), args=[given]):
                self.mode = entered(self.mode, self._region(given))
            # `x.float_()`, `model.half()`: a module changes in place, a tensor does not.
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if attr.endswith("_"):
                if name in self.names:
                    self.names[name] = replace(self.names[name], layers=held.layers)

    def _if(self, node: ast.If) -> bool:
        tested = self.evaluate(node.test).value
        known = tested.value if isinstance(tested, Constant) else None
        if isinstance(known, bool):
            return self.block(node.body if known else node.orelse)
        return self._branches([node.body, node.orelse])

    def _branches(self, blocks: Iterable[Sequence[ast.stmt]]) -> bool:
        before = self.names
        ends: list[dict[str, Held]] = []
        for block in blocks:
            self.names = dict(before)
            if self.block(block):
                ends.append(self.names)
        names = {name for end in ends for name in end}
        self.names = (
            {name: joined([end[name] for end in ends if name in end]) for name in names} if ends else before
        )
        return bool(ends)

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        over = self.evaluate(node.iter)
        # Twice over: what the first round leaves is what the second begins with.
        elements = list(self.flow.visited(over)) or [UNKNOWN if over.items is None else over]
        for element in elements if len(elements) > 1 else elements * 2:
            self._assign(node.target, element)
            self._branches([node.body, []]) if len(elements) == 1 else self.block(node.body)
        self.block(node.orelse)

    def _with(self, node: ast.With | ast.AsyncWith) -> bool:
        before = self.mode
        for item in node.items:
            self.mode = entered(self.mode, self._region(item.context_expr))
        falls = self.block(node.body)
        self.mode = before
        return falls

    def _region(self, node: ast.expr) -> Autocast | None:
        made = self.evaluate(node).value
        made = wrapped_region(self.flow.run, made) or made
        here = autocast_of(stated(self.flow.run.index, self.flow.run.settings, made))
        if here is not None and here.known and here.enabled is not None:
            return here  # as this function was called: the walks met it in one way of perhaps several
        met = autocast_of(self.flow.contexts.get(id(node)))
        return met if met is not None else here

    def _assign(self, target: ast.expr, held: Held) -> None:
        match target:
            case ast.Name(id=name):
                self.names[name] = held
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                for position, element in enumerate(elements):
                    self._assign(element, part_at(held, position))
            case ast.Starred(value=inner):
                self._assign(inner, held)

    # Expressions

    def evaluate(self, node: ast.expr) -> Held:
        """What is known of an expression's value."""
        self.flow.left -= 1
        if self.flow.left <= 0:
            return UNKNOWN
        held = self._evaluate(node)
        self.flow.note(node, held, self.mode)
        return held

    def _evaluate(self, node: ast.expr) -> Held:
        match node:
            case ast.Constant(value=value):
                return Held(DType.NUMBER, value=Constant(value))
            case ast.Name(id=name):
                return self._name(node, name)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Call():
                return call_type(self, node)
            case ast.BinOp(left=left, op=op, right=right):
                if isinstance(op, ast.MatMult) and self.mode.half is not None:
                    self.flow.lowered.add(node)
                return self._binary(self.evaluate(left), op, self.evaluate(right))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                tested = self.evaluate(operand).value
                known = tested.value if isinstance(tested, Constant) else None
                return Held(DType.NUMBER, value=Constant(not known) if isinstance(known, bool) else None)
            case ast.UnaryOp(op=op, operand=operand):
                held = self.evaluate(operand)
                if isinstance(held.value, Constant) and isinstance(held.value.value, int | float):
                    sign = -1 if isinstance(op, ast.USub) else 1
                    return Held(DType.NUMBER, value=Constant(sign * held.value.value))
                return replace(held, value=None)
            case ast.BoolOp(values=values):
                return joined([self.evaluate(value) for value in values])
            case ast.Compare(left=left, comparators=others):
                for part in (left, *others):
                    self.evaluate(part)
                return NUMBER
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.evaluate(test)
                return joined([self.evaluate(body), self.evaluate(orelse)])
            case ast.Subscript(value=base, slice=key):
                return self._subscript(self.evaluate(base), key)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                parts = tuple(map(self.evaluate, elements))
                return Held(promoted(one.dtype for one in parts), most_layers(parts), parts)
            case (
                ast.ListComp(elt=element, generators=generators)
                | ast.SetComp(elt=element, generators=generators)
                | ast.GeneratorExp(elt=element, generators=generators)
                | ast.DictComp(value=element, generators=generators)
            ):
                return self._comprehension(element, generators)
            case ast.NamedExpr(target=target, value=value):
                held_value = self.evaluate(value)
                self._assign(target, held_value)
                return held_value
            case ast.Starred(value=value):
                return self.evaluate(value)
            case ast.JoinedStr():
                text = written(self, node)
                return Held(DType.NUMBER, value=text) if text is not None else UNKNOWN
            case ast.Dict(keys=keys, values=values):
                return _named(list(map(_text, keys)), list(map(self.evaluate, values)))
        return UNKNOWN

    def _comprehension(self, element: ast.expr, generators: list[ast.comprehension]) -> Held:
        before = dict(self.names)
        over = self.evaluate(generators[0].iter)
        found = []
        for one in list(self.flow.visited(over)) or [UNKNOWN]:
            self._assign(generators[0].target, one)
            found.append(self.evaluate(element))
        self.names = before
        held = joined(found)
        return Held(held.dtype, held.layers, tuple(found))

    def _name(self, node: ast.Name, name: str) -> Held:
        if name in self.names:
            return self.names[name]
        value = self.flow.evaluate(node, self.module)
        return held_of(value, self.mode)

    def _hyperparameter(self, node: ast.Attribute) -> Held | None:
        """`self.hparams.eps`: the constructor's argument, which Lightning keeps."""
        match node.value:
            case ast.Attribute(value=ast.Name(id=name), attr="hparams") if name in self.names:
                made = self.names[name].value
                if not isinstance(made, Instance):
                    return None
                init = self.flow.run.index.method(made.cls, "__init__")
                default = default_of(init, node.attr) if init is not None else None
                given = made.made_with.get(node.attr)
                known = given if isinstance(given, Constant) else default
                return Held(DType.NUMBER, value=known) if known is not None else None
        return None

    def _attribute(self, node: ast.Attribute) -> Held:
        kept = self._hyperparameter(node)
        if kept is not None:
            return kept
        base = self.evaluate(node.value)
        if base.entries is not None and node.attr in dict(base.entries):
            return dict(base.entries)[node.attr]
        if node.attr == "dtype" and base.value is None:
            known = base.dtype in HALVES or base.dtype is DType.FLOAT32
            return Held(value=Outside(f"torch.{base.dtype}") if known else None)
        if node.attr in SHAPE_ATTRIBUTES and not isinstance(base.value, Instance):
            return NUMBER
        if isinstance(base.value, Instance | Outside | Choice | ClassValue | Table):
            site = Site(self.module.source, node)
            if isinstance(base.value, Instance) and node.attr in self.flow.buffers(base.value.cls):
                return Held(self.mode.weights)
            held = held_of(self.flow.attribute(base.value, node.attr, site), self.mode)
            if not is_unknown(held):
                return held
            if is_setting(node) or names_number(node.attr):
                return NUMBER
            # What an object keeps of its constructor's arguments is a number, more often than not.
            is_kept = isinstance(base.value, Instance) and not names_tensor(node.attr)
            return replace(held, dtype=DType.NUMBER, sure=False) if is_kept else held
        if node.attr in {"weight", "bias"} and is_layer(base.value):
            return Held(self.mode.weights)
        if node.attr in UNARY_ATTRIBUTES:
            return replace(base, value=None)
        if node.attr in OUTPUTS and base.dtype in HALVES:
            return replace(base, items=None)
        return NUMBER if is_setting(node) else UNKNOWN

    def _subscript(self, base: Held, key: ast.expr) -> Held:
        index = self.evaluate(key)
        if (
            base.items is not None
            and isinstance(index.value, Constant)
            and isinstance(index.value.value, int)
        ):
            return part_at(base, index.value.value)
        container = table_of(base.value) or base.value if base.value is not None else None
        if isinstance(container, Items | Table) and isinstance(index.value, Constant):
            try:
                return held_of(self.flow.run.item(container, index.value), self.mode)
            except (Exhausted, RecursionError):
                return UNKNOWN
        if isinstance(container, Items | Table):
            inside = self.flow.elements(container)
            return Held(value=choice(*inside)) if inside else UNKNOWN
        if isinstance(base.value, Applied):
            inside = self.flow.elements(base.value)
            position = index.value.value if isinstance(index.value, Constant) else None
            if isinstance(position, int) and -len(inside) <= position < len(inside):
                return held_of(inside[position], self.mode)
        if base.entries is not None and isinstance(index.value, Constant):
            return dict(base.entries).get(str(index.value.value), UNKNOWN)
        return Held(base.dtype, base.layers, sure=base.sure)

    def _binary(self, left: Held, op: ast.operator, right: Held) -> Held:
        layers = max(left.layers, right.layers)
        if isinstance(op, ast.MatMult):
            return operation("matmul", "torch.matmul", [left, right], {}, self.mode)
        if isinstance(op, ast.Pow) and DType.NUMBER not in {left.dtype}:
            return operation("pow", "torch.pow", [left, right], {}, self.mode)
        if isinstance(op, ast.Div) and left.dtype is DType.NUMBER and right.dtype is not DType.NUMBER:
            return operation("reciprocal", "torch.reciprocal", [right], {}, self.mode)
        both = isinstance(op, ast.Mult) and DType.NUMBER not in {left.dtype, right.dtype}
        if both:  # the product of two values grows as their layers together
            layers = min(left.layers + right.layers, MOST_LAYERS)
        sure = left.sure and right.sure
        value = folded(left.value, op, right.value)
        return Held(promoted((left.dtype, right.dtype)), layers, value=value, sure=sure)

    def nested(self, node: FunctionNode, args: list[Held], keywords: dict[str, Held]) -> Held:
        """A function defined inside this one."""
        if self.flow.depth >= DEPTH:
            return UNKNOWN
        names = dict(self.names)
        names.update(zip((arg.arg for arg in node.args.args), args, strict=False))
        names.update(keywords)
        frame = TypeFrame(self.flow, self.module, names, self.mode, self.cls)
        frame.local = {name: other for name, other in self.local.items() if other is not node}
        self.flow.depth += 1
        try:
            frame.block(node.body)
        finally:
            self.flow.depth -= 1
        return joined(frame.returned) if frame.returned else NUMBER


def _text(key: ast.expr | None) -> str | None:
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None


def _named(keys: Sequence[str | None], values: Sequence[Held]) -> Held:
    """A dictionary with the entries that are known by name."""
    entries = tuple((key, held) for key, held in zip(keys, values, strict=True) if key is not None)
    return Held(entries=entries) if entries else UNKNOWN
