"""Labels that a program moves by one token before a causal model of transformers moves them once more.

Read off the functions that make samples or batches of a Trainer whose model computes the loss: what goes by
the name of labels begins one token later than what goes in.

labels = input_ids[1:] + [-100]            labels.append(item["labels"][1:] + [-100])
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.index import Function, Index, dotted
from stethoscope.program.objective.trainer_networks import asks_network
from stethoscope.program.syntax import all_nodes, own_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.trainers_made import trainers_made
from stethoscope.program.walk.values import Site

CAUSAL = ("CausalLM", "LMHeadModel")
OTHERS = ("Seq2Seq", "ForConditionalGeneration", "MaskedLM", "T5For", "BartFor")
LABELS, INPUTS = "labels", "input_ids"


def labels_moved(index: Index) -> Iterator[Site]:
    """Where labels are moved, in programs whose models move them too."""
    if not _trains_causal(index):
        return
    for function in index.functions:
        if is_test(function.source) or LABELS not in function.source.text:
            continue
        moved = [(node, of) for node in _made(function, LABELS) for of in _begins_later(node)]
        inputs = _made(function, INPUTS)
        if not moved or not inputs or any(True for node in inputs for _ in _begins_later(node)):
            continue
        whole = {ast.unparse(node) for one in inputs for node in all_nodes(one) if isinstance(node, ast.expr)}
        for node, of in moved:
            if _is_whole(function, of, whole):
                yield Site(function.source, node)
                break


def _trains_causal(index: Index) -> bool:
    """Whether a Trainer takes the loss of a causal model, and no model is of another kind."""
    made = trainers_made(index)
    texts = [module.source.text for module in index.modules.values() if not is_test(module.source)]
    is_causal = any(word in text for text in texts for word in CAUSAL)
    is_other = any(word in text for text in texts for word in OTHERS)
    return bool(made) and is_causal and not is_other and all(asks_network(index, one) for one in made)


def _made(function: Function, name: str) -> list[ast.expr]:
    """What a function gives a name, an entry of a table, or a list that goes by it."""
    found: list[ast.expr] = []
    for node in own_nodes(function.node, ast.Assign, ast.Dict, ast.Call):
        match node:
            case ast.Assign(targets=[target], value=value):
                found += [value] if _is_called(target, name) else []
            case ast.Dict(keys=keys, values=values):
                pairs = zip(keys, values, strict=True)
                found += [v for key, v in pairs if isinstance(key, ast.Constant) and key.value == name]
            case ast.Call(func=ast.Attribute(value=held, attr="append"), args=[value]):
                found += [value] if (dotted(held) or "").rpartition(".")[2] == name else []
            case ast.Call(keywords=words) if bare_name(node) == "dict":
                found += [word.value for word in words if word.arg == name]
    return [one for one in found if not isinstance(one, ast.Name | ast.List) or getattr(one, "elts", None)]


def _is_called(target: ast.expr, name: str) -> bool:
    """`labels`, `batch["labels"]`, `labels[:-1]`."""
    match target:
        case ast.Name(id=found):
            return found == name
        case ast.Subscript(slice=ast.Constant(value=found)):
            return bool(found == name)
        case ast.Subscript(value=held):
            return _is_called(held, name)
    return False


def _begins_later(value: ast.expr) -> Iterator[ast.expr]:
    """What is cut behind its first token, or rolled back by one."""
    for node in all_nodes(value):
        match node:
            case ast.Subscript(value=of, slice=cut):
                last = cut.elts[-1] if isinstance(cut, ast.Tuple) and cut.elts else cut
                if (
                    isinstance(last, ast.Slice)
                    and getattr(last.lower, "value", None) == 1
                    and last.step is None
                ):
                    yield of
            case ast.Call(args=[of, shift, *_]) if bare_name(node) == "roll" and ast.unparse(shift) == "-1":
                yield of


def _is_whole(function: Function, of: ast.expr, inputs: set[str]) -> bool:
    """Whether what is cut is the whole sequence: what goes in, what are labels already, or a sum of parts."""
    while (
        isinstance(of, ast.Call) and len(of.args) == 1 and bare_name(of) in {"tensor", "stack", "as_tensor"}
    ):
        of = of.args[0]
    text = ast.unparse(of)
    if text in inputs or text == LABELS or isinstance(of, ast.BinOp):
        return True
    if isinstance(of, ast.Subscript) and getattr(of.slice, "value", None) in {LABELS, INPUTS}:
        return True
    given = [
        node.value
        for node in own_nodes(function.node, ast.Assign)
        if any(ast.unparse(one) == text for one in node.targets)
    ]
    return any(ast.unparse(one) in inputs for one in given)
