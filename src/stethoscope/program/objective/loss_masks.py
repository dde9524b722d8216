"""What takes values out of a loss: masks by their names and comparisons, and the options of the loss."""

from __future__ import annotations

from stethoscope.program.data.ingredients import ingredients, peeled
from stethoscope.program.likenesses import words
from stethoscope.program.objective.zeros import is_zeros
from stethoscope.program.walk.call_arguments import SPREAD
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.network_passes import is_network_pass
from stethoscope.program.walk.values import Applied, Choice, Constant, Delayed, Instance, Leaf, Part, Value

# fmt: off
MASKING_WORDS = frozenset({
    "mask", "masks", "valid", "length", "lengths", "weights", "lens", "ignore", "masked", "keep", "nonpad",
})
MARKING_WORDS = frozenset({"valid", "validity", "pad", "padding", "ignore", "void"})
LOSSES = frozenset({
    "cross_entropy", "CrossEntropyLoss", "nll_loss", "NLLLoss", "LabelSmoothingCrossEntropy", "mse_loss",
    "l1_loss", "smooth_l1_loss", "huber_loss", "MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "kl_div",
    "binary_cross_entropy_with_logits", "BCEWithLogitsLoss", "binary_cross_entropy", "BCELoss",
})
# fmt: on
TOLD_LENGTHS = frozenset({"ctc_loss", "CTCLoss", "rnnt_loss", "RNNTLoss"})
COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
COMPARING = frozenset({"eq", "ne", "gt", "lt", "ge", "le", "not_equal", "greater"})


def is_loss(value: Applied) -> bool:
    """Whether a call computes a loss: one of known name, or a model that is given its labels."""
    if value.callee.endswith("()") and (SPREAD in value.keywords or "labels" in value.keywords):
        return True
    return value.callee.removesuffix("()").rpartition(".")[2] in LOSSES


def _options(value: Applied) -> set[str]:
    return {*value.keywords, *(value.maker.keywords if value.maker is not None else ())}


def option_of(loss: Applied, name: str) -> Value | None:
    """An option of a loss, given to the call or to its maker."""
    found = loss.keywords.get(name)
    return found if found is not None or loss.maker is None else loss.maker.keywords.get(name)


def is_of_classes(loss: Applied) -> bool:
    """Whether a loss takes labels of classes, of which one can be ignored."""
    last = loss.callee.removesuffix("()").rpartition(".")[2]
    is_call = loss.callee.endswith("()") or not last[:1].isupper()
    return is_call and last in {"cross_entropy", "nll_loss", "CrossEntropyLoss", "NLLLoss"}


def is_left_open(loss: Applied) -> bool:
    """Whether each label keeps a loss of its own, so that pads may be taken out of it later."""
    reduction = option_of(loss, "reduction")
    return reduction is not None and not (isinstance(reduction, Constant) and reduction.value != "none")


def takes_out(loss: Applied) -> bool:
    """Whether a loss is told what it leaves out, or how much each class counts."""
    return bool(_options(loss) & {"ignore_index", "mask", "weight"})


def may_weigh_out(run: Execution, loss: Applied) -> bool:
    """Whether a class may count nothing: weights are given, and zero or not written out."""
    weight = option_of(loss, "weight")
    made = [] if weight is None else list(ingredients(run, peeled(weight)))
    numbers = [one.value for one in made if isinstance(one, Constant)]
    return not numbers or 0 in numbers or any(isinstance(one, Leaf | Part | Choice) for one in made)


def picks_by(value: Value, parts: list[Part]) -> bool:
    """`loss * part`, `loss[part]`: a part of the batch that has no pads in it says what counts."""
    if not isinstance(value, Applied) or len(value.args) < 2:
        return False
    is_weighing = value.callee in {"*", "[]", "/"} or value.callee.rpartition(".")[2] in {"where", "mul"}
    # What something is taken from is not what it is picked by.
    by = value.args[1:] if value.callee == "[]" else value.args
    return is_weighing and any(_without_signs(arg) is part for arg in by for part in parts)


def _without_signs(value: Value) -> Value:
    value = peeled(value)
    while isinstance(value, Applied) and value.callee in {"~", "invert", ".bool"} and value.args:
        value = peeled(value.args[0])
    return value


def may_mask(run: Execution, value: Value, parts: set[int]) -> bool:
    """Whether a value on the way to a loss may take a part of the batch out of it."""
    match value:
        case Applied(args=args) if is_comparison(value):
            return any(id(peeled(arg)) in parts for arg in args)
        case Applied(callee=callee):
            is_told = callee.removesuffix("()").rpartition(".")[2] in TOLD_LENGTHS
            return is_told or bool(_options(value) & {"ignore_index", "mask", "reduction_mask", "weight"})
        case Delayed(keywords=keywords) if not is_network_pass(run.index, value):
            return any(MASKING_WORDS.intersection(words(key)) for key in keywords)
    return names_mask(value)


def is_comparison(value: Applied) -> bool:
    """`ids != PAD`, `ids.ne(PAD)`."""
    return value.callee in COMPARISONS or value.callee.rpartition(".")[2] in COMPARING


def names_mask(value: Value) -> bool:
    """Whether a value has a name that people give to masks and lengths."""
    match value:
        case Leaf(name=name):
            return bool(MASKING_WORDS.intersection(words(name)))
        case Part(key=str() as key):
            return bool(MASKING_WORDS.intersection(words(key))) and not isinstance(value.base, Instance)
    return False


def weighs_by_marks(value: Value) -> bool:
    """`losses * marks`, `losses[marks]`: by zeros in which some places were set to one."""
    if not isinstance(value, Applied) or len(value.args) < 2:
        return False
    by = value.args[1:] if value.callee == "[]" else value.args
    is_weighing = value.callee in {"*", "[]"} or value.callee.rpartition(".")[2] in {"where", "mul"}
    return is_weighing and any(_is_marked(_without_signs(one)) for one in by)


def _is_marked(value: Value) -> bool:
    if not (isinstance(value, Applied) and value.callee == "[]="):
        return False
    while isinstance(value, Applied) and value.callee == "[]=" and len(value.args) > 2:
        if not (isinstance(value.args[2], Constant) and value.args[2].value in {0, 1}):
            return False
        value = peeled(value.args[0])
    return is_zeros(value)


def marks_valid(value: Value) -> bool:
    """Whether a value says which readings are valid."""
    match value:
        case Leaf(name=name) | Part(key=str() as name):
            return bool(MARKING_WORDS.intersection(words(name)))
        case Applied():
            return is_comparison(value)
    return False
