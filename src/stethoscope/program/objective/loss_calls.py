"""The calls of outside loss functions in training, and what was done to the prediction just before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from stethoscope.program.index import Index
from stethoscope.program.objective.last_activation import last_activation
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.budget import budget
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.trace import Trace, traces
from stethoscope.program.walk.values import Applied, Constant, Site, Value

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
    "ctc_loss": (LOG_PROBABILITIES, "log_softmax"),
    "CTCLoss": (LOG_PROBABILITIES, "log_softmax"),
    "kl_div": (LOG_PROBABILITIES, "log_softmax"),
    "KLDivLoss": (LOG_PROBABILITIES, "log_softmax"),
    "SoftTargetCrossEntropy": (LOGITS, "softmax"),
    "SoftBCEWithLogitsLoss": (LOGITS, "sigmoid"),
    "log_softmax": (LOGITS, "softmax"),  # the first half of a cross entropy by hand
    "logsigmoid": (LOGITS, "sigmoid"),
    "binary_cross_entropy": (PROBABILITIES, "sigmoid"),
    "BCELoss": (PROBABILITIES, "sigmoid"),
}


@dataclass(frozen=True, slots=True, eq=False)
class LossCall:
    """A loss from outside applied to a prediction.

    `activation` is what the prediction went through last ("softmax", "sigmoid", "log_softmax"), "" where it
    is none of these, and None where that could not be seen; `activated_at` is where, or the place of a layer
    that the prediction comes from as it is.
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
            if prediction is None:
                continue
            activation, site = last_activation(trace.run, prediction)
            # One line computes several losses where it goes through a table of them.
            key = (id(call.site.node), name, activation)
            found.setdefault(key, LossCall(name, EXPECTED[name][0], call, trace.run, activation, site))
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
