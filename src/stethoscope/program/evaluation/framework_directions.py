"""What frameworks are told about which end of a monitored number is better.

Lightning's callbacks keep the smallest unless `mode="max"`; a Hugging Face Trainer keeps the largest of all
but what is called a loss; Ignite keeps the largest that a score function answers with; SpeechBrain's
checkpointer has one keyword for each end.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.evaluation.logged_names import logged_direction
from stethoscope.program.evaluation.returned_scores import returned_scores
from stethoscope.program.evaluation.score_directions import Known, direction, named_direction
from stethoscope.program.index import Class, Function, Index, Module, dotted
from stethoscope.program.remembered import remembered
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.values import Site
from stethoscope.run import Recipe, Setting
from stethoscope.run.names import HIGHER, LOWER

MONITORING = ("ModelCheckpoint", "EarlyStopping")
LIGHTNING = ("lightning", "pytorch_lightning")
MODES = {"max": HIGHER, "min": LOWER, "greater": HIGHER, "less": LOWER}
_WRITTEN_MODES = tuple(mark + mode + mark for mode in MODES for mark in "'\"")
MONITORED = frozenset({"monitor", "metric", "key", "metric_name", "monitor_metric", "save_best"})
SAYING = ("mode", "rule")  # what the end is told by
# SpeechBrain: `save_and_keep_only(meta={"WER": wer}, min_keys=["WER"])`.
KEYED = {"max_keys": HIGHER, "max_key": HIGHER, "min_keys": LOWER, "min_key": LOWER}
ARGUMENTS = ("TrainingArguments", "SFTConfig", "DPOConfig", "TrainerConfig")
_CLASS_KEYS = frozenset({"class_path", "_target_", "target", "type", "name"})


@dataclass(frozen=True, slots=True, eq=False)
class ToldDirection:
    """A monitored number and the end that is kept; `mode` is what says so, None where it is the default."""

    site: Site
    monitor: str
    kept: str
    wanted: str
    what: str
    mode: ast.expr | None = None


@remembered
def told_directions(index: Index) -> tuple[ToldDirection, ...]:
    """The calls that keep the other end of a number than its name asks for."""
    found: list[ToldDirection] = []
    for module in index.modules.values():
        text = module.source.text
        if not any(
            word in text for word in (*MONITORING, *ARGUMENTS, "score_function", *KEYED, *_WRITTEN_MODES)
        ):
            continue
        for call in all_nodes(module.source.tree, ast.Call):
            found.extend(_told(index, module, call))
    return tuple(one for one in found if one.wanted != one.kept)


def _told(index: Index, module: Module, call: ast.Call) -> Iterator[ToldDirection]:
    name = dotted(call.func) or ""
    last = name.rpartition(".")[2]
    given = {word.arg: word.value for word in call.keywords}
    if None in given:
        return  # what `**options` hold may say more
    site = Site(module.source, call)
    if last in MONITORING:
        monitor = monitored_text(index, module, call)
        wanted = _wanted(index, monitor) if monitor else None
        kept = _mode(index, module, given.get("mode"), is_of_lightning(module, name))
        if wanted and kept and monitor:
            yield ToldDirection(site, monitor, kept, wanted, last, given.get("mode"))
    elif last.endswith(ARGUMENTS):
        yield from _of_trainer(index, module, site, given)
    else:
        yield from _of_own_class(index, module, site, call)
    for key in KEYED.keys() & given.keys():
        yield from _of_keys(index, module, site, given[key], KEYED[key])
    if "score_function" in given:
        yield from _of_score(index, module, site, given["score_function"])


def _of_own_class(index: Index, module: Module, site: Site, call: ast.Call) -> Iterator[ToldDirection]:
    """A class of the program that is told what to monitor and in which mode: `KeepBest("val_acc", "min")`."""
    written = (*call.args, *(word.value for word in call.keywords))
    if not any(isinstance(one, ast.Constant) and str(one.value) in MODES for one in written):
        return
    made = index.resolve(module, dotted(call.func) or "")
    if not isinstance(made, Class):
        return
    begin = index.method(made, "__init__")
    names = [name for name in begin.parameters if name not in {"self", "cls"}] if begin is not None else []
    said = next((name for name in SAYING if name in names), None)
    if said is None or not MONITORED.intersection(names):
        return
    given = dict(zip(names, call.args, strict=False)) | {
        word.arg: word.value for word in call.keywords if word.arg
    }
    monitor = text_of(index, module, next((given[name] for name in MONITORED if name in given), None))
    kept = MODES.get(text_of(index, module, given.get(said)) or "")
    wanted = named_direction(monitor) if monitor else None
    if monitor and kept and wanted:
        yield ToldDirection(site, monitor, kept, wanted, made.name, given.get(said))


def _of_keys(index: Index, module: Module, site: Site, keys: ast.expr, kept: str) -> Iterator[ToldDirection]:
    """The numbers of which SpeechBrain's checkpointer keeps one end."""
    for key in keys.elts if isinstance(keys, ast.List | ast.Tuple) else (keys,):
        monitor = text_of(index, module, key)
        wanted = named_direction(monitor) if monitor else None
        if monitor and wanted:
            yield ToldDirection(site, monitor, kept, wanted, "the checkpointer")


def monitored_text(index: Index, module: Module, call: ast.Call) -> str | None:
    """What a callback is told to monitor; the first argument of `EarlyStopping("val_loss")` says so too."""
    given = next((word.value for word in call.keywords if word.arg == "monitor"), None)
    is_first = (dotted(call.func) or "").endswith("EarlyStopping") and call.args
    return text_of(index, module, call.args[0] if given is None and is_first else given)


def _wanted(index: Index, monitor: str) -> str | None:
    """The better end of a number, by its name or by what is logged under it."""
    return named_direction(monitor) or logged_direction(index, monitor)


def _mode(index: Index, module: Module, node: ast.expr | None, by_default: bool) -> str | None:
    if node is None:
        return LOWER if by_default else None
    return MODES.get(text_of(index, module, node) or "")


def is_of_lightning(module: Module, name: str) -> bool:
    """Whether a name that stands in a module is Lightning's."""
    head = name.partition(".")[0]
    return module.imports.get(head, "").partition(".")[0] in LIGHTNING


def text_of(index: Index, module: Module, node: ast.expr | None) -> str | None:
    """The text that an expression is, written there or at the top of a module."""
    if isinstance(node, ast.Name):
        node = getattr(index.resolve(module, node.id), "value", None)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _of_trainer(
    index: Index, module: Module, site: Site, given: dict[str | None, ast.expr]
) -> Iterator[ToldDirection]:
    """`metric_for_best_model="wer"` keeps the largest error where nothing says otherwise."""
    monitor = text_of(index, module, given.get("metric_for_best_model"))
    wanted = named_direction(monitor.removeprefix("eval_")) if monitor else None
    if not monitor or wanted is None:
        return
    told = given.get("greater_is_better")
    if told is None or (isinstance(told, ast.Constant) and told.value is None):
        kept = LOWER if monitor.endswith("loss") else HIGHER
    elif isinstance(told, ast.Constant) and isinstance(told.value, bool):
        kept = HIGHER if told.value else LOWER
    else:
        return
    yield ToldDirection(site, monitor, kept, wanted, "the Trainer", told)


def _of_score(index: Index, module: Module, site: Site, score: ast.expr) -> Iterator[ToldDirection]:
    """Ignite keeps the largest that its score function answers with."""
    if not any(name.startswith("ignite") for name in module.imports.values()):
        return
    answer = _answer(index, module, score)
    wanted = direction(answer, Known(results=returned_scores(index))) if answer is not None else None
    if answer is not None and wanted == LOWER:
        yield ToldDirection(site, ast.unparse(answer), HIGHER, wanted, "the handler", score)


def _answer(index: Index, module: Module, score: ast.expr) -> ast.expr | None:
    if isinstance(score, ast.Lambda):
        return score.body
    name = dotted(score) or ""
    target = index.resolve(module, name)
    # A handler is often written inside the function that has the engines.
    inner = [one for one in all_nodes(module.source.tree, ast.FunctionDef) if one.name == name]
    node = target.node if isinstance(target, Function) else inner[0] if len(inner) == 1 else None
    returns = all_nodes(node, ast.Return) if node is not None else []
    return returns[0].value if len(returns) == 1 else None


def settings_directions(recipe: Recipe, index: Index) -> Iterator[tuple[Setting, Setting | None, str]]:
    """The settings of a monitor, with its mode, that keep the other end than its name asks for."""
    for setting in recipe:
        if setting.leaf not in {*MONITORED, "metric_for_best_model"} or not isinstance(setting.value, str):
            continue
        wanted = _wanted(index, setting.value.removeprefix("eval_"))
        beside = {one.leaf: one for one in recipe if one.key[:-1] == setting.key[:-1]}
        if setting.leaf in MONITORED:
            mode = next((beside[name] for name in SAYING if name in beside), None)
            kept = MODES.get(str(mode.value)) if mode is not None else _by_default(recipe, setting)
        else:
            mode = beside.get("greater_is_better")
            is_told = mode is not None and isinstance(mode.value, bool)
            largest = mode.value if is_told and mode is not None else not setting.value.endswith("loss")
            kept = (HIGHER if largest else LOWER) if mode is None or is_told else None
        if wanted and kept and wanted != kept:
            yield setting, mode, wanted


def _by_default(recipe: Recipe, setting: Setting) -> str | None:
    """Lightning's own callbacks keep the smallest where no mode is given."""
    return LOWER if is_of_lightning_by_settings(recipe, setting) else None


def is_of_lightning_by_settings(recipe: Recipe, setting: Setting) -> bool:
    """Whether a setting stands with the class of one of Lightning's callbacks that watch a number."""
    own = setting.key[:-1]
    homes = {own, own[:-1] if own[-1:] == ("init_args",) else own}
    made = [str(one.value) for one in recipe if one.key[:-1] in homes and one.leaf in _CLASS_KEYS]
    # LightningCLI takes its own callbacks by their bare names too.
    return any(
        one.partition(".")[0] in {*LIGHTNING, *MONITORING} and one.endswith(MONITORING) for one in made
    )
