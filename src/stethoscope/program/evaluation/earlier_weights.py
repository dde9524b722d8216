"""Evaluations in the training loop that read their weights from a file which says nothing of the training.

judge.load_state_dict(torch.load("best.pt"))       and only a better score of `judge` writes best.pt again
judge.load_state_dict(torch.load(sorted(files)[0]))       the first of the files that training writes
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.evaluation.choosing import Choosing, choosings
from stethoscope.program.evaluation.evaluations import Evaluation, Walk
from stethoscope.program.evaluation.first_files import first_of_files
from stethoscope.program.evaluation.saved_weights import is_trained, measured_networks
from stethoscope.program.resume.checkpointing import is_loaded
from stethoscope.program.resume.own_checkpoints import is_same_path, paths_given
from stethoscope.program.walk.ancestry import ancestry, quietly
from stethoscope.program.walk.events import Call, Event
from stethoscope.program.walk.networks import networks
from stethoscope.program.walk.values import Applied, Site, Value


@dataclass(frozen=True, slots=True, eq=False)
class EarlierWeights:
    """Where weights are loaded, what they are, and where the file is written or the evaluation made."""

    load: Site
    what: str
    kind: str
    beside: Site


def earlier_weights(walk: Walk) -> Iterator[EarlierWeights]:
    """The loads of a walk that give an evaluation in the training loop the weights of an earlier step."""
    if not walk.trace.complete:
        return
    yield from _of_records(walk)
    yield from _of_first_files(walk)


# The best so far decides whether it stays the best


def _of_records(walk: Walk) -> Iterator[EarlierWeights]:
    for choosing in choosings(walk):
        measured = measured_networks(walk, choosing.metric)
        loads = [_loads_into(walk, network) for network in measured]
        if not measured or not all(loads) or any(is_trained(walk, one) for one in measured):
            continue
        files = [path for calls in loads for path in _files(walk, calls[-1])]
        if files and all(_is_written_by(walk, choosing, path) for path in files):
            load = loads[0][-1]
            yield EarlierWeights(load.site, load.site.text, "record", choosing.save.site)


def _is_written_by(walk: Walk, choosing: Choosing, path: Value) -> bool:
    """Whether nothing but the save of the best writes a file."""
    writing = [
        event
        for event in walk.trace.events
        if isinstance(event, Call) and any(is_same_path(path, one) for one in paths_given(event))
    ]
    condition = next((scope for scope in choosing.save.scopes() if scope.kind == "if"), None)
    return bool(writing) and condition is not None and all(condition in one.scopes() for one in writing)


# The first of many files


def _of_first_files(walk: Walk) -> Iterator[EarlierWeights]:
    repeated = [one for one in walk.evaluations if _repeats(walk, one.forward.event)]
    if any(is_trained(walk, one) for evaluation in repeated for one in networks(evaluation.network)):
        return  # the other is measured beside it
    for evaluation in repeated:
        for load in _loads_before(walk, evaluation)[-1:]:
            files = list(_files(walk, load))
            are_first = [first_of_files(walk.trace, path) for path in files]
            if files and all(are_first):
                run = evaluation.forward.event.site
                yield EarlierWeights(load.site, load.site.text, "first", run)
                return


def _loads_before(walk: Walk, evaluation: Evaluation) -> list[Call]:
    place = walk.place(evaluation.forward.event)
    loads = [call for one in networks(evaluation.network) for call in _loads_into(walk, one)]
    return [call for call in loads if walk.place(call) < place]


def _repeats(walk: Walk, event: Event) -> bool:
    return any(scope.kind == "loop" and id(scope) in walk.training_scopes for scope in event.scopes())


def _loads_into(walk: Walk, network: Value) -> list[Call]:
    """The loads into a network within the training loop, in order."""
    return [
        event
        for event in walk.trace.events
        if isinstance(event, Call)
        and event.name == "load_state_dict"
        and _repeats(walk, event)
        and any(one is network for one in networks(event.receiver))
    ]


def _files(walk: Walk, load: Call) -> Iterator[Value]:
    """The paths of the files that the state of a load is read from."""
    run = walk.trace.run
    for one in ancestry(run, load.args[0]) if load.args else ():
        if is_loaded(one) and isinstance(one, Applied) and one.args:
            yield quietly(run, one.args[0])
