"""Metrics of causal language models that hold each answer against the token it was made from."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stethoscope.program.index import Function, Index, Module, dotted
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

CAUSAL = ("CausalLM", "LMHeadModel")
OTHERS = ("Seq2Seq", "ForConditionalGeneration", "MaskedLM", "predict_with_generate", "T5", "Bart")
IGNORED = 100  # the label that a loss passes over is minus this number
METRIC_ARGUMENTS = ("compute_metrics", "preprocess_logits_for_metrics")


@dataclass(frozen=True, slots=True, eq=False)
class UnshiftedAnswers:
    """Where the likeliest token is taken, where it is held against a label, and the model."""

    chosen: Site
    compared: Site
    model: Site


def unshifted_answers(index: Index) -> Iterator[UnshiftedAnswers]:
    """The metrics of causal models whose answers and labels are never moved against each other."""
    model = next(_models(index), None)
    if model is None:
        return
    for module in index.modules.values():
        if is_test(module.source) or "compute_metrics" not in module.source.text:
            continue
        for functions in metrics(index, module):
            nodes = [node for function in functions for node in reached(index, function)]
            chosen = next((node for node in nodes if _is_choice(node)), None)
            compared = next((node for node in nodes if _is_comparison(node)), None)
            if chosen is None or compared is None or any(map(_is_moved, nodes)):
                continue
            if any(map(is_ignored_label, nodes)):
                source = functions[0].source
                yield UnshiftedAnswers(Site(source, chosen), Site(source, compared), model)


def _models(index: Index) -> Iterator[Site]:
    """Causal models that are made, in programs that have no other kind."""
    texts = [module.source.text for module in index.modules.values() if not is_test(module.source)]
    if any(name in text for text in texts for name in OTHERS):
        return
    for module in index.modules.values():
        if is_test(module.source) or not any(name in module.source.text for name in CAUSAL):
            continue
        for node in all_nodes(module.source.tree, ast.Call):
            name = (dotted(node.func) or "") if isinstance(node, ast.Call) else ""
            if any(word in name for word in CAUSAL):
                yield Site(module.source, node)


def metrics(index: Index, module: Module) -> Iterator[Sequence[Function]]:
    """The functions that a trainer computes its metrics by, each with what prepares its outputs."""
    for node in all_nodes(module.source.tree, ast.Call):
        told = {word.arg: word.value for word in node.keywords} if isinstance(node, ast.Call) else {}
        if "compute_metrics" not in told:
            continue
        found = [index.resolve(module, dotted(told[name]) or "") for name in METRIC_ARGUMENTS if name in told]
        functions = [one for one in found if isinstance(one, Function)]
        if functions and len(functions) == len(found) and len({one.source.file for one in functions}) == 1:
            yield functions


def reached(index: Index, function: Function) -> Iterator[ast.AST]:
    """What is in a function and in those of the repository that it calls."""
    home = index.module_of(function.source)
    for node in all_nodes(function.node):
        yield node
        if isinstance(node, ast.Call):
            target = index.resolve(home, dotted(node.func) or "")
            if isinstance(target, Function) and target is not function:
                yield from all_nodes(target.node)


def _is_choice(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and bare_name(node) == "argmax"


def _is_comparison(node: ast.AST) -> bool:
    match node:
        case ast.Compare(ops=[ast.Eq()], comparators=[ast.Name() | ast.Subscript() | ast.Attribute()]):
            return True
        case ast.Call():
            told = {word.arg for word in node.keywords}
            return {"predictions", "references"} <= told or bare_name(node) == "accuracy_score"
    return False


def _is_moved(node: ast.AST) -> bool:
    """`labels[:, 1:]`, `logits[..., :-1, :]`, `np.roll`, or a name that speaks of it."""
    match node:
        case ast.Slice(lower=ast.Constant(value=1)):
            return True
        case ast.Slice(upper=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))):
            return True
        case ast.Call():
            name = bare_name(node).lower()
            return name == "roll" or "shift" in name or "decode" in name or "generate" in name
        case ast.Name(id=name):
            return "shift" in name.lower()
    return False


def is_ignored_label(node: ast.AST) -> bool:
    """Whether an expression is the label that a loss passes over, -100."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=number)):
            return number == IGNORED
    return False
