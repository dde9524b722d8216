"""A distributed sampler is never told the epoch, so every epoch has the same order.

## What it checks
A training loader inside a loop of epochs whose sampler shuffles by the epoch, a `DistributedSampler` or one
of the program that is told by `set_epoch`: whether it is called anywhere on the way. A sampler that seeds its
order with the same number each time is reported too.

## Why it matters
The sampler seeds its shuffle with the epoch. Without `set_epoch` each epoch shows the same batches in the
same order, with the same neighbours, on every rank: a large part of what shuffling is for is lost.

## When it is harmless
With one epoch, with `shuffle=False`, or where Accelerate or Lightning prepare the loader and call it
themselves. A sampler of another kind, or one that counts its epochs itself, need not know the epoch.

## References
- torch.utils.data.distributed.DistributedSampler
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, Rule, Severity, Subject
from stethoscope.program.data.epoch_samplers import EpochSampler, epoch_sampler, is_told
from stethoscope.program.data.training_data import TrainingLoader, repeats, sources
from stethoscope.program.edits.statements import deeper, is_inline, is_known_at, name_of_result, put_first
from stethoscope.program.loop.training_loop import level
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.values import Applied, Instance
from stethoscope.run import Fix, Level, Source
from stethoscope.signals.training_data import TrainingLoaders

RULE = Rule(code="DAT102", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)


def examine(loaders: TrainingLoaders) -> Iterator[Finding]:
    """Report each sampler that shuffles by the epoch and is never told it."""
    for loader in loaders:
        sampler = epoch_sampler(loader)
        if sampler is None or not repeats(loader) or is_told(loader, sampler):
            continue
        made = sampler.made
        yield Finding(
            where=tuple(dict.fromkeys((sampler.site.where, loader.site.where))),
            message=_message(sampler),
            evidence={"sampler": sampler.site.text},
            fix=_fix(loader, made) if isinstance(made, Applied) else None,
        )


def _message(sampler: EpochSampler) -> str:
    if not sampler.listens:
        return "the sampler seeds its order with what never changes: every epoch has the same order"
    kind = "sampler" if isinstance(sampler.made, Instance) else "distributed sampler"
    return f"the {kind} shuffles by the epoch, and set_epoch is never called"


def _fix(loader: TrainingLoader, sampler: Applied) -> Fix | None:
    """The epoch told at the top of each round, where the loop counts them and knows the sampler by a name."""
    epochs = _loop_of_epochs(loader)
    if epochs is None:
        return None
    source, node = epochs
    is_sure = isinstance(loader.options.get("sampler", sampler), Applied)
    ways = ((sampler, ""), (loader.made, ".sampler")) if is_sure else ((loader.made, ".sampler"),)
    for made, path in ways:
        name = name_of_result(made.site.source, made.site.node)
        if not name or made.site.source is not source or (path and "batch_sampler" in loader.options):
            continue
        if is_known_at(source, made.site.node, node) or _is_own(source, made.site.node, node, name):
            told = f"{name}{path}.set_epoch({ast.unparse(node.target)})"
            if not is_sure:
                if is_inline(source, node.body[0]) or not isinstance(sampler.site.node, ast.Call):
                    return None
                kind = ast.unparse(sampler.site.node.func)
                told = f"if isinstance({name}{path}, {kind}):\n{deeper(source)}{told}"
            return Fix("tell the sampler the epoch", Level.SAFE, (put_first(source, node.body, told),))
    return None


def _loop_of_epochs(loader: TrainingLoader) -> tuple[Source, ast.For] | None:
    """The loop whose rounds go through the loader once, with a count of its own."""
    loops = loader.loop.loops if loader.loop is not None else ()
    for scope in loops:
        if not isinstance(scope.node, ast.For) or not isinstance(scope.node.target, ast.Name):
            continue
        if loader.made not in sources(scope.value) and level(loader.run, scope) == "epoch":
            is_named = scope.node.target.id.strip("_")
            return (scope.source, scope.node) if is_named and isinstance(scope.node.iter, ast.Call) else None
    return None


def _is_own(source: Source, made: ast.AST, loop: ast.AST, name: str) -> bool:
    """Whether both are in methods of one class, and the name is an attribute that every object gets."""
    if not name.startswith("self."):
        return False
    for owner in (node for node in all_nodes(source.tree, ast.ClassDef)):
        init = next((one for one in owner.body if getattr(one, "name", "") == "__init__"), None)
        if isinstance(init, ast.FunctionDef) and any(made in all_nodes(one) for one in init.body):
            is_plain = any(getattr(one, "value", None) is made for one in init.body)
            return is_plain and any(node is loop for node in all_nodes(owner))
    return False
