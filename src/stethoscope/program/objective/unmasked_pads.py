"""Networks of transformers that look both ways and are not told which tokens are padding.

A causal model that is padded behind never meets a pad before it is done; one that looks both ways attends to
every pad that no mask hides.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Class, Function, Index, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.trainers_made import trainers_made
from stethoscope.program.walk.values import Site

FAMILIES = r"(?:Bert|Roberta|DistilBert|Electra|Deberta\w*|XLMRoberta|Camembert|MPNet|ModernBert|Longformer)"
# Models that look both ways by their class, whatever weights they get.
BOTH_WAYS = re.compile(
    rf"(?:{FAMILIES}\w*|AutoModelFor(?:TokenClassification|MaskedLM|QuestionAnswering))\.from_pretrained$"
)
# Those of which the weights tell.
OPEN = re.compile(r"AutoModel(?:ForSequenceClassification|ForMultipleChoice)?\.from_pretrained$")
KNOWN = re.compile(r"(?i)bert|electra|mpnet|minilm|e5-|bge-|gte-")
PADDING = re.compile(
    r"DataCollatorWithPadding|DataCollatorForTokenClassification|padding=(?:True|\"longest\"|'longest'|"
    r"\"max_length\"|'max_length')|pad_sequence\("
)
MASK, INPUTS = "attention_mask", "input_ids"
TOKENS = frozenset({INPUTS, "tokens", "ids"})


@dataclass(frozen=True, slots=True, eq=False)
class UnmaskedPads:
    """A pass through a model without a mask, or a mask that marks the pads; and what says so."""

    site: Site
    turned: bool = False


def unmasked_pads(index: Index) -> Iterator[UnmaskedPads]:
    """Passes of padded tokens through models that look both ways, without a mask."""
    models = _models(index)
    if not models or not _pads(index):
        return
    for function in index.bodies:
        if is_test(function.source):
            continue
        known = {name for owner, name in models if owner is None or _is_of(index, function, owner)}
        for call in own_nodes(function.node, ast.Call):
            name = dotted(call.func) or ""
            if name in known and _is_told_tokens(call) and not _is_told_mask(call):
                yield UnmaskedPads(Site(function.source, call))


def turned_marks(index: Index) -> Iterator[UnmaskedPads]:
    """Masks of batches for models of transformers that are one at the pads, where the model wants zeros."""
    if not any("from_pretrained" in module.source.text for module in index.modules.values()):
        return
    for function in index.functions:
        if is_test(function.source) or MASK not in function.source.text:
            continue
        for node in _masks(function):
            if _marks_pads(node):
                yield UnmaskedPads(Site(function.source, node), turned=True)
                break


def _is_of(index: Index, function: Function, owner: Class) -> bool:
    """Whether `self` is an object of a class in a function."""
    return function.owner is not None and (
        owner in index.lineage(function.owner) or function.owner in index.lineage(owner)
    )


@remembered
def _models(index: Index) -> frozenset[tuple[Class | None, str]]:
    """The names by which models that look both ways are called; a trainer's own loss calls `model`.

    `self.model` is one in the methods of that class alone, which goes with it.
    """
    found: set[tuple[Class | None, str]] = set()
    texts = [module.source.text for module in index.modules.values()]
    for function in index.bodies:
        for node in own_nodes(function.node, ast.Assign):
            if isinstance(node.value, ast.Call) and _looks_both_ways(node.value, texts):
                names = {name for one in node.targets if (name := dotted(one))}
                found |= {(function.owner if name.startswith("self.") else None, name) for name in names}
    own = [one.cls for one in trainers_made(index) if one.cls is not None]
    if found and any(index.method(cls, "compute_loss") is not None for cls in own):
        found.add((None, "model"))
    return frozenset(found)


def _looks_both_ways(call: ast.Call, texts: list[str]) -> bool:
    name = dotted(call.func) or ""
    last = ".".join(name.split(".")[-2:])
    if BOTH_WAYS.search(last):
        return True
    if not OPEN.search(last):
        return False
    given = next(iter(call.args), None)
    if isinstance(given, ast.Constant):
        return bool(KNOWN.search(str(given.value)))
    named = {
        found for text in texts for found in re.findall(r"[\"'][\w./-]*(?:bert|gpt|llama|opt-)[\w./-]*", text)
    }
    return bool(named) and all(KNOWN.search(one) for one in named)


def _pads(index: Index) -> bool:
    return any(PADDING.search(one.source.text) for one in index.modules.values() if not is_test(one.source))


def _is_told_tokens(call: ast.Call) -> bool:
    """`model(input_ids=ids)`, `model(batch["input_ids"])`: tokens, and no table that may hold a mask."""
    words = {word.arg: word.value for word in call.keywords}
    if None in words or any(isinstance(arg, ast.Starred) for arg in call.args):
        return False
    first = words.get(INPUTS) or next(iter(call.args), None)
    match first:
        case ast.Subscript(slice=ast.Constant(value=key)):
            return key in TOKENS
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in TOKENS or name.endswith("_ids")
    return False


def _is_told_mask(call: ast.Call) -> bool:
    return len(call.args) > 1 or any(word.arg == MASK for word in call.keywords)


def _masks(function: Function) -> Iterator[ast.expr]:
    """What a function gives the name of the mask, as an entry, an argument or a list that it fills."""
    lists = {"mask", MASK, "masks", "attention_masks"}
    for node in own_nodes(function.node, ast.Assign, ast.Dict, ast.Call):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == MASK:
                yield value
            case ast.Assign(targets=[ast.Subscript(slice=ast.Constant(value=key))], value=value) if (
                key == MASK
            ):
                yield value
            case ast.Dict(keys=keys, values=values):
                pairs = zip(keys, values, strict=True)
                yield from (v for key, v in pairs if isinstance(key, ast.Constant) and key.value == MASK)
            case ast.Call(func=ast.Attribute(value=held, attr="append"), args=[value]):
                if (dotted(held) or "").rpartition(".")[2] in lists:
                    yield value
            case ast.Call(keywords=words) if bare_name(node) not in {"pad"}:
                yield from (word.value for word in words if word.arg == MASK)


def _marks_pads(mask: ast.expr) -> bool:
    """`ids == pad_id`, `ids.eq(pad)`, `[0] * len(ids) + [1] * missing`."""
    while isinstance(mask, ast.Call) and bare_name(mask) in {"long", "int", "float", "to", "bool", "tensor"}:
        inner = mask.func.value if isinstance(mask.func, ast.Attribute) and not mask.args else None
        mask = inner if inner is not None else mask.args[0] if mask.args else ast.Constant(None)
    match mask:
        case ast.Compare(ops=[ast.Eq()], comparators=[other]):
            return "pad" in ast.unparse(other).lower()
        case ast.Call(func=ast.Attribute(attr="eq"), args=[other]):
            return "pad" in ast.unparse(other).lower()
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            sides = (_repeated(left), _repeated(right))
            counts = {number: text for number, text in sides if text}
            # As many zeros as there are tokens, and as many ones as are missing.
            return counts.keys() == {0, 1} and "len(" in counts[0] and "len(" not in counts[1]
    return False


def _repeated(node: ast.expr) -> tuple[object, str]:
    """`[0] * count`: the number, and the count as written."""
    match node:
        case ast.BinOp(left=ast.List(elts=[ast.Constant(value=number)]), op=ast.Mult(), right=count):
            return number, ast.unparse(count)
    return None, ""
