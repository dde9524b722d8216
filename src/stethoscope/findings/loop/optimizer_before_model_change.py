"""A layer is replaced after the optimizer was made, so the optimizer keeps updating the old one.

## What it checks
After an optimizer was given `model.parameters()`: an assignment of a layer with weights to an attribute or
item of that model (`model.fc = nn.Linear(...)`), `resize_token_embeddings`, `add_module`, adapters put in
by `get_peft_model`, or wrapping the model in FSDP, with no optimizer made and no parameter group added
afterwards.

## Why it matters
An optimizer holds the tensors it was given. The layer that is used is not among them and stays at its
random start; the one that was thrown away is updated with no gradient. FSDP replaces all of them.

## When it is harmless
`model.to(device)`, `.cuda()` and `.half()` after the optimizer keep the same parameter objects in current
torch, and so do DistributedDataParallel and torch.compile. Layers without weights. A frozen layer, an
average or a teacher that is kept beside the model.

## References
- torch.optim: Constructing it
- torch.distributed.fsdp: the optimizer must be initialized after the module has been wrapped
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.events import Assignment, Call, Event
from stethoscope.program.likenesses import words
from stethoscope.program.parameter_owners import Holder, has_weights, holders
from stethoscope.program.trace import Trace
from stethoscope.program.values import Applied, Choice, Value
from stethoscope.signals.training_loops import TrainingLoops

RULE = Rule(code="LOP115", since="0.2", severity=Severity.CRITICAL, subject=Subject.SOURCE)

REPLACING = frozenset(
    {"resize_token_embeddings", "add_module", "register_parameter", "register_module", "add_adapter"}
)
WRAPPING = ("FullyShardedDataParallel", "fully_shard", "get_peft_model")
KEPT = frozenset(
    {"ema", "teacher", "target", "average", "avg", "swa", "frozen", "old", "best", "criterion", "loss"}
)


def examine(loops: TrainingLoops) -> Iterator[Finding]:
    """Report each change of a model that its optimizer does not see."""
    traces = dict.fromkeys(loop.trace for loop in loops if any(move.updates for move in loop.moves))
    made = [(trace, holder) for trace in traces for holder in holders(trace)]
    if not made:
        raise InsufficientData("no optimizer that is made in the source could be followed")
    told: set[int] = set()
    for trace, holder in made:
        for event, what in _changes(trace, holder):
            if id(event.site.node) in told or _is_made_again(trace, holder, event):
                continue
            told.add(id(event.site.node))
            yield Finding(
                where=(event.site.where, holder.call.site.where),
                message=f"{what} after {_short(holder.call)} was made: the optimizer keeps what was there",
                evidence={"optimizer": holder.call.site.text, "line of optimizer": holder.call.line},
            )


def _changes(trace: Trace, holder: Holder) -> Iterator[tuple[Event, str]]:
    """What replaces parameters of the optimizer's networks later in the same function."""
    within = holder.call.within
    for event in trace.events[holder.position + 1 :]:
        if event.within != within:
            continue
        if isinstance(event, Assignment) and not event.operator:
            if _is_layer_of(holder, event.target) and _is_new_layer(trace, event.value):
                yield event, f"{ast.unparse(event.target)} is replaced"
        elif isinstance(event, Call):
            what = _replaced(holder, event)
            if what:
                yield event, what


def _is_layer_of(holder: Holder, target: ast.expr) -> bool:
    while isinstance(target, ast.Subscript):
        target = target.value
        if ast.unparse(target) in holder.texts:
            return True
    text = ast.unparse(target)
    if KEPT.intersection(words(text.replace(".", "_"))):
        return False
    return isinstance(target, ast.Attribute) and any(text.startswith(f"{owner}.") for owner in holder.texts)


def _is_new_layer(trace: Trace, value: Value) -> bool:
    options = value.options if isinstance(value, Choice) else (value,)
    if any(isinstance(option, Applied) and option.callee == "copy.deepcopy" for option in options):
        return False
    return any(has_weights(trace.run, option) for option in options)


def _replaced(holder: Holder, call: Call) -> str:
    node = call.site.node
    if not isinstance(node, ast.Call):
        return ""
    if call.name in REPLACING and isinstance(node.func, ast.Attribute):
        owner = ast.unparse(node.func.value)
        inside = any(owner == text or owner.startswith(f"{text}.") for text in holder.texts)
        return f"{owner}.{call.name} changes the parameters" if inside else ""
    name = getattr(call.callee, "name", "") or getattr(call.receiver, "name", "")
    if (call.name in WRAPPING or str(name).endswith(WRAPPING)) and node.args:
        return f"{ast.unparse(node.args[0])} is wrapped" if ast.unparse(node.args[0]) in holder.texts else ""
    return ""


def _is_made_again(trace: Trace, holder: Holder, change: Event) -> bool:
    later = trace.events[trace.events.index(change) + 1 :]
    if any(isinstance(event, Call) and event.name == "add_param_group" for event in later):
        return True
    last = len(trace.events) - len(later)
    return any(other.position >= last and other.texts & holder.texts for other in holders(trace))


def _short(call: Call) -> str:
    return call.name or "the optimizer"
