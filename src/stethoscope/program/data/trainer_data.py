"""The data sets that a Hugging Face trainer is given side by side, as the loaders it will make of them."""

from __future__ import annotations

from collections.abc import Iterator

from stethoscope.program.index import Function, Index, Module
from stethoscope.program.remembered import remembered
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.entries import walk
from stethoscope.program.walk.events import Call
from stethoscope.program.walk.execution import Execution, Exhausted
from stethoscope.program.walk.framework_bases import TRAINER_ARGUMENTS
from stethoscope.program.walk.trace import TRACE_STEPS
from stethoscope.program.walk.trainers_made import TrainerMade, trainers_made
from stethoscope.program.walk.values import Applied, Site, Value

# Methods by which a trainer of the repository may do something else with what is held out.
OWN_EVALUATION = frozenset({"evaluate", "get_eval_dataloader", "prediction_step", "evaluation_loop"})
MOST_TRAINERS = 6
LOADER = "torch.utils.data.DataLoader"


@remembered
def trainer_data(index: Index, settings: SettingsTree) -> tuple[tuple[Execution, Applied, Applied], ...]:
    """For each trainer that is given both: the walk that met it, its loader of training, and the other."""
    found = []
    plain = [made for made in trainers_made(index) if not _evaluates_by_itself(made)]
    for made in plain[:MOST_TRAINERS]:
        for start in _starts(index, made):
            run = Execution(index, settings, TRACE_STEPS // 4, tracing=True)
            try:
                walk(run, start)
            except (Exhausted, RecursionError):
                continue
            pair = next(_given(run, made), None)
            if pair is not None:
                found.append((run, *pair))
                break
    return tuple(found)


def _evaluates_by_itself(made: TrainerMade) -> bool:
    return made.cls is not None and bool(OWN_EVALUATION & made.cls.methods.keys())


def _starts(index: Index, made: TrainerMade) -> Iterator[Function | Module]:
    """The script that a trainer is made in, and the function around it."""
    yield from (module for module in index.modules.values() if module.source is made.source)
    for function in index.functions:
        node = function.node
        if function.source is made.source and node.lineno <= made.call.lineno <= (node.end_lineno or 0):
            yield function


def _given(run: Execution, made: TrainerMade) -> Iterator[tuple[Applied, Applied]]:
    for event in list(run.events):
        if not (isinstance(event, Call) and event.site.node is made.call and event.arguments_known):
            continue
        given = {name: event.argument(place, name) for place, name in enumerate(TRAINER_ARGUMENTS)}
        trained, judged, collator = (
            given[name] for name in ("train_dataset", "eval_dataset", "data_collator")
        )
        if trained is None or judged is None or trained is judged:
            continue
        options: dict[str, Value] = {"collate_fn": collator} if collator is not None else {}
        places = [
            Site(made.source, made.given(name) or made.call) for name in ("train_dataset", "eval_dataset")
        ]
        yield (
            Applied(LOADER, (trained,), options, places[0]),
            Applied(LOADER, (judged,), options, places[1]),
        )
