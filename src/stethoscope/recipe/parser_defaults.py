"""What a program's own parsers give where nothing else is said: the lowest layer of the settings.

parser.add_argument("--lr", type=float, default=3e-4)      @click.option("--lr", default=3e-4)
flags.DEFINE_float("lr", 3e-4, "peak")                     def main(lr: float = typer.Option(3e-4))
@dataclass class TrainArgs: lr: float = 3e-4               learning_rate = 6e-4  # and exec(configurator)

A script without a parser is set by the constants at its head, and by a class of them: `LR = 3e-4`,
`class CFG: lr = 3e-4`, `config = {"lr": 3e-4}`. Yacs' tree has a file of its own: `_C.SOLVER.LR = 3e-4`.
Numbers that are written into the arguments of a framework's trainer are its settings, too:
`TrainingArguments(learning_rate=3e-4)`, `L.Trainer(max_epochs=20)`.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import PurePath

from stethoscope.recipe._python.constants import Names, called_name, evaluate
from stethoscope.recipe._python.module import is_record, run_statements
from stethoscope.recipe._python.spans import Spans
from stethoscope.recipe._text import Text
from stethoscope.recipe._tree import Node, Section, TooMuch, settings_of
from stethoscope.run import Key, Program, Setting, Source

MOST_OPTIONS = 2_000

_SWITCHES = frozenset({"store_true", "store_false"})
_NO_VALUE = frozenset({"help", "version", "append", "count", "extend", "append_const"})
# Calls that make a command line of a class or function.
_OF_CLASSES = frozenset(
    {"HfArgumentParser", "TrlParser", "H4ArgumentParser", "cli", "parse", "ArgumentParser", "entrypoint"}
)
_COMMANDS = frozenset({"command", "callback", "main"})
_STARTS_A_FUNCTION = re.compile(r"\b(?:tyro\.cli|Fire|typer\.run|jsonargparse\.CLI|auto_cli)\(\s*(\w+)")
_TRAINER = re.compile(r"\bTrainer\(")
_ARGUMENTS = re.compile(r"(?:TrainingArguments|(?:SFT|DPO|GRPO|KTO|ORPO|PPO|Reward)Config)$")
_OF_LIGHTNING = re.compile(r"^\s*(?:import|from)\s+(?:pytorch_)?lightning\b", re.MULTILINE)
_DECLARATION = re.compile(r"add_argument\(|DEFINE_\w+\(|\boption\(|Option\(|ArgumentParser\(|\bcli\(")
_IN_DECLARATIONS = ("add_argument(", "DEFINE_", "ption(", "ArgumentParser(", "cli(")
_HOLDS_SETTINGS = re.compile(
    r"(?:config|cfg|conf|opts?|options|args|params|hparams|hps?|settings)$", re.IGNORECASE
)
_YACS = re.compile(r"^\s*_C\s*=\s*(?:CN|CfgNode|CfgN)\(", re.MULTILINE)
_TREES = frozenset({"_C"})
_SETS_FROM_COMMAND_LINE = re.compile(r"exec\(open\(['\"][\w./-]*configurator\w*\.py['\"]")


@dataclass(frozen=True, slots=True)
class Option:
    """An option as a parser declares it: its default, the flags it answers to, and whether it is a switch."""

    setting: Setting
    flags: tuple[str, ...] = ()
    switch: bool = False


@lru_cache(maxsize=8)
def options_of(program: Program, script: str = "") -> tuple[Option, ...]:
    """The options of a program: those of the script that ran, where it is known, and of what it imports.

    Without a script, those of the only file that declares any; several unrelated ones say nothing.
    """
    sources = _concerned(program, script)
    found: dict[str, Option] = {}
    trees = [source for source in program if _YACS.search(source.text)]
    for source in (*sources, *(one for one in trees if len(trees) == 1 and one not in sources)):
        for option in options_in(source):
            found.setdefault(option.setting.dotted, option)
            if len(found) > MOST_OPTIONS:
                return ()
    return tuple(found.values())


def options_in(source: Source) -> tuple[Option, ...]:
    """The options that one file declares."""
    try:
        return tuple(_options(source))
    except (TooMuch, RecursionError):
        return ()


def _concerned(program: Program, script: str) -> Sequence[Source]:
    if script:
        wanted = script.replace("\\", "/").removeprefix("./")
        named = [s for s in program if _is_named(s, wanted)]
        return [source for start in named[:1] for source in _reached(start, program)]
    declaring = [source for source in program if _declares(source)]
    declaring = declaring or [source for source in program if _trains(source.text)]
    return declaring if len(declaring) == 1 else ()


def _is_named(source: Source, script: str) -> bool:
    if not script.endswith(".py"):
        return source.module == script or source.module == f"{script}.__main__"
    return f"/{source.file}".replace("\\", "/").endswith(f"/{PurePath(script).as_posix()}") or (
        PurePath(source.file).name == PurePath(script).name and "$" in script
    )


def _declares(source: Source) -> bool:
    # A word is found much faster than a pattern, and most files have none of them.
    return any(word in source.text for word in _IN_DECLARATIONS) and bool(_DECLARATION.search(source.text))


def _trains(text: str) -> bool:
    if ".backward(" in text or ".fit(" in text:
        return True
    return "Trainer(" in text and bool(_TRAINER.search(text))


def _reached(start: Source, program: Program) -> Iterator[Source]:
    """A script and the modules of the program that it imports, directly or not."""
    modules = {source.module: source for source in program}
    seen, todo = {start.file}, [start]
    while todo:
        source = todo.pop(0)
        yield source
        for name in _imported(source):
            near = next(
                (modules[m] for m in (name, f"src.{name}", f"{_package(source)}.{name}") if m in modules),
                None,
            )
            if near is not None and near.file not in seen:
                seen.add(near.file)
                todo.append(near)


def _imported(source: Source) -> Iterator[str]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = source.module.split(".")[: -node.level]
                base = ".".join([*above, base] if base else above)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _package(source: Source) -> str:
    return source.module.rpartition(".")[0]


def _options(source: Source) -> Iterator[Option]:
    spans = Spans(Text(source.text, source.file))
    names = Names()
    run_statements(source.tree.body, names, spans)
    parsed: set[str] = set()
    commands = set(_STARTS_A_FUNCTION.findall(source.text))
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call):
            yield from _call(node, names, spans)
            parsed |= _classes_parsed(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _function(node, names, spans, commands)
    for statement in source.tree.body:
        if isinstance(statement, ast.ClassDef) and statement.name in parsed and is_record(statement):
            yield from _as_options(names.records.get(statement.name))
    if _YACS.search(source.text):
        yield from _tree_of_nodes(names)
    if _SETS_FROM_COMMAND_LINE.search(source.text):
        yield from _constants(source, spans)
    elif _trains(source.text) and not _declares(source):
        yield from _written_in(source, names)
    yield from _given_to_a_trainer(source, names, spans)


def _as_options(node: Node | None) -> Iterator[Option]:
    if isinstance(node, Section):
        yield from (Option(setting) for setting in settings_of(node))


def _call(node: ast.Call, names: Names, spans: Spans) -> Iterator[Option]:
    """`add_argument("--lr", default=...)`, `click.option(...)`, `DEFINE_float("lr", ...)`."""
    last = called_name(node.func).rpartition(".")[2] or str(getattr(node.func, "attr", ""))
    texts = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    if last in {"add_argument", "add_arg", "add"} and texts and texts[0].lstrip("-"):
        if last == "add_argument" or texts[0].startswith("--"):
            yield from _flag(node, texts, names, spans)
    elif last == "option" and texts and texts[0].startswith("-"):
        yield from _flag(node, texts, names, spans)
    elif last.startswith("DEFINE_") and len(node.args) > 1 and texts:
        default = evaluate(node.args[1], names, spans)
        for setting in settings_of(default, (texts[0],)):
            yield Option(setting, (texts[0],), last in {"DEFINE_bool", "DEFINE_boolean"})


def _flag(node: ast.Call, texts: list[str], names: Names, spans: Spans) -> Iterator[Option]:
    given = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    action = getattr(given.get("action"), "value", None)
    if action in _NO_VALUE:
        return
    flags = [part for text in texts for part in text.split("/")[0].split() if part.startswith("-")]
    longest = next((flag for flag in flags if flag.startswith("--")), flags[0] if flags else texts[0])
    named = [text for text in texts if not text.startswith("-")] if flags else []  # click's own name
    target = getattr(given.get("dest"), "value", None) or (named[0] if named else longest.lstrip("-"))
    key: Key = tuple(str(target).replace("-", "_").split("."))
    switch = action in _SWITCHES or getattr(given.get("is_flag"), "value", False) is True
    if "default" in given:
        node_default = evaluate(given["default"], names, spans)
        settings = list(settings_of(node_default, key))
    elif switch:
        settings = [Setting(key, action == "store_false", spans.where(node))]
    else:
        settings = [Setting(key, None, spans.where(node))]
    short = tuple(flag.lstrip("-").replace("-", "_") for flag in flags)
    yield from (Option(setting, short, switch) for setting in settings)


def _classes_parsed(node: ast.Call) -> set[str]:
    """The classes that a parser is made for: `HfArgumentParser((A, B))`, `tyro.cli(A)`."""
    last = called_name(node.func).rpartition(".")[2] or str(getattr(node.func, "attr", ""))
    if last not in _OF_CLASSES and last != "add_arguments":
        return set()
    given = [
        *node.args[:1],
        *(keyword.value for keyword in node.keywords if keyword.arg == "dataclass_types"),
    ]
    parts = [part for one in given for part in (one.elts if isinstance(one, ast.Tuple | ast.List) else [one])]
    return {called_name(part) for part in parts} - {""}


def _function(
    node: ast.FunctionDef | ast.AsyncFunctionDef, names: Names, spans: Spans, commands: set[str]
) -> Iterator[Option]:
    """The parameters of a function that is a command: typer's, tyro's, fire's."""
    if node.name not in commands and not _is_command(node):
        return
    spec = node.args
    every = [*spec.posonlyargs, *spec.args]
    defaults = [*[None] * (len(every) - len(spec.defaults)), *spec.defaults]
    for argument, default in (
        *zip(every, defaults, strict=True),
        *zip(spec.kwonlyargs, spec.kw_defaults, strict=True),
    ):
        if default is None:
            continue
        value = _typer_default(default)
        if value is not None:
            node_default = evaluate(value, names, spans)
            yield from (Option(s, (argument.arg,)) for s in settings_of(node_default, (argument.arg,)))


def _is_command(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    made = [called_name(d.func if isinstance(d, ast.Call) else d) for d in node.decorator_list]
    if any("click" in name or "hydra" in name for name in made):
        return False  # their options are declared elsewhere
    return any(name.rpartition(".")[2] in _COMMANDS and "." in name for name in made) and not any(
        name.rpartition(".")[2] in {"option", "argument"} for name in made
    )


def _typer_default(default: ast.expr) -> ast.expr | None:
    """The value in `typer.Option(3e-4, help=...)`; any other default is itself."""
    if isinstance(default, ast.Call) and called_name(default.func).rpartition(".")[2] in {
        "Option",
        "Argument",
    }:
        first = default.args[0] if default.args else None
        return None if isinstance(first, ast.Constant) and first.value is ... else first
    return default


def _tree_of_nodes(names: Names) -> Iterator[Option]:
    """Yacs' way: `_C = CN()`, `_C.SOLVER = CN()`, `_C.SOLVER.STEPS = (60000, 80000)`."""
    for name in _TREES & names.values.keys():
        yield from _as_options(names.values[name])


def _constants(source: Source, spans: Spans) -> Iterator[Option]:
    """nanoGPT's way: what is assigned before the command line overwrites it."""
    cut = _SETS_FROM_COMMAND_LINE.search(source.text)
    assert cut is not None
    names = Names()
    line = spans.source.line(cut.start())
    run_statements([s for s in source.tree.body if s.lineno < line], names, spans)
    for name, node in names.values.items():
        if name.startswith("_") or not isinstance(node, Setting):
            continue
        if node.known or not node.text.startswith(("[", "{", "(")):  # the list of the names themselves
            yield Option(replace(node, key=(name,)), (name,))


def _written_in(source: Source, names: Names) -> Iterator[Option]:
    """The constants of a script, and those of a class of settings that it uses as it is."""
    assigned = Counter(
        node.id
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    for name, node in names.values.items():
        if assigned[name] != 1 or name.startswith("_"):
            continue
        if isinstance(node, Setting) and node.known:
            yield Option(replace(node, key=(name,)))
        elif isinstance(node, Section) and not node.is_list and _HOLDS_SETTINGS.search(name):
            yield from _as_options(node)
    for name, node in names.records.items():
        given = re.search(rf"\b{name}\(\s*[^\s)]", source.text.replace(f"class {name}(", ""))
        if _HOLDS_SETTINGS.search(name) and given is None and name not in names.held:
            yield from _as_options(node)


def _given_to_a_trainer(source: Source, names: Names, spans: Spans) -> Iterator[Option]:
    """What is written into the only call that sets a framework's trainer."""
    if (
        "TrainingArguments" not in source.text
        and "Config(" not in source.text
        and "Trainer(" not in source.text
    ):
        return
    is_lightning = bool(_OF_LIGHTNING.search(source.text))
    calls = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call)]
    sets = [call for call in calls if _sets_a_trainer(called_name(call.func), is_lightning)]
    for keyword in sets[0].keywords if len(sets) == 1 else ():
        if keyword.arg:
            written = settings_of(evaluate(keyword.value, names, spans), (keyword.arg,))
            yield from (Option(setting) for setting in written if setting.known)


def _sets_a_trainer(called: str, is_lightning: bool) -> bool:
    last = called.rpartition(".")[2]
    return bool(_ARGUMENTS.search(last)) or (is_lightning and last == "Trainer")


@lru_cache(maxsize=4)
def replaced_in(program: Program) -> frozenset[str]:
    """The scripts over whose constants what a command line names is read, nanoGPT's way."""
    return frozenset(source.file for source in program if _SETS_FROM_COMMAND_LINE.search(source.text))


def unsaid(options: Iterable[Option], settings: Iterable[Setting]) -> Iterator[Setting]:
    """The defaults that count: of what no setting says, a list being said as a whole."""
    said = {setting.key for setting in settings}
    lists = {key[:-1] for key in said if key and isinstance(key[-1], int)}
    for option in options:
        key = option.setting.key
        if key not in said and not (isinstance(key[-1], int) and key[:-1] in said | lists):
            yield option.setting


def taken_by(options: Iterable[Option], settings: Iterable[Setting]) -> tuple[Setting, ...]:
    """Settings of a command line under the names that the program takes them by.

    `-b 64` is batch_size where the parser says so, and a word behind a switch is not its value.
    """
    by_flag = {flag: option for option in options for flag in option.flags}
    renamed = []
    for setting in settings:
        option = by_flag.get(str(setting.key[0])) if setting.key else None
        if option is None or len(option.setting.key) != 1:
            renamed.append(setting)
            continue
        key = (option.setting.key[0], *setting.key[1:])
        if option.switch and not isinstance(setting.value, bool) and len(key) == 1:
            setting = replace(setting, value=option.setting.value is False, text="", span=None)
        elif option.switch and setting.value is True:
            setting = replace(setting, value=option.setting.value is not True)
        renamed.append(replace(setting, key=key))
    return tuple(renamed)
