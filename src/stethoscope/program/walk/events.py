"""What a walk through a program meets, in order: calls, assignments and jumps, each in its scope."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from stethoscope.program.index import Function
from stethoscope.program.walk.values import Site, Value
from stethoscope.run import Source


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """One level of control around an event, and the next one outwards.

    `kind` is "loop", "comprehension", "if", "with" or "call". `value` is what a loop or comprehension runs
    over, what a condition tests or what a `with` enters; `arm` says which way a condition went; a `match` is
    a condition per case.
    """

    kind: str
    node: ast.AST
    source: Source
    outer: Scope | None
    value: Value | None = None
    arm: bool = True

    def outwards(self) -> Iterator[Scope]:
        """This scope and those around it, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """The base of all events; `within` are the functions being followed, outermost first."""

    site: Site
    scope: Scope | None
    within: tuple[Function, ...]

    def scopes(self) -> Iterator[Scope]:
        """The control scopes around the event, innermost first."""
        return self.scope.outwards() if self.scope is not None else iter(())

    @property
    def line(self) -> int:
        """The line it begins on."""
        return getattr(self.site.node, "lineno", 0)


@dataclass(frozen=True, slots=True, eq=False)
class Call(Event):
    """A call: `receiver.name(...)`, or `callee(...)` with `name` its bare name and no receiver.

    `arguments_known` is false where `*` or `**` brought in what could not be resolved.
    """

    name: str
    receiver: Value | None
    callee: Value | None
    args: tuple[Value, ...]
    keywords: Mapping[str, Value]
    arguments_known: bool = True

    def argument(self, position: int, keyword: str) -> Value | None:
        """An argument by position or name."""
        if keyword in self.keywords:
            return self.keywords[keyword]
        return self.args[position] if position < len(self.args) else None


@dataclass(frozen=True, slots=True, eq=False)
class Assignment(Event):
    """`target = value`, or `target += value` with `operator` "+" and `value` the right-hand side.

    `owner` is the object whose attribute or item the target is.
    """

    target: ast.expr
    value: Value
    operator: str = ""
    owner: Value | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Jump(Event):
    """`continue`, `break`, `return` or `raise`: what follows in `leaves` is not reached."""

    kind: str
    leaves: Scope | None
