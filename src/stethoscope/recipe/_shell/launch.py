"""Which commands of a shell script start a training, and the settings they give it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from stethoscope.recipe._shell.commands import Argument, Command, commands
from stethoscope.recipe._text import MAX_DEPTH, Text
from stethoscope.recipe.written_values import as_written
from stethoscope.run import Key, Setting, Where

_PYTHON = re.compile(r"^(?:.*/)?(?:python[\d.]*|pypy3?|ipython|uv|pipenv|poetry|conda|mamba|micromamba)$")
# Programs that start others once or on many devices; their own options are settings of the run, too.
_RUNNERS = {
    "torchrun": "torchrun",
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torchrun",
    "torch.distributed.elastic.multiprocessing": "torchrun",
    "accelerate": "accelerate",
    "accelerate.commands.launch": "accelerate",
    "deepspeed": "deepspeed",
    "srun": "srun",
    "mpirun": "mpirun",
    "mpiexec": "mpirun",
    "horovodrun": "horovodrun",
    "composer": "composer",
    "ray": "ray",
}
# Console scripts that train by themselves.
_TRAINERS = re.compile(
    r"^(?:.*/)?(?:fairseq-(?:hydra-)?train|axolotl|llamafactory-cli|tune|litgpt|trl|yolo|nnUNetv2_train|allennlp|mim"
    r"|onmt_train|espnet2?-train|nemo|catalyst-dl|swift|fastchat|lightning)$"
)
# Programs that are given the names of others and do not start them.
_SHOWS = frozenset(
    {
        "echo",
        "printf",
        "cat",
        "cp",
        "mv",
        "rm",
        "ls",
        "ln",
        "vim",
        "nano",
        "grep",
        "sed",
        "awk",
        "git",
        "pip",
        "tar",
    }
    | {
        "chmod",
        "which",
        "test",
        "[",
        "[[",
        "scp",
        "rsync",
        "touch",
        "mkdir",
        "head",
        "tail",
        "less",
        "diff",
        "pkill",
    }
)
_SCRIPT = re.compile(r"^[\w./~${}@+-]+\.(?:py|pyc)$")
# Scripts that do something else than train.
_OTHERS = re.compile(
    r"(?:^|[_/.-])(?:eval\w*|test|tests|infer\w*|predict\w*|sample\w*|generat\w*|prepar\w*|preproc\w*|download\w*|convert"
    r"|export|plot\w*|visuali[sz]\w*|merge|setup|install|tokeni[sz]e\w*|serve|upload|push|demo|benchmark|bench)"
    r"(?=[_/.-]|$)",
    re.IGNORECASE,
)
_FLAG = re.compile(r"--?(?P<name>[A-Za-z_][\w.:/-]*)(?P<sign>=)?")
_OVERRIDE = re.compile(r"(?P<sign>\+\+|\+|~)?(?P<key>[A-Za-z_][\w./@:-]*(?:\[\d+\][\w./@:-]*)*)=")
_REMOVAL = re.compile(r"~(?P<key>[A-Za-z_][\w./@:-]*)$")
_NUMBER = re.compile(r"-\.?\d")
# Options of launchers and of mmengine that hold further `key=value` words.
_HOLDS_OVERRIDES = frozenset(
    {"cfg_options", "options", "opts", "override", "overrides", "set", "modify_config"}
)
_NAMES_SETTINGS = re.compile(r"\.(?:ya?ml|json|toml|py)$", re.IGNORECASE)
# What a person sets for a whole run by exporting it.
_TELLING = re.compile(
    r"^(?:CUDA_VISIBLE_DEVICES|WORLD_SIZE|NNODES|NPROC_PER_NODE|ACCELERATE_\w+|NVIDIA_TF32_OVERRIDE|OMP_NUM_THREADS"
    r"|PYTHONHASHSEED|CUBLAS_WORKSPACE_CONFIG|PYTORCH_\w+|TORCH_\w+|NCCL_\w+|XLA_\w+|WANDB_(?:NAME|PROJECT|RUN_ID))$"
)
_DIRECTIVE = re.compile(
    r"^#(?:SBATCH|PBS|BSUB)[ \t]+(?P<option>--?[\w-]+)(?:[ \t=]+(?P<value>[^\s#]+))?", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Launch:
    """A command that starts a program: its script or module, its settings, and the settings files it names.

    `overrides` are the settings written as `key=value`, and `words` the same with the whole word, signs and
    all, as their value; `outputs` are the files that the command writes to. `exports` says that variables of
    the script's own are set for the program.
    """

    script: str
    settings: tuple[Setting, ...]
    named: tuple[str, ...]
    overrides: tuple[Setting, ...]
    where: Where
    outputs: tuple[str, ...] = ()
    words: tuple[Setting, ...] = ()
    exports: bool = False

    @property
    def trains(self) -> bool:
        """Whether the script, by its name, may be a training."""
        return not _OTHERS.search(self.script) or bool(re.search("train", self.script.rpartition("/")[2]))


def launches(source: Text) -> tuple[Launch, ...]:
    """Every program that a script starts, in the order written."""
    asked = tuple(_directives(source))
    found: list[Launch] = []
    for command in commands(source.text):
        if command.piped and command.arguments[0].text == "tee" and found:
            files = [one.text for one in command.arguments[1:] if not one.text.startswith("-")]
            found[-1] = replace(found[-1], outputs=(*found[-1].outputs, *files))
        elif (launch := _launch(command, source, asked)) is not None:
            found.append(launch)
    return tuple(found)


def _directives(source: Text) -> Iterator[Setting]:
    """`#SBATCH --nodes=2`: what a cluster was asked for."""
    for found in _DIRECTIVE.finditer(source.text):
        name = found["option"].lstrip("-").replace("-", "_")
        name = {"N": "nodes", "n": "ntasks", "G": "gpus", "t": "time", "J": "job_name"}.get(name, name)
        key = ("sbatch", name)
        if found["value"] is None:
            yield Setting(key, True, source.where(found.start()), found["option"])
        else:
            span = found.span("value")
            where = source.where(span[0])
            yield Setting(key, as_written(found["value"]), where, found["value"], span, True)


def _launch(command: Command, source: Text, asked: tuple[Setting, ...]) -> Launch | None:
    """The program that a command starts, where it starts one in Python."""
    arguments = command.arguments
    script = _script(arguments)
    if script is None:
        return None
    settings = [*asked, *_of_environment(command, source)]
    runners = list(_of_runners(arguments[: script.at], source))
    settings.extend(runners)
    own, overrides, words = _of_script(arguments[script.at + script.length :], source)
    settings.extend(own)
    named = [*_named(runners), *_named(own), *_named(overrides)]
    return Launch(
        script.name,
        tuple(settings),
        tuple(dict.fromkeys(named)),
        tuple(overrides),
        source.where(command.start),
        command.outputs,
        tuple(words),
        any(not _TELLING.match(name) for name in command.exported),
    )


@dataclass(frozen=True, slots=True)
class _Script:
    name: str
    at: int
    length: int


def _script(arguments: Sequence[Argument]) -> _Script | None:
    """The script, module or console program that a command starts, and which words name it."""
    python = False
    if arguments[0].text in _SHOWS:
        return None
    for at, argument in enumerate(arguments):
        text = argument.text
        last = text.rpartition("/")[2]
        if text in {"-c", "-"} and python:
            return None
        if text in {"-m", "--module"} and at + 1 < len(arguments) and python:
            module = arguments[at + 1].text
            if module in _RUNNERS:
                continue
            return _Script(module, at, 2)
        if _TRAINERS.match(text) and not python:
            return _Script(last, at, 1)
        if _SCRIPT.match(text) and (python or at == 0 or _is_run(arguments[:at])):
            return _Script(text, at, 1)
        python = python or bool(_PYTHON.match(text)) or last in _RUNNERS
    return None


def _is_run(before: Sequence[Argument]) -> bool:
    """Whether what stands before a script starts it: `srun train.py`, `$PYTHON train.py`."""
    words = [argument.text for argument in before]
    return any(word.rpartition("/")[2] in _RUNNERS for word in words) or (
        bool(re.search("PYTHON|LAUNCH|RUN|CMD", words[-1])) and not before[-1].known
    )


def _of_environment(command: Command, source: Text) -> Iterator[Setting]:
    for name, value in command.exported.items():
        if _TELLING.match(name):
            yield _setting(("env", name), value, source)


def _of_runners(arguments: Sequence[Argument], source: Text) -> Iterator[Setting]:
    """The options of each runner, below its name: torchrun.nproc_per_node."""
    runner = ""
    at = 0
    while at < len(arguments):
        text = arguments[at].text
        last = _RUNNERS.get(text.rpartition("/")[2])
        flag = _FLAG.match(text)
        if last is not None:
            runner = last
        elif runner and flag is not None:
            key = (runner, _short(runner, flag["name"]))
            if flag["sign"]:
                yield _setting(key, arguments[at].cut(flag.end()), source)
            elif at + 1 < len(arguments) and _is_value(arguments[at + 1]):
                at += 1
                yield _setting(key, arguments[at], source)
            else:
                yield _switch(key, arguments[at], True, source)
        at += 1


def _short(runner: str, name: str) -> str:
    if runner == "srun":
        return {"N": "nodes", "n": "ntasks", "G": "gpus", "c": "cpus_per_task"}.get(
            name, name.replace("-", "_")
        )
    if runner == "mpirun":
        return {"n": "np"}.get(name, name)
    return name.replace("-", "_")


def _is_value(argument: Argument) -> bool:
    """Whether a word is an option's value and no option or program itself."""
    text = argument.text
    if _NUMBER.match(text) or not text.startswith("-"):
        last = text.rpartition("/")[2]
        return not (_PYTHON.match(text) or last in _RUNNERS)
    return False


def _of_script(
    arguments: Sequence[Argument], source: Text
) -> tuple[list[Setting], list[Setting], list[Setting]]:
    """The options given to the script, those written as `key=value`, and these as they are typed."""
    settings: list[Setting] = []
    overrides: list[Setting] = []
    words: list[Setting] = []
    at = position = 0
    while at < len(arguments):
        argument = arguments[at]
        at += 1
        flag = _FLAG.match(argument.text)
        if flag is not None and not _NUMBER.match(argument.text) and argument.pieces[0].known:
            values: list[Argument] = []
            while not flag["sign"] and at < len(arguments) and _belongs(arguments[at], values, flag["name"]):
                values.append(arguments[at])
                at += 1
            settings.extend(_flag(flag, argument, values, source))
        elif (override := _OVERRIDE.match(argument.text)) is not None:
            setting = _setting(_override_key(override["key"]), argument.cut(override.end()), source)
            overrides.append(setting)
            words.append(replace(setting, key=(), value=argument.text))
        elif _REMOVAL.match(argument.text):
            words.append(replace(_setting((), argument, source), value=argument.text))
        else:
            settings.append(_setting((f"argument_{position}",), argument, source))
            position += 1
    return settings, overrides, words


def _belongs(argument: Argument, before: list[Argument], name: str) -> bool:
    """Whether a word is a further value of an option: numbers follow each other, other words come alone."""
    text = argument.text
    if not _NUMBER.match(text) and text.startswith("-") and len(text) > 1:
        return False
    if name.replace("-", "_") in _HOLDS_OVERRIDES:
        return True
    if _OVERRIDE.match(text) and not before:
        return False
    return not before or (_is_number(before[-1]) and _is_number(argument))


def _is_number(argument: Argument) -> bool:
    return isinstance(as_written(argument.text), int | float)


def _flag(flag: re.Match[str], argument: Argument, values: list[Argument], source: Text) -> Iterator[Setting]:
    name = flag["name"].replace("-", "_").rstrip(":")
    key: Key = tuple(name.split("."))[:MAX_DEPTH]
    if flag["sign"]:
        yield _setting(key, argument.cut(flag.end()), source)
    elif name in _HOLDS_OVERRIDES and values:
        for value in values:
            override = _OVERRIDE.match(value.text)
            if override is not None:
                yield _setting(_override_key(override["key"]), value.cut(override.end()), source)
            else:
                yield _setting(key, value, source)
    elif not values:
        negated = name.startswith("no_") and len(name) > 3
        yield _switch(key, argument, True, source)
        if negated:
            yield _switch((name[3:],), argument, False, source)
    elif len(values) == 1:
        yield _setting(key, values[0], source)
    else:
        for index, value in enumerate(values):
            yield _setting((*key, index), value, source)


def _override_key(text: str) -> Key:
    """`optim.lr`, `data.loaders[0].size`."""
    parts = re.findall(r"[^.\[\]]+", text.partition("@")[0])
    return tuple(int(part) if part.isdigit() else part for part in parts)[:MAX_DEPTH]


def _setting(key: Key, argument: Argument, source: Text) -> Setting:
    """A word as a setting: at the place its value is written, by way of the variables it came through."""
    text = argument.text
    span = argument.span
    via = sorted({offset for piece in argument.pieces for offset in piece.via})
    if span is None:
        where = source.where(argument.at)
        written = [piece.start for piece in argument.pieces if piece.start is not None and piece.via]
        through = [source.where(at) for at in (*written, *via)]
    else:
        where = source.where(span[0])
        through = [source.where(at) for at in via]
        if via:
            through.append(source.where(argument.at))
    places = tuple(place for place in dict.fromkeys(through) if place != where)
    value = as_written(text) if argument.known else text
    return Setting(key, value, where, text, span, span is not None, through=places, known=argument.known)


def _switch(key: Key, argument: Argument, value: bool | None, source: Text) -> Setting:
    return Setting(key, value, source.where(argument.at), argument.text)


def _named(settings: Sequence[Setting]) -> Iterator[str]:
    """The values that are names of settings files."""
    for setting in settings:
        if isinstance(setting.value, str) and setting.known and _NAMES_SETTINGS.search(setting.value):
            yield setting.value
