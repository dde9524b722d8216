"""A schedule is laid out over batches and moved once for several of them.

## What it checks
Loops that gather gradients over several batches and move the schedule with each update, where the length
of the schedule is made of the number of batches (`epochs * len(loader)`) and divided by nothing. Of a
`LambdaLR` it is what its function divides the round by. In Lightning the same of schedules with the interval
"step", under a Trainer that is told `accumulate_grad_batches`.

## Why it matters
With a window of N the schedule gets through 1/N of its course: the warm-up takes N times as long, and the
decay hardly begins before the run is over. The loss still falls, so nobody looks.

## When it is harmless
A length that is divided by the window, and a schedule that is moved with every batch. A window of 1.

## References
- transformers.get_cosine_schedule_with_warmup, num_training_steps
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.edits.call_edits import replaced
from stethoscope.program.edits.statements import blocks_around, is_name_chain
from stethoscope.program.loop.accumulation import Accumulation, accumulation
from stethoscope.program.loop.configured_schedules import ENDS, configured_schedules, planned
from stethoscope.program.loop.hand_made_rates import all_schedules
from stethoscope.program.loop.loop_order import questions
from stethoscope.program.loop.moves import Kind, Move
from stethoscope.program.loop.schedules import Length, counts_batches
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.loop.unentered_accumulation import gathers_by_engine, waits_for_update
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.ancestry import ancestry
from stethoscope.program.walk.values import Applied, Constant
from stethoscope.run import Fix, Level, Source
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="SET116", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

# The batches of an epoch, as a Lightning module is told them; `estimated_stepping_batches` are updates.
COUNTED = re.compile(r"num_training_batches|len\([\w.()]*train[\w.()]*\)")
DIVIDED = re.compile(r"/|accumulate|estimated_stepping")
_DIVIDED = frozenset({"/", "//", "math.ceil", "divmod", "round"})


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each schedule whose length counts batches and whose step waits for an update."""
    for loop in loops:
        gathered = accumulation(loop)
        told: set[int] = set()
        for move in _once_an_update(loop, gathered):
            for schedule in all_schedules(loop.run, move.subject):
                length = next((one for one in schedule.lengths if _counts_batches(loop, one)), None)
                if length is not None and id(schedule.made) not in told:
                    told.add(id(schedule.made))
                    yield Finding(
                        (schedule.site.where, move.event.site.where),
                        f"{schedule.kind} is laid out over batches ({length.name}={length.text}) and moved "
                        "once an update, which takes several of them",
                        evidence={"made": schedule.site.text, "stepped": move.event.site.text},
                        fix=_in_updates(schedule.site.source, length, gathered.count) if gathered else None,
                    )
        yield from _in_lightning(loop)


def _in_lightning(loop: TrainingLoop) -> Iterator[Finding]:
    """Schedules that Lightning moves with each update, as long as all the batches of the run."""
    window = planned(loop, "accumulate_grad_batches")
    for configured in configured_schedules(loop) if window is not None and window > 1 else ():
        if configured.interval != "step":
            continue
        for length in configured.schedule.lengths:
            text = " ".join(length.text.split())
            if length.name in ENDS and COUNTED.search(text) and not DIVIDED.search(text):
                yield Finding(
                    configured.schedule.site.where,
                    f"{configured.schedule.kind} is laid out over batches ({length.name}={text}), and"
                    f" Lightning moves it once in {window:g} of them",
                    evidence={"made": configured.schedule.site.text, "stepped": "interval"},
                )
                break


def _once_an_update(loop: TrainingLoop, gathered: Accumulation | None) -> Iterator[Move]:
    """The steps of schedules that wait for an update of several batches."""
    for move in loop.of(Kind.SCHEDULER_STEP):
        if gathered is None:
            if gathers_by_engine(loop) and waits_for_update(loop, move):
                yield move
            continue
        in_micro = loop.micro is not None and loop.micro in move.event.scopes()
        asked = questions(loop, gathered.update.event)
        waits = loop.micro is not None or questions(loop, move.event) >= asked
        if waits and not in_micro and not move.by_engine:
            yield move


def _counts_batches(loop: TrainingLoop, length: Length) -> bool:
    """Whether a length is made of the batches of a loader and divided by nothing."""
    made = [value for value in ancestry(loop.run, length.value, _ends) if isinstance(value, Applied)]
    if any(value.callee in _DIVIDED for value in made):
        return False
    # A loop over micro-batches inside the step draws them itself: its rounds are updates.
    if loop.micro is not None:
        return False
    return any(value.callee == "len" and counts_batches(loop.run, value) for value in made)


def _ends(value: object) -> bool:
    return isinstance(value, Constant) or (isinstance(value, Applied) and value.callee == "len")


def _in_updates(source: Source, length: Length, count: ast.expr | None) -> Fix | None:
    """The length divided by the batches of an update, where their number has its name there already."""
    written = length.written
    if written is None or count is None or not is_name_chain(count) or not _is_spoken(source, written, count):
        return None
    text = ast.get_source_segment(source.text, written) or ""
    is_plain = isinstance(written, ast.Name | ast.Attribute | ast.Call | ast.Constant)
    is_product = isinstance(written, ast.BinOp) and isinstance(written.op, ast.Mult)
    whole = text if is_plain or is_product else f"({text})"
    splice = replaced(source, written, f"{whole} // {ast.unparse(count)}")
    return Fix("count the updates", Level.UNSAFE, (splice,)) if splice is not None and text else None


def _is_spoken(source: Source, node: ast.AST, count: ast.expr) -> bool:
    """Whether an expression has its value where a node stands: as a parameter, or made before."""
    around = [block[place] for block, place in blocks_around(source, node)]
    functions = [one for one in around if isinstance(one, ast.FunctionDef)]
    root = ast.unparse(count).partition(".")[0]
    arguments = [one for function in functions for one in all_nodes(function.args)]
    taken = {one.arg for one in arguments if isinstance(one, ast.arg)}
    if root in taken and root != "self":
        return True
    homes: list[ast.AST] = [*functions[:1]] if root == "self" else [source.tree]
    return any(
        ast.unparse(one) == ast.unparse(count) and getattr(one, "lineno", 0) < getattr(node, "lineno", 0)
        for home in homes
        for one in all_nodes(home)
        if isinstance(getattr(one, "ctx", None), ast.Store)
    )
