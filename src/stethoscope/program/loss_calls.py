"""The calls of outside loss functions in training, and what was done to the prediction just before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from stethoscope.program.budget import budget
from stethoscope.program.execution import Execution, Exhausted
from stethoscope.program.index import Index
from stethoscope.program.ingredients import LAYOUT
from stethoscope.program.remembered import remembered
from stethoscope.program.settings_tree import SettingsTree
from stethoscope.program.trace import Trace, traces
from stethoscope.program.values import Applied, Choice, Constant, Delayed, Items, Part, Site, Table, Value

DEPTH = 24  # calls looked through between a loss and what made its input
TRACE_STEPS = 10_000  # expressions and statements followed in search of losses, for one walk
ALL_STEPS = 60_000  # for all walks together
DIRECT_STEPS = 500  # what each walk may take when others used the budget up
MOST_EXPANDED = 200  # networks and functions of one walk that are looked into

# What a loss expects of its first argument, by the last part of its name.
LOGITS = "logits"
LOG_PROBABILITIES = "log-probabilities"
PROBABILITIES = "probabilities"
EXPECTED: Mapping[str, tuple[str, str]] = {
    "cross_entropy": (LOGITS, "softmax"),
    "CrossEntropyLoss": (LOGITS, "softmax"),
    "LabelSmoothingCrossEntropy": (LOGITS, "softmax"),
    "binary_cross_entropy_with_logits": (LOGITS, "sigmoid"),
    "BCEWithLogitsLoss": (LOGITS, "sigmoid"),
    "multilabel_soft_margin_loss": (LOGITS, "sigmoid"),
    "MultiLabelSoftMarginLoss": (LOGITS, "sigmoid"),
    "sigmoid_focal_loss": (LOGITS, "sigmoid"),
    "nll_loss": (LOG_PROBABILITIES, "log_softmax"),
    "NLLLoss": (LOG_PROBABILITIES, "log_softmax"),
    "binary_cross_entropy": (PROBABILITIES, "sigmoid"),
    "BCELoss": (PROBABILITIES, "sigmoid"),
}
ACTIVATIONS = {
    "softmax": "softmax",
    "Softmax": "softmax",
    "Softmax2d": "softmax",
    "log_softmax": "log_softmax",
    "LogSoftmax": "log_softmax",
    "sigmoid": "sigmoid",
    "Sigmoid": "sigmoid",
    "logsigmoid": "logsigmoid",
}


@dataclass(frozen=True, slots=True, eq=False)
class LossCall:
    """A loss from outside applied to a prediction.

    `activation` is what the prediction went through last ("softmax", "sigmoid", "log_softmax"), "" where it
    is none of these, and None where that could not be seen; `activated_at` is where.
    """

    loss: str
    expects: str
    call: Applied
    run: Execution
    activation: str | None
    activated_at: Site | None

    @property
    def site(self) -> Site:
        """Where the loss is called."""
        return self.call.site

    def option(self, name: str) -> Value | None:
        """An option of the loss, given to the call or to its maker."""
        maker = self.call.maker
        return self.call.keywords.get(name) or (maker.keywords.get(name) if maker is not None else None)


@remembered
def loss_calls(index: Index, settings: SettingsTree) -> tuple[LossCall, ...]:
    """Every call of a known loss that training meets, inside networks too."""
    found: dict[object, LossCall] = {}
    left = budget(index, ALL_STEPS)
    for trace in traces(index, settings):
        given = trace.run.steps = min(max(trace.run.steps, TRACE_STEPS), left)
        for call in _loss_applications(trace):
            name = call.callee.removesuffix("()").rpartition(".")[2]
            prediction = call.args[0] if call.args else call.keywords.get("input")
            if prediction is None or id(call.site.node) in found:
                continue
            activation, site = _activation(trace.run, prediction)
            found[id(call.site.node)] = LossCall(name, EXPECTED[name][0], call, trace.run, activation, site)
        left = max(left - given + max(trace.run.steps, 0), DIRECT_STEPS)
    return tuple(found.values())


def _loss_applications(trace: Trace) -> Iterator[Applied]:
    """Losses among all records; what was not followed yet is looked into, networks too."""
    run, position, expanded = trace.run, 0, 0
    while position < len(run.records):
        value = run.records[position].value
        position += 1
        if isinstance(value, Applied):
            if value.callee.removesuffix("()").rpartition(".")[2] in EXPECTED and _is_call(value):
                yield value
        elif expanded < MOST_EXPANDED:
            expanded += 1
            try:
                run.expand(value)
            except (Exhausted, RecursionError):
                expanded = MOST_EXPANDED


def _is_call(value: Applied) -> bool:
    """Whether a loss is computed, and not a loss object made."""
    last = value.callee.rpartition(".")[2]
    return last.endswith("()") or not last[:1].isupper()


def _activation(run: Execution, value: Value) -> tuple[str | None, Site | None]:
    """The last activation that a value went through."""
    try:
        return _last(run, value, DEPTH)
    except (Exhausted, RecursionError):
        return None, None


def _last(run: Execution, value: Value, depth: int) -> tuple[str | None, Site | None]:
    if depth == 0:
        return None, None
    match value:
        case Delayed():
            return _last(run, run.expand(value), depth - 1)
        case Choice(options=options):
            return _agreed([_last(run, option, depth - 1) for option in options])
        case Applied(callee="torch.nn.Sequential()", maker=Applied(args=[*_, layer])):
            return _layer(layer)
        case Applied():
            return _of_call(run, value, depth)
        case Part(base=base, key=int() as key):
            made = _looked_into(run, base)
            if isinstance(made, Items) and -len(made.items) <= key < len(made.items):
                return _last(run, made.items[key], depth - 1)
        case Part(base=base, key=str() as key):
            made = _looked_into(run, base)
            if isinstance(made, Table) and key in made.entries:
                return _last(run, made.entries[key], depth - 1)
    return None, None


def _looked_into(run: Execution, value: Value) -> Value:
    while isinstance(value, Delayed):
        value = run.expand(value)
    return value


def _of_call(run: Execution, value: Applied, depth: int) -> tuple[str | None, Site | None]:
    name = value.callee.removesuffix("()").rpartition(".")[2]
    if name in ACTIVATIONS:
        return ACTIVATIONS[name], value.site
    if value.callee == "slice" or not value.args:
        return "", None
    if name in LAYOUT | {"clamp", "clip"} or value.callee == "[]":
        return _last(run, value.args[0], depth - 1)
    if value.callee == "()":
        return None, None
    return "", None


def _layer(layer: Value) -> tuple[str | None, Site | None]:
    if not isinstance(layer, Applied):
        return None, None
    return ACTIVATIONS.get(layer.callee.rpartition(".")[2], ""), layer.site


def _agreed(ends: list[tuple[str | None, Site | None]]) -> tuple[str | None, Site | None]:
    """What all ways of computing a value agree on."""
    return ends[0] if len({activation for activation, _ in ends}) == 1 else (None, None)


def is_constant(value: Value | None, wanted: object) -> bool:
    """Whether a value is known to be this one."""
    return isinstance(value, Constant) and value.value == wanted


def by_activation(calls: Iterable[LossCall]) -> Iterator[tuple[Site, list[LossCall]]]:
    """The places where predictions are activated, each with the losses that get what comes out of it."""
    found: dict[int, tuple[Site, list[LossCall]]] = {}
    for call in calls:
        if call.activated_at is not None:
            found.setdefault(id(call.activated_at.node), (call.activated_at, []))[1].append(call)
    yield from found.values()
