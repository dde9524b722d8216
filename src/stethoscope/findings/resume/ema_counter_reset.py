"""A resumed run begins its average of the weights, or the count of its updates, anew.

## What it checks
Classes that average weights and count their own updates: whether saving and loading them keeps the count.
The same of counts that a trainer, a table or a closure keeps and that the blending goes by.
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
from stethoscope.program.edits.checkpoint_edits import restored_too
from stethoscope.program.edits.statements import is_inline, put_after
from stethoscope.program.evaluation.averages import average_updates, is_teacher, mentions_average
from stethoscope.program.loop.roles import Role, role_of
from stethoscope.program.resume.checkpointing import Resumption, first_backward, is_loaded
from stethoscope.program.resume.lost_counts import LostCount, lost_counts
from stethoscope.program.resume.unrestored_counts import unrestored_counts
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.ancestry import ancestry
from stethoscope.program.walk.events import Call, Event
from stethoscope.run import Fix, Level, Source
from stethoscope.signals.resumes import Resumes

RULE = Rule(code="RES104", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(resumes: Resumes) -> Iterator[Finding]:
    """Report counts and averages that a resume loses."""
    lost_by_owner = lost_counts(resumes.index)
    told = {lost.name for lost in lost_by_owner}
    others = (lost for lost in unrestored_counts(resumes.index) if lost.name not in told)
    for lost in (*lost_by_owner, *others):
        yield Finding(
            (lost.restored.where, lost.counted.where),
            _message(lost),
            evidence={"count": lost.name, "class": lost.owner},
            fix=_kept(lost),
        )
    for resumption in resumes.resumptions:
        updates = average_updates(resumption.walk)
        if updates and _is_forgotten(resumption):
            yield Finding(
                (resumption.weights.site.where, updates[0].site.where),
                "the resume restores the network and not its average, which begins anew",
                evidence={"restored": resumption.weights.site.text, "average": updates[0].site.text},
                fix=_restored(resumption, updates[0]),
            )


def _message(lost: LostCount) -> str:
    if isinstance(lost.restored.node, ast.FunctionDef):
        verb = "loads" if "load" in lost.restored.node.name or "set" in lost.restored.node.name else "saves"
        method = f"{lost.owner}.{lost.restored.node.name}"
        return f"{method} never {verb} self.{lost.name}, which begins at zero after a resume"
    if lost.owner:
        return f"the weights of the average come back and {lost.owner}.{lost.name} does not: it begins anew"
    return f"the weights of the average come back and {lost.name}, which its decay is made of, begins at zero"


def _is_forgotten(resumption: Resumption) -> bool:
    if resumption.counter is None or not resumption.restores(Role.OPTIMIZER):
        return False  # less than a full resume: that the optimizer is lost says more
    if resumption.restores(Role.AVERAGE) or is_teacher(resumption.walk):
        return False
    return not mentions_average(resumption.loads) and not _copies_back(resumption)


def _copies_back(resumption: Resumption) -> bool:
    """Whether tensors out of the file are copied into others, which may be those of the average."""
    walk = resumption.walk
    return any(
        is_loaded(one)
        for event in walk.trace.events[: max(first_backward(walk), 0)]
        if isinstance(event, Call) and event.name in {"copy_", "_foreach_copy_"}
        for value in event.args
        for one in ancestry(walk.trace.run, value)
    )


def _kept(lost: LostCount) -> Fix | None:
    """The count loaded with the weights, where the class saves it under a key of its own."""
    load, source = lost.restored.node, lost.restored.source
    if not isinstance(load, ast.FunctionDef) or "load" not in load.name or len(load.args.args) != 2:
        return None
    key = _key_of(source, load, lost.name)
    if key is None or isinstance(load.body[-1], ast.Return) or is_inline(source, load.body[-1]):
        return None
    text = f'self.{lost.name} = {load.args.args[1].arg}["{key}"]'
    return Fix("load the count too", Level.SAFE, (put_after(source, load.body[-1], text),))


def _key_of(source: Source, load: ast.FunctionDef, name: str) -> str | None:
    """The key under which the class of a method saves one of its numbers."""
    owner = next(one for one in all_nodes(source.tree, ast.ClassDef) if load in one.body)
    for node in all_nodes(owner):
        for key, value in _entries(node):
            if ast.unparse(value) == f"self.{name}":
                return key
    return None


def _entries(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The entries of a table that is written out: `{"updates": n}` or `dict(updates=n)`."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, value
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "dict":
        yield from ((word.arg, word.value) for word in node.keywords if word.arg)


def _restored(resumption: Resumption, update: Event) -> Fix | None:
    """The average saved and restored beside the weights, where it is an object with a name."""
    given = [update.receiver, *update.args] if isinstance(update, Call) else []
    run = resumption.walk.trace.run
    average = next((one for one in given if one is not None and role_of(run, one) is Role.AVERAGE), None)
    if average is None:
        return None
    return restored_too(resumption.walk, resumption.weights, {"average": average})
