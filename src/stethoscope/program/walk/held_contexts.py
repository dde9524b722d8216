"""What a context manager of the repository holds open around the body of a `with`.

@contextmanager                          class Frozen:
def frozen(net):                             def __enter__(self):
    with torch.no_grad():                        self.off = torch.no_grad()
        yield net                                self.off.__enter__()
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stethoscope.program.walk.events import Call, Event, Scope
from stethoscope.program.walk.values import Applied, Value


def held_at_yield(yielded: Scope | None, here: Scope | None) -> tuple[Scope, ...]:
    """The contexts that a generator is inside of where it gives way to the body, outermost first."""
    found: list[Scope] = []
    for scope in yielded.outwards() if yielded is not None else ():
        if scope is here:
            break
        if scope.kind == "with":
            found.append(scope)
    return tuple(reversed(found))


def held_after_entering(events: Sequence[Event], here: Scope | None) -> tuple[Scope, ...]:
    """The contexts that an object entered by hand, in the events of its `__enter__`."""
    return tuple(scope for event in events if isinstance(event, Call) for scope in _entered(event, here))


def _entered(call: Call, here: Scope | None) -> Iterator[Scope]:
    node, source = call.site.node, call.site.source
    if not isinstance(node, ast.Call):
        return
    if call.name == "__enter__" and call.receiver is not None and isinstance(node.func, ast.Attribute):
        written = _made_at(call.receiver) or node.func.value
        yield Scope("with", written, source, here, call.receiver)
    elif call.name == "enter_context" and call.args:
        yield Scope("with", node.args[0] if node.args else node, source, here, call.args[0])
    elif call.name == "set_grad_enabled":
        switch = Applied("torch.set_grad_enabled", call.args, call.keywords, call.site)
        yield Scope("with", node, source, here, switch)


def _made_at(value: Value) -> ast.AST | None:
    """The expression that made a context which is entered later."""
    return value.site.node if isinstance(value, Applied) else None
