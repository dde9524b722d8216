"""Every rank draws the same samples, so that several processes learn what one would.

## What it checks
The training loaders of programs that run as several processes: whether a distributed sampler is told a fixed
rank or a single replica, and whether a loader without such a sampler goes through data that no rank has for
itself, in an order that no seed tells apart. Where the program looks its samples up by itself, in what it has
read, all that the inputs of the trained network were made from is followed: the rank must have a say in some
of it, in the places, in the seed that they are drawn with, or in what is read.

## Why it matters
The gradients that are averaged are of the same samples. The run costs as many machines as it has and learns
as one would; where the ranks shuffle alike, an epoch sees each sample once for every rank.

## When it is harmless
Data that each rank reads a part of, random batches with a seed of its own on every rank, streams that are
split by node, and loaders that Accelerate, Fabric or Lightning prepare are each rank's own. Ranks that hold
parts of one network take the same batch on purpose.

## References
- torch.utils.data.distributed.DistributedSampler
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.findings.finding import Finding, InsufficientData, Rule, Severity, Subject
from stethoscope.program.data.private_loaders import is_made_private
from stethoscope.program.data.training_data import TrainingLoader
from stethoscope.program.loop.moves import receiver_role
from stethoscope.program.loop.roles import Role
from stethoscope.program.ranks.decisions import Ranks
from stethoscope.program.ranks.shared_lookups import shared_lookups
from stethoscope.program.ranks.shares import SHARDING, has_rank, may_be_own
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.ancestry import quietly
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.values import Applied, Constant, Instance, Value, is_nothing
from stethoscope.signals.processes import Processes
from stethoscope.signals.training_data import TrainingLoaders

RULE = Rule(code="RNK141", since="0.2", severity=Severity.WARNING, subject=Subject.SOURCE)

NAMES_BEHIND = 3  # from a loader back to what it loads
ENGINES = frozenset({"prepare", "prepare_data_loader", "setup_dataloaders", "setup", "initialize"})
SEEDING = frozenset({"manual_seed", "seed", "set_seed", "seed_everything", "manual_seed_all", "fix_seed"})
PROCESSES = frozenset({"DistributedDataParallel", "DDP", "init_process_group"})


def examine(processes: Processes, loaders: TrainingLoaders | None) -> Iterator[Finding]:
    """Report each training loader that gives all ranks the same, and what is looked up so."""
    divided = [ranks for ranks in processes.ranks if _is_explicit(ranks) and not _is_prepared(ranks)]
    if loaders is None and not divided:
        raise InsufficientData("no DataLoader of the training data was found")
    looked_up: dict[ast.AST, Finding] = {}
    for ranks in divided:
        for site in shared_lookups(ranks):
            looked_up.setdefault(
                site.node,
                Finding(
                    site.where,
                    "no rank has a say in which samples it trains with: all look up the same",
                    evidence={"looked_up": site.text},
                ),
            )
        for loader in loaders or ():
            if loader.loop is None or loader.loop.trace is not ranks.walk.trace or is_made_private(loader):
                continue
            why = _fixed_share(loader) or _no_share(ranks, loader)
            if why:
                yield Finding(loader.site.where, why, evidence={"loader": loader.site.text})
    yield from looked_up.values()


def _is_explicit(ranks: Ranks) -> bool:
    """Whether the program itself makes the processes a group; a launcher may as well be asked for one."""
    calls = (event for event in ranks.walk.trace.events if isinstance(event, Call))
    return any(call.name in PROCESSES or _last(call) in PROCESSES for call in calls)


def _last(call: Call) -> str:
    return str(getattr(call.callee, "name", "")).rpartition(".")[2]


def _is_prepared(ranks: Ranks) -> bool:
    """Whether an engine has the loaders, and divides them among the ranks."""
    run = ranks.walk.trace.run
    calls = (event for event in ranks.walk.trace.events if isinstance(event, Call))
    return any(call.name in ENGINES and receiver_role(run, call) is Role.ENGINE for call in calls)


def _fixed_share(loader: TrainingLoader) -> str:
    """Why a distributed sampler gives every rank the same part."""
    sampler = loader.options.get("sampler")
    sampler = quietly(loader.run, sampler) if sampler is not None else None
    if not isinstance(sampler, Applied) or not sampler.callee.endswith("DistributedSampler"):
        return ""
    given = dict(zip(("dataset", "num_replicas", "rank"), sampler.args, strict=False)) | dict(
        sampler.keywords
    )
    replicas, rank = _written(given.get("num_replicas")), _written(given.get("rank"))
    if replicas == 1:
        return "the distributed sampler is told of one replica: every rank goes through all samples"
    if rank is not None:
        return f"the distributed sampler is told rank {rank} on every rank: all draw the same share"
    return ""


def _written(value: Value | None) -> object:
    """A number that stands in the source itself; one of the settings may be told at the start."""
    is_number = isinstance(value, Constant) and isinstance(value.value, int) and not value.setting
    return value.value if is_number and isinstance(value, Constant) else None


def _no_share(ranks: Ranks, loader: TrainingLoader) -> str:
    """Why a loader without a sampler gives every rank the same."""
    run, options = loader.run, loader.options
    samplers = [options[name] for name in ("sampler", "batch_sampler") if name in options]
    if not loader.options_known or not all(map(is_nothing, samplers)) or _is_chosen(loader):
        return ""
    dataset = quietly(run, loader.dataset) if loader.dataset is not None else None
    if not isinstance(dataset, Applied | Instance) or may_be_own(run, dataset):
        return ""
    if _is_picked_by_rank(loader):
        return ""
    if _is_stream(loader, dataset) or has_rank(run, options.get("generator")):
        return ""
    if _is_seeded_by_rank(ranks) and not _is_order_fixed(loader):
        return ""
    return "the loader has no distributed sampler: every rank goes through all samples, in the same order"


def _is_order_fixed(loader: TrainingLoader) -> bool:
    """Whether the seed of a rank does not reach the order: a generator has its own, or nothing is mixed."""
    generator = loader.options.get("generator")
    if generator is not None and not is_nothing(generator):
        return isinstance(quietly(loader.run, generator), Applied)
    shuffle = loader.options.get("shuffle", Constant(False))
    return isinstance(shuffle, Constant) and not shuffle.value


def _is_chosen(loader: TrainingLoader) -> bool:
    """Whether a sampler is made for the loader in another case than the one that was followed."""
    node = loader.site.node
    given = node.keywords if isinstance(node, ast.Call) else []
    asked = [one.value for one in given if one.arg in {"sampler", "batch_sampler"}]
    names = {ast.unparse(one) for one in asked}
    assigned = (
        one.value
        for one in all_nodes(loader.site.source.tree, ast.Assign)
        if names & set(map(ast.unparse, one.targets))
    )
    return any("Sampler(" in ast.unparse(one) for one in (*asked, *assigned))


def _is_picked_by_rank(loader: TrainingLoader) -> bool:
    """Whether a condition of a comprehension deals the samples: `[i for i in all if i % world == rank]`."""
    given: dict[str, list[ast.expr]] = {}
    for one in all_nodes(loader.site.source.tree, ast.Assign):
        for target in one.targets:
            given.setdefault(ast.unparse(target), []).append(one.value)
    waiting: list[ast.AST] = [loader.site.node]
    for _ in range(NAMES_BEHIND):
        parts = [one for node in waiting for one in all_nodes(node, ast.comprehension)]
        if any(SHARDING.search(ast.unparse(asked)) for part in parts for asked in part.ifs):
            return True
        names = {ast.unparse(one) for node in waiting for one in all_nodes(node, ast.Name)}
        waiting = [value for name in names for value in given.get(name, [])]
    return False


def _is_stream(loader: TrainingLoader, dataset: Applied | Instance) -> bool:
    """Whether the data divide themselves, as streams from outside may."""
    if isinstance(dataset, Instance):
        bases = {base.rpartition(".")[2] for base in loader.run.index.outside_bases(dataset.cls)}
        return any("Iterable" in base for base in bases)
    return not dataset.callee.startswith(("torch.", "torchvision.", "torchaudio.", "numpy."))


def _is_seeded_by_rank(ranks: Ranks) -> bool:
    run = ranks.walk.trace.run
    return any(
        has_rank(run, given)
        for event in ranks.walk.trace.events
        if isinstance(event, Call) and event.name in SEEDING
        for given in (*event.args, *event.keywords.values())
    )
