"""A resumed run begins its average of the weights, or the count of its updates, anew.

## What it checks
Classes that average weights and count their own updates: whether saving and loading them keeps the count.
Resumes that restore network and optimizer: whether the average that training updates is restored too.

## Why it matters
An average that warms up computes its decay from the number of updates. With the count back at zero the
decay is near zero again: the next update replaces the whole average by the raw weights. An average that is
not restored at all is a copy of the first weights it sees.

## When it is harmless
A count that is a buffer of a module is saved with it, and a count that nothing reads does not matter. An
average with a constant decay needs no count.

## References
- The average of a diffusion training restarted its warm-up at each resume.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.averages import average_updates, is_teacher, mentions_average
from stethoscope.program.checkpointing import Resumption
from stethoscope.program.index import Class, Function, Index, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.roles import Role
from stethoscope.signals.resumes import Resumes

RULE = Rule(code="RES104", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

AVERAGING = frozenset({"ema", "swa", "averaged", "average", "averaging", "polyak"})
EVERYTHING = frozenset({"__dict__", "vars", "setattr", "__setstate__", "asdict", "deepcopy"})


def examine(resumes: Resumes) -> Iterator[Finding]:
    """Report counts and averages that a resume loses."""
    for cls in resumes.index.classes:
        yield from _lost_counts(resumes.index, cls)
    for resumption in resumes.resumptions:
        updates = average_updates(resumption.walk)
        if updates and _is_forgotten(resumption):
            yield Finding(
                (resumption.weights.site.where, updates[0].site.where),
                "the resume restores the network and not its average, which begins anew",
                evidence={"restored": resumption.weights.site.text, "average": updates[0].site.text},
            )


def _lost_counts(index: Index, cls: Class) -> Iterator[Finding]:
    load, save = cls.methods.get("load_state_dict"), cls.methods.get("state_dict")
    if load is None or not AVERAGING & set(words(cls.name)):
        return
    for name, update in _counts(cls).items():
        missing = [method for method in (load, save) if method is not None and not _keeps(method, name)]
        if missing and not _is_set_elsewhere(index, cls, name):
            verb = "loads" if missing[0] is load else "saves"
            yield Finding(
                (missing[0].where(), cls.source.where(update)),
                f"{cls.name}.{missing[0].name} never {verb} self.{name}, which begins at zero after a resume",
                evidence={"count": name, "class": cls.name},
            )


def _counts(cls: Class) -> dict[str, ast.AST]:
    """The plain numbers that methods count up and that something else in the class reads."""
    init = cls.methods.get("__init__")
    numbers = set(_plain_numbers(init)) if init is not None else set()
    found: dict[str, ast.AST] = {}
    reads: dict[str, int] = {}
    for method in cls.methods.values():
        if method.name in {"__init__", "state_dict", "load_state_dict", "__repr__"}:
            continue
        for node in ast.walk(method.node):
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
                name = _own_attribute(node.target)
                if name in numbers:
                    found.setdefault(name, node)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                reads[_own_attribute(node)] = reads.get(_own_attribute(node), 0) + 1
    return {name: node for name, node in found.items() if reads.get(name)}


def _plain_numbers(init: Function) -> Iterator[str]:
    """`self.updates = 0`; a buffer or tensor is saved with its module."""
    for node in ast.walk(init.node):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=False))
                for one, value in pairs:
                    if _is_plain(value):
                        yield _own_attribute(one)


def _is_plain(value: ast.expr) -> bool:
    if isinstance(value, ast.IfExp):  # `0 if use_num_updates else None`
        return _is_plain(value.body) and _is_plain(value.orelse)
    return isinstance(value, ast.Constant | ast.Name) and not isinstance(getattr(value, "value", 0), str)


def _own_attribute(node: ast.AST) -> str:
    is_own = isinstance(node, ast.Attribute) and dotted(node.value) == "self"
    return node.attr if is_own else ""  # type: ignore[attr-defined]


def _keeps(method: Function, name: str) -> bool:
    """Whether a method speaks of the count, or takes everything there is."""
    for node in ast.walk(method.node):
        spoken = getattr(node, "attr", None) or getattr(node, "id", None) or getattr(node, "value", None)
        if isinstance(spoken, str) and (spoken == name or spoken in EVERYTHING):
            return True
    return False


def _is_set_elsewhere(index: Index, cls: Class, name: str) -> bool:
    """`ema.updates = checkpoint["updates"]` outside the class."""
    for source in index.program:
        for node in ast.walk(source.tree) if f".{name}" in source.text else ():
            is_set = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
            if is_set and node.attr == name and dotted(node.value) != "self":  # type: ignore[attr-defined]
                return True
    return False


def _is_forgotten(resumption: Resumption) -> bool:
    if resumption.counter is None or not resumption.restores(Role.OPTIMIZER):
        return False  # less than a full resume: that the optimizer is lost says more
    return not (
        resumption.restores(Role.AVERAGE) or is_teacher(resumption.walk) or mentions_average(resumption.loads)
    )
