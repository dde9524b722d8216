"""The network is moved to its device after its optimizer was made.

## What it checks
A network that is made on the CPU, given to an optimizer, and moved by `.to(device)` or `.cuda()` only then:
first of all where the optimizer already holds a state, because one was restored into it, or because it is
Adagrad, which makes its sums at once.

## Why it matters
Moving a network keeps its parameters and moves what they hold; the state of the optimizer stays where it
was, and the first step after a resume fails on the GPU, or runs on the wrong device. Without a state the
order does no harm to a plain module. It does to one that gets new parameters when it is moved, and torch's
documentation asks for the move to come first.

## When it is harmless
A network that was on its device before, a second move, a move for an evaluation or an export after
training. An optimizer without a state, which is only noted.

## References
- torch.optim: Constructing it
- torch.nn.Module.to
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.edits.statements import moved_whole
from stethoscope.program.evaluation.evaluations import names_in
from stethoscope.program.likenesses import words
from stethoscope.program.loop.meeting_places import meeting_point, places_of
from stethoscope.program.loop.moves import Kind
from stethoscope.program.loop.parameter_owners import Holder, holder_of, holders, unwrapped
from stethoscope.program.loop.training_loop import TrainingLoop
from stethoscope.program.walk.events import Call, Event
from stethoscope.program.walk.trace import Trace
from stethoscope.program.walk.values import Applied, Constant, Instance
from stethoscope.run import Fix, Level
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP117", since="0.2", severity=Severity.NOTE, subject=Subject.SOURCE)

DEVICE_WORDS = frozenset({"device", "dev", "cuda", "gpu", "rank", "mps", "xpu", "npu"})
STATE_AT_ONCE = frozenset({"Adagrad"})  # the others make their state at the first step


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each network that is moved behind the back of its optimizer."""
    examined = False
    told: set[int] = set()
    for loop in loops:
        for holder in holders(loop.trace):
            examined = True
            move = _moved_late(loop, holder)
            if move is None or id(move.site.node) in told:
                continue
            told.add(id(move.site.node))
            yield _finding(loop.trace, holder, move)
    if not examined:
        raise InsufficientData("no optimizer that is made in the source could be followed")


def _finding(trace: Trace, holder: Holder, move: Call) -> Finding:
    fix = _moved_first(trace, holder, move)
    name = holder.call.name or "the optimizer"
    restored = _restored(trace, holder, move)
    moved = ast.unparse(move.site.node)
    evidence = {"move": moved, "optimizer": holder.call.site.text}
    if restored is not None:
        return Finding(
            (*places_of(trace, move, holder.call), restored.site.where),
            f"{moved} comes after the state of {name} was restored: the state stays on the other device",
            evidence,
            severity=Severity.WARNING,
            fix=fix,
        )
    if name in STATE_AT_ONCE:
        return Finding(
            places_of(trace, move, holder.call),
            f"{moved} comes after {name} made its state, which stays on the other device",
            evidence,
            severity=Severity.WARNING,
            fix=fix,
        )
    return Finding(
        places_of(trace, move, holder.call),
        f"{moved} comes after {name} was made: this holds only while the move keeps the parameters",
        evidence,
        fix=fix,
    )


def _moved_late(loop: TrainingLoop, holder: Holder) -> Call | None:
    """The first move of the optimizer's network to a device, if it comes between optimizer and training."""
    made = [owner for owner in holder.owners if isinstance(owner, Instance | Applied)]
    if not made or len(made) != len(holder.owners) or any(_is_made_there(owner) for owner in made):
        return None
    events = loop.trace.events
    begins = [m.event for m in loop.moves if m.kind is Kind.BACKWARD]
    steps = [move for move in loop.moves if move.updates]
    if not begins or not any(holder in holder_of(loop.trace, step.subject) for step in steps):
        return None
    if any(_sets_default(event) for event in events[: holder.position]):
        return None
    moves = [event for event in events if isinstance(event, Call) and _moves_to_device(event, made)]
    places = {id(event): place for place, event in enumerate(events)}
    first = moves[0] if moves else None
    if first is None or not holder.position < places[id(first)] < places[id(begins[0])]:
        return None
    again = [other for other in holders(loop.trace) if other.position > places[id(first)]]
    return None if again else first


def _is_made_there(owner: Instance | Applied) -> bool:
    given = owner.made_with if isinstance(owner, Instance) else owner.keywords
    return any(DEVICE_WORDS & set(words(name)) for name in given)


def _sets_default(event: Event) -> bool:
    return isinstance(event, Call) and event.name in {"set_default_device", "set_default_tensor_type"}


def _moves_to_device(call: Call, made: Sequence[Instance | Applied]) -> bool:
    if call.receiver is None or call.name not in {"to", "cuda"}:
        return False
    if not any(one is owner for one in unwrapped(call.receiver) for owner in made):
        return False
    return call.name == "cuda" or _is_device(call)


def _is_device(call: Call) -> bool:
    """`.to(device)`, and neither `.to(dtype)` nor `.to(memory_format=...)`."""
    node = call.site.node
    given = call.argument(0, "device")
    if isinstance(given, Constant):
        return isinstance(given.value, int) or (isinstance(given.value, str) and given.value != "cpu")
    if not isinstance(node, ast.Call):
        return False
    written = node.args[:1] or [keyword.value for keyword in node.keywords if keyword.arg == "device"]
    return any(DEVICE_WORDS & set(words(name)) for one in written for name in names_in(one))


def _restored(trace: Trace, holder: Holder, move: Call) -> Call | None:
    """Where a state was put into the optimizer before the move."""
    for event in trace.events[holder.position : trace.events.index(move)]:
        if not isinstance(event, Call) or event.name != "load_state_dict":
            continue
        if holder in holder_of(trace, event.receiver):
            return event
    return None


def _moved_first(trace: Trace, holder: Holder, move: Call) -> Fix | None:
    """The network moved right before its optimizer is made, where one block holds both."""
    made = meeting_point(trace, holder.call, move)
    if made.source is not move.site.source:
        return None
    splices = moved_whole(made.source, move.site.node, made.node, after=False)
    return Fix("move the network before its optimizer is made", Level.SAFE, splices) if splices else None
