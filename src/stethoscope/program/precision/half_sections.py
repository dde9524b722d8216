"""Which functions run in half precision, and the type of every value in them.

A function is reached from a region of autocast (a `with` block, a decorator, a framework's precision), from a
network whose weights are half, or because it casts to half itself. What is called from there is followed
through submodules, lists of layers and plain functions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from stethoscope.program.index import Function, Index, Module
from stethoscope.program.precision.autocast import DType, autocast_of
from stethoscope.program.precision.called_objects import called
from stethoscope.program.precision.dtype_flow import Flow, Noted
from stethoscope.program.precision.half_roots import roots
from stethoscope.program.precision.half_weights import forced
from stethoscope.program.precision.loop_precision import entered_value
from stethoscope.program.precision.tensor_calls import Body
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.syntax import FunctionNode, children
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.trace import Trace, traces
from stethoscope.program.walk.values import Value, choice


@dataclass(frozen=True, slots=True, eq=False)
class HalfSections:
    """Every function that runs in half precision, and what its expressions were.

    `lowered` are the calls and products that autocast runs in half, whatever they get; `reached` are the
    functions of the repository that calls lead to.
    """

    index: Index
    functions: tuple[Function | Module, ...]
    noted: dict[ast.expr, Noted]
    lowered: frozenset[ast.expr] = frozenset()
    reached: dict[ast.expr, set[Function]] = field(default_factory=dict)
    dtype: DType = DType.FLOAT16  # the half type that is asked about
    _bodies: list[Body] = field(default_factory=list)  # made once for all rules

    def under(self, dtype: DType) -> HalfSections:
        """The same, asked about another half type."""
        return replace(self, dtype=dtype)

    def __bool__(self) -> bool:
        return bool(self.functions)

    def of(self, node: ast.expr) -> Noted | None:
        """What an expression was; None where it was never reached."""
        return self.noted.get(node)

    def is_half(self, node: ast.expr) -> bool:
        """Whether an expression's value was of the half type on some way it was reached."""
        noted = self.noted.get(node)
        return noted is not None and self.dtype in noted.dtypes

    def is_certain(self, node: ast.expr) -> bool:
        """Whether an expression is half under the settings as they are, not only under other ones."""
        noted = self.noted.get(node)
        return noted is not None and noted.sure and any(mode.certain for mode in noted.modes)

    def spoken(self, node: ast.expr) -> str:
        """The half type as it is told: whether an expression has it at all may depend on settings."""
        noted = self.noted.get(node)
        is_open = noted is not None and not any(mode.certain for mode in noted.modes)
        return f"{self.dtype} under some settings" if is_open else str(self.dtype)

    def in_autocast(self, node: ast.expr) -> bool:
        """Whether an expression was reached inside a region of the half type."""
        noted = self.noted.get(node)
        return noted is not None and any(mode.half is self.dtype for mode in noted.modes)

    def bodies(self) -> Sequence[Body]:
        """The functions and scripts, ready to be searched."""
        if not self._bodies:
            self._bodies.extend(Body(self.index, one, tuple(_nodes(one))) for one in self.functions)
        return self._bodies


def _nodes(function: Function | Module) -> Iterator[ast.AST]:
    """The nodes of a function in order, those of functions defined inside it too."""
    body = function.source.tree.body if isinstance(function, Module) else function.node.body
    waiting: list[ast.AST] = list(reversed(body))
    is_script = isinstance(function, Module)
    while waiting:
        node = waiting.pop()
        if is_script and isinstance(node, FunctionNode | ast.ClassDef):
            continue
        yield node
        waiting.extend(reversed(tuple(children(node))))


@remembered
def half_sections(index: Index, settings: SettingsTree) -> HalfSections:
    """Follow all that runs in half precision."""
    if not _speaks_of_half(index, settings):
        return HalfSections(index, (), {})
    known = traces(index, settings)
    contexts, callees = _met(known)
    run = Execution(index, settings, 0)
    flow = Flow(run, contexts, callees, [trace.run for trace in known])
    for root in roots(index, run, known):
        root.follow(flow)
    return HalfSections(index, tuple(flow.functions), flow.noted, frozenset(flow.lowered), flow.reached)


def _speaks_of_half(index: Index, settings: SettingsTree) -> bool:
    """Whether the program has any word about half precision: most have none, and need no walk."""
    words = ("autocast", "half(", "float16", "bfloat16", "precision", "fp16", "bf16", "apex", "AmpOptim")
    if any(word in source.text for source in index.program for word in words):
        return True
    return any(settings.values_named(name) for name in ("precision", "mixed_precision", "fp16", "bf16"))


def _met(known: Iterable[Trace]) -> tuple[dict[int, Value], dict[int, Value]]:
    """What the walks of training met: what each `with` enters, and what each call leads to."""
    contexts: dict[int, Value] = {}
    callees: dict[int, list[Value]] = {}
    for trace in known:
        for event in trace.events:
            for scope in event.scopes():
                if scope.kind == "with" and id(scope.node) not in contexts:
                    value = entered_value(trace.run, scope)
                    if value is not None:
                        contexts[id(scope.node)] = value
            if isinstance(event, Call):
                if event.name == "enter_context" and event.args and isinstance(event.site.node, ast.Call):
                    given = forced(trace.run, event.args[0])
                    if autocast_of(given) is not None and event.site.node.args:
                        contexts.setdefault(id(event.site.node.args[0]), given)
                callee = called(trace.run, event)
                if callee is not None:
                    callees.setdefault(id(event.site.node), []).append(callee)
    # In a loop over terms or layers one call leads to each of them.
    return contexts, {node: choice(*found) for node, found in callees.items()}
