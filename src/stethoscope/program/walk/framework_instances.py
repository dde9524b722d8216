"""The very object whose hooks a framework calls: made with what the program makes it with.

`Tagger(Trainer)` is made once, in some script, with a network, arguments, data and a collate function. A walk
that begins in its `compute_loss` with an object of which nothing is known loses all of that. Here the walk
goes to the place where the program makes the object and stops there; or the object gets what the settings
give it, where Hydra or Lightning's command line makes it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stethoscope.program.index import Class, Function, Index, Module, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.calls import bare_name, call_value
from stethoscope.program.walk.effects import effects
from stethoscope.program.walk.entries import is_test, statement_nodes, walk
from stethoscope.program.walk.execution import Execution, Exhausted, Made
from stethoscope.program.walk.framework_bases import is_trainer
from stethoscope.program.walk.values import (
    Applied,
    FunctionValue,
    Instance,
    Items,
    Leaf,
    Settings,
    Site,
    Table,
    Value,
    choice,
)

HIGHEST = 4  # callers looked through, from the making of an object up to a script
MOST_STARTS = 3  # places from which the making of an object is looked for
# The sections of settings from which Hydra and Lightning's command line make modules and data.
SECTIONS = ("model", "data", "datamodule", "module", "lightning_module", "task", "system", "net")
CLASS_KEYS = ("_target_", "class_path")
SAMPLES = "samples"  # what a collate function is given, which is not known
HOOK_NAMES = frozenset({"training_step", "compute_loss"})
NO_ARGUMENTS = frozenset({*CLASS_KEYS, "init_args", "_convert_", "_recursive_", "_partial_"})


def made_for_hooks(run: Execution, cls: Class) -> Instance:
    """The object of a class as the program makes it; one that nothing is known of where that is not seen."""
    made = made_in_program(run, cls) or made_from_settings(run, cls)
    heir = _heir(run.index, cls) if made is None else None
    if heir is not None:
        made = made_in_program(run, heir) or run.make(heir)
    return made or run.make(cls)


def _heir(index: Index, cls: Class) -> Class | None:
    """The one class that takes over the hooks of a base of which the program makes no object."""
    heirs = [one for one in index.classes if one is not cls and cls in index.lineage(one)]
    return heirs[0] if len(heirs) == 1 and not HOOK_NAMES & heirs[0].methods.keys() else None


def made_in_program(run: Execution, cls: Class) -> Instance | None:
    """Follow the program to where it makes an object of a class; what was met on the way is forgotten."""
    for start, on_the_way in _starts(run.index).get(cls, ())[:MOST_STARTS]:
        found = _made_from(run, cls, start, on_the_way)
        if found is not None:
            run.take_out(found)
            return found
    return None


def _made_from(
    run: Execution, cls: Class, start: Function | Module, on_the_way: frozenset[Function]
) -> Instance | None:
    steps, entered, finished = run.steps, set(run.entered), set(run.finished)
    met = len(run.events), len(run.records), len(run.sinks)
    run.steps = steps // 2
    run.awaited, run.on_the_way = cls, on_the_way
    try:
        walk(run, start)
    except Made as made:
        return made.instance
    except (Exhausted, RecursionError):
        return None
    finally:
        run.awaited, run.on_the_way = None, frozenset()
        run.steps = steps - (steps // 2 - max(run.steps, 0))
        run.entered, run.finished, run.scope = entered, finished, None
        del run.events[met[0] :], run.records[met[1] :], run.sinks[met[2] :]
    return None


@remembered
def _starts(index: Index) -> dict[Class, tuple[tuple[Function | Module, frozenset[Function]], ...]]:
    """Where walks to the making of each object that has hooks begin: the outermost caller first."""
    wanted = {cls.name: cls for cls in index.classes if _has_hooks(index, cls)}
    if not wanted:
        return {}
    called = {
        module: {
            bare_name(node) for node in statement_nodes(module.source.tree) if isinstance(node, ast.Call)
        }
        for module in index.modules.values()
        if not is_test(module.source)
    }
    return {cls: tuple(_starts_of(index, cls, called)) for cls in wanted.values()}


def _has_hooks(index: Index, cls: Class) -> bool:
    bases = {base.rpartition(".")[2] for base in index.outside_bases(cls)}
    return is_trainer(index, cls) or bool(bases & {"LightningModule", "LightningDataModule"})


def _starts_of(
    index: Index, cls: Class, called: dict[Module, set[str]]
) -> Iterator[tuple[Function | Module, frozenset[Function]]]:
    makers = [one for one in effects(index).callers.get(cls.name, ()) if not is_test(one.source)]
    for module, names in called.items():
        if cls.name in names:
            yield module, frozenset()
    for maker in makers:
        chain = [maker]
        while len(chain) < HIGHEST:
            above = [one for one in effects(index).callers.get(chain[-1].name, ()) if not is_test(one.source)]
            if len(above) != 1 or above[0] in chain:
                break
            chain.append(above[0])
        top = chain[-1]
        for module, names in called.items():
            if top.owner is None and top.name in names:
                yield module, frozenset(chain)
        yield top, frozenset(chain)
        if maker is not top:
            yield maker, frozenset({maker})


# Objects that the settings make


def made_from_settings(run: Execution, cls: Class) -> Instance | None:
    """An object that Hydra or Lightning's command line makes of a section of the settings."""
    if cls not in _starts(run.index):
        return None
    for name in SECTIONS:
        found = run.settings.find((name,), "config")
        if found is None or not isinstance(found[1], dict):
            continue
        key, section = found[0], found[1]
        named = next((str(section[word]) for word in CLASS_KEYS if word in section), "")
        if named:
            target = run.index.named(named)
            if target is not cls and not (target is None and named.rpartition(".")[2] == cls.name):
                continue
        elif cls not in _on_command_line(run.index):
            continue
        inner = section.get("init_args")
        if isinstance(inner, dict):
            key, section = (*key, "init_args"), inner
        values = Settings(key, section)
        given = {str(one): _built(run, run.part(values, one)) for one in section if one not in NO_ARGUMENTS}
        init = run.index.method(cls, "__init__")
        if init is None or not set(given) <= {*init.parameters} or not given:
            continue
        return run.construct(cls, (), given)
    return None


def _built(run: Execution, value: Value) -> Value:
    """What a section of the settings is made into, where it names a class of the repository."""
    if not isinstance(value, Settings) or not isinstance(value.tree, dict):
        return value
    named = next((str(value.tree[word]) for word in CLASS_KEYS if word in value.tree), "")
    target = run.index.named(named) if named else None
    if not isinstance(target, Class):
        return value
    inner = value.tree.get("init_args")
    section = Settings((*value.key, "init_args"), inner) if isinstance(inner, dict) else value
    names = [one for one in section.tree if isinstance(one, str) and one not in NO_ARGUMENTS]
    return run.construct(target, (), {one: _built(run, run.part(section, one)) for one in names})


@remembered
def _on_command_line(index: Index) -> frozenset[Class]:
    """The classes that a LightningCLI of the program is told."""
    found: set[Class] = set()
    for module in index.modules.values():
        if "LightningCLI" not in module.source.text:
            continue
        for node in all_nodes(module.source.tree):
            if not isinstance(node, ast.Call) or not bare_name(node).endswith("CLI"):
                continue
            words = {word.arg: word.value for word in node.keywords}
            given = [*node.args[:2], words.get("model_class"), words.get("datamodule_class")]
            targets = [index.resolve(module, dotted(one) or "") for one in given if one is not None]
            found.update(target for target in targets if isinstance(target, Class))
    return frozenset(found)


# What the hooks get


def hook_arguments(run: Execution, instance: Instance, method: Function) -> dict[str, Value]:
    """What a framework hands to a hook that is known from how its object was made: a Trainer's network."""
    if not is_trainer(run.index, instance.cls) or method.name not in {"compute_loss", "training_step"}:
        return {}
    run.initialise(instance)
    network = instance.attributes.get("model")
    # One from elsewhere is known as a network by the name of the parameter alone.
    network = run.force(network) if network is not None else None
    if not isinstance(network, Instance) or len(method.parameters) < 2:
        return {}
    return {method.parameters[1]: network}


def collated_batch(run: Execution, instance: Instance, method: Function) -> dict[str, Value]:
    """The batch that a trainer's own collate function makes for its hook, where that is known by its keys."""
    if not is_trainer(run.index, instance.cls) or len(method.parameters) < 3:
        return {}
    run.initialise(instance)
    collate = instance.attributes.get("data_collator")
    if not isinstance(collate, Instance | FunctionValue):
        return {}
    steps, run.steps = run.steps, run.steps // 2
    try:
        batch = run.force(call_value(run, collate, [Leaf(SAMPLES)], {}, Site(method.source, method.node)))
    except (Exhausted, RecursionError):
        return {}
    finally:
        run.steps += steps - steps // 2
    return {method.parameters[2]: batch} if isinstance(batch, Table) and batch.entries else {}


def loss_in(run: Execution, result: Value) -> Value | None:
    """The loss in what a hook gives back: alone, first in a row, or under its name."""
    result = run.force(result)
    match result:
        case Table(entries=entries):
            return entries.get("loss")
        case Items(items=[first, *_]):
            return first
        case Applied():
            return result
    options = getattr(result, "options", None)
    if options:
        inner = [value for option in options if (value := loss_in(run, option)) is not None]
        return choice(*inner) if inner else None
    return result
