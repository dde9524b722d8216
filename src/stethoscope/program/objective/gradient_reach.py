"""Whether a gradient can get from a value back to something that learns.

Functions of the repository are followed. What is not known may learn: a value is only said to be cut off
where every way back ends in a detached value, in code that records no gradients, in data or in numbers.
"""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass, field
from functools import lru_cache

from stethoscope.program.data.ingredients import DRAWING, has
from stethoscope.program.index import dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.gradient_modes import OFF, ON
from stethoscope.program.objective.loss_masks import is_comparison
from stethoscope.program.syntax import FunctionNode, all_nodes
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.network_passes import (
    MODEL_WORDS,
    detaches,
    is_about_shape,
    is_bare_gradient,
    is_model_call,
    is_network_pass,
)
from stethoscope.program.walk.tensor_operations import LAYERS
from stethoscope.program.walk.values import (
    Applied,
    Choice,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Items,
    Leaf,
    Outside,
    Part,
    Site,
    Value,
    lines_of,
)
from stethoscope.run import Source

MOST_VISITED = 400
CREATING = DRAWING | {"zeros", "ones", "empty", "full", "eye", "tensor", "arange", "linspace", "randperm"}
LEARNED = re.compile(r"Parameter|requires_grad|register_parameter")
ANEW = re.compile(r"requires_grad_\((?:True)?\)|requires_grad *= *True")  # gradients are cached from there on
WITHOUT_WEIGHTS = sys.stdlib_module_names | {"numpy", "yaml", "omegaconf", "hydra", "PIL"}
# A part of something unknown is data, unless its name says that something learns in it.
LEARNING_WORDS = MODEL_WORDS | {
    "param", "params", "parameter", "parameters", "logit", "logits", "pred", "preds", "prediction",
    "predictions", "out", "output", "outputs", "feature", "features", "feat", "feats", "hidden", "embedding",
    "embeddings", "embed", "codebook", "prototype", "prototypes", "loss", "losses", "score", "scores",
    "latent", "latents",
}  # fmt: skip


def cut_off(run: Execution, value: Value) -> Site | None:
    """Where the gradients of a value are cut off; None where one may get through, or none was ever there."""
    reach = _Reach(run)
    if reach.learns(value) or not reach.cuts:
        return None
    return reach.cuts[0]


@dataclass(slots=True)
class _Reach:
    """One search back from a value; `cuts` are the places where the output of a network was cut off."""

    run: Execution
    cuts: list[Site] = field(default_factory=list)
    seen: dict[int, tuple[bool, Value]] = field(default_factory=dict)

    def learns(self, value: Value) -> bool:
        """Whether a gradient may get through."""
        if id(value) in self.seen:
            return self.seen[id(value)][0]
        if len(self.seen) >= MOST_VISITED:
            return True
        self.seen[id(value)] = (False, value)  # what leads back to itself brings nothing else
        self.seen[id(value)] = (self._learns(value), value)
        return self.seen[id(value)][0]

    def _learns(self, value: Value) -> bool:
        if is_about_shape(value):
            return False
        if isinstance(value, Applied) and is_comparison(value):
            return self._cut(value, value.site)
        if id(value) in self.run.unrecorded:
            return self._cut(value, self.run.unrecorded[id(value)][0])
        match value:
            case Constant() | Outside():
                return False
            case Items(items=items):
                return any(self.learns(item) for item in items)
            case Choice(options=options):
                return any(self.learns(option) for option in options)
            case Leaf(name=name):
                return bool(LEARNING_WORDS.intersection(words(name)))
            case Part(base=base, key=key):
                if key == "data":
                    return self._cut(base, base.site if isinstance(base, Applied | Delayed) else None)
                named = isinstance(key, str) and bool(LEARNING_WORDS.intersection(words(key)))
                return named or isinstance(base, Instance) or self.learns(base)
            case Delayed():
                return self._call_learns(value)
            case Applied():
                return self._operation_learns(value)
        return True

    def _call_learns(self, value: Delayed) -> bool:
        function = value.callee.function.node if isinstance(value.callee, FunctionValue) else None
        if not records(value.site) or (function is not None and _is_switched_off(function)):
            return self._cut(value, value.site)
        return is_network_pass(self.run.index, value) or self.learns(self.run.expand(value))

    def _operation_learns(self, value: Applied) -> bool:
        if not records(value.site):
            return self._cut(value, value.site)
        if detaches(value) and value.args:
            is_anew = not is_bare_gradient(value) and _is_made_to_learn(value.site, ANEW)
            return is_anew or self._cut(value.args[0], value.site)
        last = value.callee.rpartition(".")[2]
        if last in CREATING:
            return _is_made_to_learn(value.site)
        if value.callee == "next" or last == "DataLoader":
            return False
        if value.callee == "()" or _may_hold_weights(value) or is_network_pass(self.run.index, value):
            return True
        named = (arg for key, arg in value.keywords.items() if key not in {"device", "dtype"})
        return any(self.learns(arg) for arg in (*value.args, *named))

    def _cut(self, inner: Value, at: Site | None) -> bool:
        """Nothing gets through; remembered where a network's output would have."""
        is_output = has(self.run, inner, lambda one: is_model_call(self.run.index, one))
        if is_output and at is not None:
            self.cuts.append(at)
        return False


def _is_made_to_learn(site: Site, said: re.Pattern[str] = LEARNED) -> bool:
    """Whether a tensor may be made to learn: something is, in the same function."""
    line = getattr(site.node, "lineno", 0)
    around = [
        (node.lineno, node.end_lineno or 0)
        for node in all_nodes(site.source.tree)
        if isinstance(node, FunctionNode) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    lines = lines_of(site.source)[0]
    first, last = max(around, default=(1, len(lines)))
    return any(said.search(text) for text in lines[first - 1 : last])


def _may_hold_weights(value: Applied) -> bool:
    """Whether a call is of a layer from outside that is no loss, or makes a parameter."""
    made = value.maker if value.maker is not None else value
    if made.callee.partition(".")[0] in WITHOUT_WEIGHTS:
        return False
    return made.callee.rpartition(".")[2][:1].isupper() and made.callee not in LAYERS


def records(site: Site) -> bool:
    """Whether gradients are recorded at a place, by the innermost `with` or decorated function around it."""
    line = getattr(site.node, "lineno", 0)
    around = [one for one in _regions(site.source) if one[0] < line <= one[1]]
    return max(around)[2] if around else True


@lru_cache(maxsize=64)
def _regions(source: Source) -> list[tuple[int, int, bool]]:
    """The lines that switch gradients on or off, as the line before the first, the last, and which."""
    found: list[tuple[int, int, bool]] = []
    for node in all_nodes(source.tree):
        if isinstance(node, ast.With):
            modes = [_mode(item.context_expr) for item in node.items]
        elif isinstance(node, FunctionNode):
            modes = [_mode(decorator) for decorator in node.decorator_list]
        else:
            continue
        known = [mode for mode in modes if mode is not None]
        if known:
            found.append((node.lineno, node.end_lineno or node.lineno, known[-1]))
    return found


def _is_switched_off(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(_mode(decorator) is False for decorator in function.decorator_list)


def _mode(context: ast.expr) -> bool | None:
    """True where gradients are recorded in a context, False where not, None where it says nothing."""
    call = context.func if isinstance(context, ast.Call) else context
    last = (dotted(call) or "").rpartition(".")[2]
    if last in ON:
        return True
    if last in OFF:
        return bool(isinstance(context, ast.Call) and context.args)
    return None
