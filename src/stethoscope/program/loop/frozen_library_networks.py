"""Networks of libraries that are made without weights, and frozen: `resnet18(weights=None)`, no gradients.

Torchvision and timm give random weights unless they are asked for others, and a class of transformers that is
called with a configuration always does; only `from_pretrained` brings weights.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stethoscope.program.index import Index, Module, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.values import Site

# A program with any of these may bring weights in a way that is not followed.
_BRINGS_WEIGHTS = re.compile(
    r"load_state_dict|torch\.load\(|load_model|load_weights|load_checkpoint|load_file\(|safetensors|get_peft_model|"
    r"hf_hub|torch\.hub|load_from_checkpoint|resume_from_checkpoint|checkpoint_path|\.copy_\(|vector_to_parameters"
)
_RANDOM_ON_PURPOSE = re.compile(
    r"random.?(feature|encoder|project|network|weights|baseline|init)|reservoir|lottery|supermask|unfreez|untrained",
    re.IGNORECASE,
)
_WITHOUT_WEIGHTS = re.compile(r"(Tokenizer|TokenizerFast|Config|Processor|Extractor|Scheduler)$")
_TRAINS = re.compile(r"\.backward\(|Trainer\(|\.fit\(")
_LETS_LEARN = re.compile(r"requires_grad\s*=\s*(?!False)\S|requires_grad_\((?!False)")
_SWITCHES = (" = {}", "_({})")
_ASKS = ("weights", "pretrained", "pretrained_backbone", "weights_backbone", "checkpoint_path")


@dataclass(frozen=True, slots=True, eq=False)
class FrozenNetwork:
    """A network of a library: where it is made, by what, and where it, or the part of it, is frozen."""

    made: Site
    maker: str
    part: str
    frozen: Site


@remembered
def frozen_library_networks(index: Index) -> tuple[FrozenNetwork, ...]:
    """The networks of libraries that are frozen at random, in programs that bring no weights at all."""
    sources = [source for source in index.program if not is_test(source)]
    if any(_BRINGS_WEIGHTS.search(one.text) or _RANDOM_ON_PURPOSE.search(one.text) for one in sources):
        return ()
    modules = [one for one in index.modules.values() if one.source in sources]
    if any(_brings_weights(module) for module in modules):
        return ()
    return tuple(found for module in modules for found in _in_module(module))


def _brings_weights(module: Module) -> bool:
    """Whether something but a tokenizer or a configuration comes from a hub."""
    if "from_pretrained" not in module.source.text:
        return False
    names = (dotted(call.func) or "?.from_pretrained" for call in all_nodes(module.source.tree, ast.Call))
    owners = [name.rpartition(".")[0] for name in names if name.endswith(".from_pretrained")]
    return not all(_WITHOUT_WEIGHTS.search(owner) for owner in owners)


def _in_module(module: Module) -> Iterator[FrozenNetwork]:
    text = module.source.text
    if "requires_grad" not in text or not _TRAINS.search(text):
        return
    made, learning = _made_at_random(module), [name for name, _ in _switched(module, "True")]
    if len(learning) != len(_LETS_LEARN.findall(text)):
        return  # something learns again that is not told by name
    for target, site in _switched(module, "False") if made else ():
        name = next((one for one in made if f"{target}.".startswith(f"{one}.")), None)
        if name is not None and not any(f"{target}.".startswith(f"{one}.") for one in learning):
            maker, call = made[name]
            yield FrozenNetwork(Site(module.source, call), maker, target, site)


def _made_at_random(module: Module) -> dict[str, tuple[str, ast.Call]]:
    """The names that are given a random network of a library, and nothing else."""
    given: dict[str, list[ast.expr]] = {}
    for node in all_nodes(module.source.tree, ast.Assign):
        for target in node.targets:
            if (name := dotted(target)) is not None:
                given.setdefault(name, []).append(node.value)
    found = {}
    for name, values in given.items():
        call = values[0]
        if len(values) == 1 and isinstance(call, ast.Call) and (maker := _random_maker(module, call)):
            found[name] = (maker, call)
    return found


def _random_maker(module: Module, call: ast.Call) -> str | None:
    name = dotted(call.func)
    if name is None:
        return None
    head, _, rest = name.partition(".")
    full = ".".join(part for part in (module.imports.get(head, ""), rest) if part)
    library, _, _ = full.partition(".")
    last = full.rpartition(".")[2]
    asked = {word.arg: word.value for word in call.keywords}
    if None in asked or not all(_is_nothing(asked[word]) for word in _ASKS if word in asked):
        return None
    if full.startswith("torchvision.models.") and last.islower():
        return last if not call.args else None
    if full in {"timm.create_model", "timm.models.create_model"}:
        return "timm.create_model" if len(call.args) <= 1 else None
    if library == "transformers" and last[:1].isupper() and not last.endswith("Config"):
        is_model = re.search(r"Model$|For[A-Z]\w+$|LMHead", last) is not None
        return last if is_model and (call.args or "config" in asked) else None
    return (
        f"{full.split('.')[-2]}.from_config" if library == "transformers" and last == "from_config" else None
    )


def _is_nothing(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value in (None, False, "")


def _switched(module: Module, how: str) -> Iterator[tuple[str, Site]]:
    """What is frozen or let learn outside of every condition: by its method, or a loop over parameters."""
    for statement in _unconditional(module.source.tree.body):
        if isinstance(statement, ast.For) and isinstance(statement.target, ast.Name):
            target = _whose_parameters(statement.iter)
            switch = {f"{statement.target.id}.requires_grad{set_to.format(how)}" for set_to in _SWITCHES}
            if target is not None and any(ast.unparse(one) in switch for one in statement.body):
                yield target, Site(module.source, statement)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            called, given = dotted(statement.value.func) or "", [ast.unparse(a) for a in statement.value.args]
            if called.endswith(".requires_grad_") and given == [how]:
                yield called.removesuffix(".requires_grad_"), Site(module.source, statement)


def _unconditional(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, ast.If) and "__name__" not in ast.unparse(statement.test):
            continue
        if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.With | ast.If):
            yield from _unconditional(statement.body)


def _whose_parameters(node: ast.expr) -> str | None:
    name = dotted(node.func) if isinstance(node, ast.Call) and not node.args else None
    return name.removesuffix(".parameters") if name is not None and name.endswith(".parameters") else None
