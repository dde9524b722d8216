"""Cross entropies whose target is what the network was given: it need only copy."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from stethoscope.program.data.ingredients import LAYOUT, ingredients, is_drawn
from stethoscope.program.index import Class, Index
from stethoscope.program.likenesses import words
from stethoscope.program.objective.loss_calls import LossCall
from stethoscope.program.syntax import FunctionNode
from stethoscope.program.walk.execution import Exhausted
from stethoscope.program.walk.network_passes import is_network_pass
from stethoscope.program.walk.values import (
    Applied,
    Constant,
    Delayed,
    FunctionValue,
    Instance,
    Items,
    Site,
    Value,
)

ENTROPIES = frozenset(
    {"cross_entropy", "CrossEntropyLoss", "nll_loss", "NLLLoss", "LabelSmoothingCrossEntropy"}
)
# A network that is meant to give back what it gets, that hides some of it, or that moves it by itself.
_MEANT = re.compile(
    r"(?i)shift|:\s*-1\b|-1\s*:|\broll\(|vae|auto_?enc|latent|bottleneck|quanti[sz]|codebook|recon|corrupt|noise|mask_token"
    r"|random_mask|mask_ratio|mlm|dropout_?token|diffusion|denois"
    # Convolutions whose kernels are masked see what was said before only.
    r"|masked_?conv|pixel_?(?:cnn|snail)|weight\s*\*\s*self\.mask|self\.mask\s*\*\s*self\.weight"
    # Heads that take a margin off the right answer have to know it.
    r"|one_hot|scatter_?\(|margin|\ba(?:rc)?cos\("
)
# Methods that only write text: where they take the last token, nothing is moved for the loss.
WRITING = frozenset(
    {
        "generate",
        "greedy",
        "sample",
        "decode",
        "beam",
        "predict",
        "translate",
        "inference",
        "infer",
        "complete",
    }
)
DEPTH = 8
MOST_CLASSES = 24
MOST_PASSES = 60


def given_its_target(call: LossCall) -> Site | None:
    """Where the network is given the very tokens that its answers are compared with."""
    target = call.call.args[1] if len(call.call.args) > 1 else call.call.keywords.get("target")
    prediction = call.call.args[0] if call.call.args else None
    if call.loss not in ENTROPIES or target is None or prediction is None:
        return None
    wanted = _bare(target)
    if isinstance(wanted, Constant):
        return None
    try:
        for value in _passes(call, prediction):
            if any(_same(_bare(one), wanted, DEPTH) for one in value.args) and not _is_meant(call, value):
                return value.site
    except (Exhausted, RecursionError):
        return None
    return None


def _passes(call: LossCall, prediction: Value) -> Iterator[Applied | Delayed]:
    """The networks that a prediction went through, one behind the other, from the last to the first."""
    waiting, seen = [prediction], 0
    while waiting and seen < MOST_PASSES:
        for value in ingredients(call.run, waiting.pop(0)):
            if isinstance(value, Applied | Delayed) and is_network_pass(call.run.index, value):
                seen += 1
                yield value
                waiting.extend(value.args)


def _is_meant(call: LossCall, value: Value) -> bool:
    """Whether the network, a part of it, or the function that trains it speaks of copying or moving."""
    callee = value.callee if isinstance(value, Delayed) else None
    bound = callee.bound if isinstance(callee, FunctionValue) else None
    classes = [*([bound.cls] if isinstance(bound, Instance) else []), *_classes_around(call)]
    texts = [text for cls in classes for text in _texts(call.run.index, cls)]
    return any(map(_MEANT.search, (*texts, _function_around(call.site))))


def may_copy(index: Index, cls: Class, asked: Site) -> bool:
    """Whether a network, a part of it, or the function that asks it speaks of copying or moving tokens."""
    return any(map(_MEANT.search, (*_texts(index, cls), _function_around(asked))))


def _classes_around(call: LossCall) -> Iterator[Class]:
    """The class that computes a loss itself."""
    line = getattr(call.site.node, "lineno", 0)
    for cls in call.run.index.classes:
        if cls.source is call.site.source and cls.node.lineno <= line <= (cls.node.end_lineno or 0):
            yield cls


def _texts(index: Index, cls: Class) -> list[str]:
    """The source of a class and of those classes of the repository that it names, and so on."""
    named = {one.name: one for one in index.classes}
    found = {cls.name: cls}
    waiting = [cls]
    while waiting and len(found) < MOST_CLASSES:
        for node in ast.walk(waiting.pop().node):
            name = (
                node.id
                if isinstance(node, ast.Name)
                else node.attr
                if isinstance(node, ast.Attribute)
                else ""
            )
            if name in named and name not in found:
                found[name] = named[name]
                waiting.append(named[name])
    return [_text(one) for one in found.values()]


def _text(cls: Class) -> str:
    """The source of a class, without the methods that only write text."""
    kept = (one for one in cls.node.body if not WRITING.intersection(words(getattr(one, "name", ""))))
    return "\n".join(map(ast.unparse, kept))


def _function_around(site: Site) -> str:
    """The text of the innermost function around a place; of what the file does itself where there is none."""
    line = getattr(site.node, "lineno", 0)
    around = [
        node
        for node in ast.walk(site.source.tree)
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    innermost = max(around, key=lambda node: node.lineno, default=None)
    if innermost is not None:
        return ast.unparse(innermost)
    tree = site.source.tree
    own = (one for one in tree.body if not isinstance(one, FunctionNode | ast.ClassDef))
    return "\n".join(map(ast.unparse, own))


def _bare(value: Value) -> Value:
    """A value without changes of layout and type; what is cut out of it stays cut."""
    while isinstance(value, Applied) and value.args and value.callee.rpartition(".")[2] in LAYOUT:
        value = value.args[0]
    return value


def _gives_the_same(value: Applied) -> bool:
    """Whether a call gives the same again for the same arguments: a cut, a stack, a sum, nothing drawn."""
    is_known = value.callee in {"[]", "slice", "+", "-", "*"} or value.callee.startswith("torch.")
    return is_known and not is_drawn(value) and not value.keywords


def _same(one: Value, other: Value, depth: int) -> bool:
    if one is other:
        return True
    if depth == 0:
        return False
    match one, other:
        case Constant(value=left), Constant(value=right):
            return left == right
        case Items(items=left), Items(items=right):
            return len(left) == len(right) and all(
                _same(a, b, depth - 1) for a, b in zip(left, right, strict=True)
            )
        case Applied(), Applied() if one.callee == other.callee and _gives_the_same(one):
            pairs = zip(one.args, other.args, strict=False)
            return len(one.args) == len(other.args) and all(_same(a, b, depth - 1) for a, b in pairs)
    return False
