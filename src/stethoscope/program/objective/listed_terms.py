"""Terms that are put into one tensor and weighed there: `torch.stack(terms) @ torch.tensor(weights)`."""

from __future__ import annotations

from stethoscope.program.data.ingredients import peeled
from stethoscope.program.objective.declared_numbers import number
from stethoscope.program.walk.values import Applied, Constant, Items, Value

JOINING = frozenset({"stack", "cat", "concat", "concatenate", "hstack"})
MAKING = frozenset({"tensor", "as_tensor", "Tensor", "FloatTensor", "array", "asarray"})
PRODUCTS = frozenset({"@", "dot", "matmul", "inner", "vdot"})
Listed = list[tuple[Value, float]]


def summed_terms(value: Applied) -> Listed | None:
    """The terms that a call adds up, each with its weight; None where it adds up no list."""
    last = value.callee.rpartition(".")[2]
    if last in {"sum", "mean"} and value.args:
        return _listed(value.args[0])
    if last in PRODUCTS and len(value.args) == 2:
        return _weighed(*value.args)
    match value:
        case Applied(callee="torch.einsum", args=[Constant(value=str() as text), left, right]) if (
            text.replace(" ", "").endswith("->")
        ):
            return _weighed(left, right)
        case Applied(args=[left, right]) if last in {"add", "add_", "sub", "sub_"}:
            scale = value.keywords.get("alpha")
            known = 1.0 if scale is None else number(scale)
            return [(left, 1.0), (right, known)] if known is not None else None
    return None


def _listed(value: Value) -> Listed | None:
    """The elements of a list in a tensor, weighed one by one where another tensor is multiplied in."""
    match value:
        case Applied(callee=callee, args=[Items(items=items), *_]) if callee.rpartition(".")[2] in JOINING:
            return [(item, 1.0) for item in items]
        case Applied(callee="*" | ".mul" | "torch.mul", args=[left, right]):
            return _weighed(left, right)
    return None


def _weighed(left: Value, right: Value) -> Listed | None:
    for terms, weights in ((_listed(left), _numbers(right)), (_listed(right), _numbers(left))):
        if terms is not None and weights is not None and len(terms) == len(weights):
            return [(term, own * weight) for (term, own), weight in zip(terms, weights, strict=True)]
    return None


def _numbers(value: Value) -> list[float] | None:
    """The numbers of `torch.tensor([1.0, 0.5])`."""
    value = peeled(value)
    if isinstance(value, Applied) and value.callee.rpartition(".")[2] in MAKING and value.args:
        value = value.args[0]
    known = [number(item) for item in value.items] if isinstance(value, Items) else []
    return [one for one in known if one is not None] if known and None not in known else None
