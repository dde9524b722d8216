"""Resumes under a framework that trains by itself: weights that are loaded by hand before its `fit`.

Lightning's `fit` and the `train` of a Hugging Face Trainer restore everything from the checkpoint that they
are told of. Weights that are loaded into the network beforehand are all that comes back where they are not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Index, Module, dotted
from stethoscope.program.likenesses import words
from stethoscope.program.loop.roles import Role, role_by_name
from stethoscope.program.remembered import remembered
from stethoscope.program.resume.checkpointing import OTHER_PURPOSES, RESUME_WORDS
from stethoscope.program.syntax import FunctionNode, all_nodes, children, own_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

FRAMEWORKS = ("lightning", "transformers", "trl")
# What a framework's call to train is told a checkpoint by, and at which place.
CHECKPOINT_OPTIONS = {"fit": ("ckpt_path", 4), "train": ("resume_from_checkpoint", 0)}
LOADS = frozenset({"load_state_dict", "load_from_checkpoint", "load_model", "from_pretrained"})
NO_NETWORKS = frozenset({"tokenizer", "processor", "config", "extractor", "scheduler", "arguments"})


@dataclass(frozen=True, slots=True, eq=False)
class WeightsAlone:
    """Weights that are loaded for a resume, and the call that trains without being told of the checkpoint."""

    loaded: Site
    trained: Site
    option: str


@remembered
def weights_alone(index: Index) -> tuple[WeightsAlone, ...]:
    """The resumes that a framework is not told of."""
    return tuple(
        found
        for module in index.modules.values()
        if not is_test(module.source) and any(name in module.source.text for name in FRAMEWORKS)
        for found in _in_module(module)
    )


def _in_module(module: Module) -> Iterator[WeightsAlone]:
    functions = [node for node in all_nodes(module.source.tree) if isinstance(node, FunctionNode)]
    for nodes in (_statements(module), *(list(own_nodes(function)) for function in functions)):
        trained = [node for node in nodes if isinstance(node, ast.Call) and _trains(node)]
        if not trained or any(_is_told(node) for node in trained):
            continue
        for node in nodes:
            if isinstance(node, ast.Call) and _loads_network(node) and node.lineno < trained[-1].lineno:
                spoken = _spoken_around(node, nodes)
                if spoken & RESUME_WORDS and not spoken & OTHER_PURPOSES:
                    option = CHECKPOINT_OPTIONS[_name(trained[-1])][0]
                    yield WeightsAlone(Site(module.source, node), Site(module.source, trained[-1]), option)
                    break


def _statements(module: Module) -> list[ast.AST]:
    """What a module does itself, outside of its functions and classes."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = [module.source.tree]
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, FunctionNode | ast.ClassDef):
            waiting.extend(children(node))
    return found


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _holder(call: ast.Call) -> str:
    """The name of the object whose method is called."""
    if not isinstance(call.func, ast.Attribute):
        return ""
    holder = call.func.value
    made = holder.func if isinstance(holder, ast.Call) else holder  # `Trainer(max_epochs=3).fit(model)`
    return (dotted(made) or "").rpartition(".")[2]


def _trains(call: ast.Call) -> bool:
    return _name(call) in CHECKPOINT_OPTIONS and "trainer" in words(_holder(call))


def _is_told(call: ast.Call) -> bool:
    option, place = CHECKPOINT_OPTIONS[_name(call)]
    given = {keyword.arg for keyword in call.keywords}
    return option in given or None in given or len(call.args) > place


def _loads_network(call: ast.Call) -> bool:
    if _name(call) not in LOADS:
        return False
    if _name(call) != "load_state_dict":
        return not NO_NETWORKS & set(words(_holder(call)))
    return role_by_name(_holder(call)) in {None, Role.MODEL}


def _spoken_around(load: ast.Call, nodes: list[ast.AST]) -> set[str]:
    """The words of the conditions around a load and of the file that it reads."""
    about: list[ast.AST] = [*load.args, *load.keywords]
    for node in nodes:
        if isinstance(node, ast.If | ast.IfExp) and load in all_nodes(node):
            about.append(node.test)
    read = {node.id for arg in load.args for node in all_nodes(arg, ast.Name)}
    for node in nodes:
        if isinstance(node, ast.Assign) and any(getattr(target, "id", "") in read for target in node.targets):
            about.append(node.value)
    names = (name for one in about for name in _names(one))
    return {word for name in names if len(name) < 60 for word in words(name)}


def _names(node: ast.AST) -> Iterator[str]:
    for inner in all_nodes(node):
        text = getattr(inner, "attr", None) or getattr(inner, "id", None) or getattr(inner, "value", None)
        if isinstance(text, str):
            yield text
