#!/usr/bin/env python
"""Write the tables of setting names in src/stethoscope/recipe/schemas/ from the frameworks' own releases.

    python scripts/write_schemas.py                 all tables
    python scripts/write_schemas.py torch trl       these

Every release is fetched from the package index, parsed and never imported or installed: of a wheel only the
wanted files are read. A table holds, for each class or section, the names it takes with type and default, and
for a name that not every release has, the first and the last one that has it.
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import tarfile
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import yaml

TABLES = Path(__file__).parents[1] / "src/stethoscope/recipe/schemas/tables"
INDEX = "https://pypi.org/pypi/{package}/json"
LONGEST = 60  # characters of a type or default that a table keeps
ANY_NAME = "**"  # stands for every name: the constructor takes any keyword

Keys = dict[str, tuple[str, str]]  # name -> type, default


@dataclass(frozen=True, slots=True)
class Record:
    """Names that are taken together: by a constructor, a class of options or a section of a settings file.

    `unknown` is what becomes of another name: "refused", "ignored". `calls` are the dotted names that
    source code calls it by. `extends` names records of other tables whose names it takes as well.
    """

    keys: Keys
    unknown: str = "refused"
    calls: tuple[str, ...] = ()
    extends: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Framework:
    """What to read of a framework: its package, the first release, the files, and the records in them."""

    title: str
    package: str
    since: tuple[int, ...]
    wanted: Callable[[str], bool]
    records: Callable[[Package], Mapping[str, Record]]
    every: int = 0  # releases of a minor version that are read: the last one, or each n-th besides


def main(names: list[str]) -> None:
    """Write the tables of these names, or all."""
    TABLES.mkdir(exist_ok=True)
    for name, framework in FRAMEWORKS.items():
        if not names or name in names:
            (TABLES / f"{name}.json").write_text(_text(_table(framework)), encoding="utf-8")


@dataclass(slots=True)
class _Merged:
    """A record over all releases: for each name its type, default, first and last release."""

    record: Record
    first: str
    last: str
    calls: dict[str, None] = field(default_factory=dict)
    keys: dict[str, list[str]] = field(default_factory=dict)

    def add(self, record: Record, version: str) -> None:
        """Take in what a later release has."""
        self.record, self.last = record, version
        self.calls.update(dict.fromkeys(record.calls))
        for key, (kind, default) in record.keys.items():
            since = self.keys[key][2] if key in self.keys else version
            self.keys[key] = [kind, default, since, version]

    def entry(self, versions: list[str]) -> dict[str, object]:
        """The record for the table, less what goes without saying: empty lists, names that it always has.

        A class that comes or goes brings or takes all its names: that says nothing about any one of them.
        """
        keys = {}
        for key, (kind, default, since, until) in sorted(self.keys.items()):
            span = ["" if since == self.first else since, "" if until == self.last else until]
            keys[key] = [kind, default, *(span if any(span) else ())]
        entry: dict[str, object] = {"unknown": self.record.unknown}
        entry |= {"since": self.first} if self.first != versions[0] else {}
        entry |= {"until": self.last} if self.last != versions[-1] else {}
        entry |= {"calls": list(self.calls)} if self.calls else {}
        entry |= {"extends": list(self.record.extends)} if self.record.extends else {}
        return {**entry, "keys": keys}


def _table(framework: Framework) -> dict[str, object]:
    """All releases of a framework in one table."""
    merged: dict[str, _Merged] = {}
    versions = _versions(framework)
    for version in versions:
        records = framework.records(Package(_files(framework.package, version, framework.wanted)))
        for name, record in records.items():
            merged.setdefault(name, _Merged(record, version, version)).add(record, version)
    print(f"{framework.package}: {len(versions)} releases, {len(merged)} records", flush=True)
    return {
        "framework": framework.title,
        "package": framework.package,
        "generated_from": f"the releases of {framework.package} on the Python Package Index, parsed",
        "versions": versions,
        "by": "patch" if framework.every else "minor",
        "records": {name: merged[name].entry(versions) for name in sorted(merged)},
    }


def _text(table: Mapping[str, object]) -> str:
    """JSON with one name per line, so that a change of a release reads as such."""
    text = json.dumps(table, indent=1, ensure_ascii=True)
    inner = re.compile(r"\[\s+((?:\"(?:[^\"\\]|\\.)*\",?\s*)+)\]")
    return inner.sub(lambda found: "[" + re.sub(r",\n\s+", ", ", found[1].strip()) + "]", text) + "\n"


# Releases and their files


@cache
def _releases(package: str) -> dict[str, list[tuple[str, str, int]]]:
    """Version -> its files: name, address, size."""
    base = INDEX.format(package=package)
    with urllib.request.urlopen(base, timeout=120) as answer:
        releases = json.load(answer)["releases"]
    return {
        version: [
            (file["filename"], urllib.parse.urljoin(base, file["url"]), file["size"])
            for file in files
            if not file.get("yanked")
        ]
        for version, files in releases.items()
    }


def _versions(framework: Framework) -> list[str]:
    """The last release of each minor version from the first one wanted, and every n-th between."""
    numbers = {
        tuple(int(part) for part in version.split(".")): version
        for version, files in _releases(framework.package).items()
        if re.fullmatch(r"\d+(\.\d+)+", version) and files
    }
    kept: dict[tuple[int, ...], tuple[int, ...]] = {}
    for number in sorted(numbers):
        if number >= framework.since:
            block = number[2] // framework.every if framework.every and len(number) > 2 else 0
            kept[*number[:2], block] = number
    return [numbers[number] for number in kept.values()]


def _files(package: str, version: str, wanted: Callable[[str], bool]) -> dict[str, str]:
    """The wanted files of a release, from its smallest wheel or its source."""
    files = _releases(package)[version]
    wheels = sorted((file for file in files if file[0].endswith(".whl")), key=lambda file: file[2])
    if wheels:
        _, url, size = wheels[0]
        with zipfile.ZipFile(io.BufferedReader(_Remote(url, size), 1 << 18)) as archive:
            names = [name for name in archive.namelist() if wanted(name)]
            return {name: archive.read(name).decode("utf-8", "replace") for name in names}
    _, url, _ = next(file for file in files if file[0].endswith(".tar.gz"))
    with urllib.request.urlopen(url, timeout=300) as answer:
        content = io.BytesIO(answer.read())
    found: dict[str, str] = {}
    with tarfile.open(fileobj=content) as source:
        for member in source:
            name = member.name.partition("/")[2]
            stream = source.extractfile(member) if wanted(name) else None
            if stream is not None:
                found[name] = stream.read().decode("utf-8", "replace")
    return found


class _Remote(io.RawIOBase):
    """A file on a server, read in the ranges asked for: no wheel of torch is fetched for ten files."""

    def __init__(self, url: str, size: int) -> None:
        self.url, self.size, self.at = url, size, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.at

    def seek(self, offset: int, whence: int = 0) -> int:
        self.at = (0, self.at, self.size)[whence] + offset
        return self.at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        end = min(self.at + len(buffer), self.size)
        if end <= self.at:
            return 0
        request = urllib.request.Request(self.url, headers={"Range": f"bytes={self.at}-{end - 1}"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            content = answer.read()
        buffer[: len(content)] = content
        self.at += len(content)
        return len(content)


# What the source of a package says


@dataclass(slots=True)
class Package:
    """The parsed files of a release."""

    files: dict[str, str]
    trees: dict[str, ast.Module] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, text in self.files.items():
            if name.endswith(".py"):
                self.trees[name] = ast.parse(text)

    def classes(self, below: str = "", suffix: str = ".py") -> Iterator[tuple[str, ast.ClassDef]]:
        """The top-level classes of the files below a folder, each with its file."""
        for name, tree in self.trees.items():
            if name.startswith(below) and name.endswith(suffix):
                yield from ((name, node) for node in tree.body if isinstance(node, ast.ClassDef))

    def find(self, name: str, near: str = "") -> tuple[str, ast.ClassDef] | None:
        """The class of this name, in a given file rather than in another."""
        found = [(file, node) for file, node in self.classes() if node.name == name]
        return min(found, key=lambda one: (one[0] != near, len(one[0])), default=None)

    def lineage(self, file: str, node: ast.ClassDef) -> list[tuple[str, ast.ClassDef]]:
        """The class and its bases in the package, nearest first."""
        found, waiting = [(file, node)], [(file, node)]
        while waiting:
            home, current = waiting.pop(0)
            for base in current.bases:
                named = self.find(ast.unparse(base).rpartition(".")[2], home)
                if named is not None and named not in found:
                    found.append(named)
                    waiting.append(named)
        return found

    def fields(self, name: str, near: str = "") -> Keys:
        """The fields of a dataclass or model, those of its bases first; none where there is no such class."""
        start = self.find(name, near)
        keys: Keys = {}
        for _, node in reversed(self.lineage(*start)) if start else ():
            for statement in node.body:
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    keys.update(_field(statement.target.id, statement))
        return keys

    def parameters(self, file: str, node: ast.ClassDef) -> Keys:
        """What a constructor takes; where it hands its keywords up, what the next one takes too."""
        if _is_dataclass(node) and _method(node, "__init__") is None:
            return self.fields(node.name, file)
        keys: Keys = {}
        for _, ancestor in self.lineage(file, node):
            constructor = _method(ancestor, "__init__")
            if constructor is None:
                continue
            keys = {**_parameters(constructor), **keys}
            keys.update(dict.fromkeys(_old_names(constructor), ("", "")))
            if constructor.args.kwarg is None:
                return keys
            if not _hands_up(constructor):
                break
        return {**keys, ANY_NAME: ("", "")}

    def function(self, file: str, name: str) -> ast.FunctionDef | None:
        """The function of this name in a file."""
        body = self.trees[file].body if file in self.trees else []
        found = [node for node in body if isinstance(node, ast.FunctionDef) and node.name == name]
        return found[-1] if found else None


def _field(name: str, statement: ast.AnnAssign) -> Keys:
    """One field with the other names it has, where it is one that a constructor takes."""
    kind = ast.unparse(statement.annotation)
    if "ClassVar" in kind or name.startswith("model_config"):
        return {}
    value = statement.value
    default = "" if value is None else ast.unparse(value)
    if isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] in {"field", "Field"}:
        given = {keyword.arg: keyword.value for keyword in value.keywords}
        if "init" in given and ast.unparse(given["init"]) == "False":
            return {}
        factory = given.get("default_factory")
        plain = given.get("default") or (value.args[0] if value.args else None)
        default = f"{ast.unparse(factory)}()" if factory else ast.unparse(plain) if plain else ""
        alias = given.get("alias")
        if isinstance(alias, ast.Constant):
            return {name: _cut(kind, default), str(alias.value): _cut(kind, default)}
    return {name: _cut(kind, default)}


def _parameters(function: ast.FunctionDef) -> Keys:
    spec = function.args
    plain = [*spec.posonlyargs, *spec.args]
    defaults: list[ast.expr | None] = [*[None] * (len(plain) - len(spec.defaults)), *spec.defaults]
    pairs = [*zip(plain, defaults, strict=True), *zip(spec.kwonlyargs, spec.kw_defaults, strict=True)]
    return {
        arg.arg: _cut(
            ast.unparse(arg.annotation) if arg.annotation else "", ast.unparse(default) if default else ""
        )
        for arg, default in pairs
        if arg.arg not in {"self", "cls"}
    }


def _old_names(function: ast.FunctionDef) -> Iterator[str]:
    """Names that a decorator still takes: `@deprecate_kwarg("tokenizer", ...)`, `deprecated_args=[...]`."""
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and "deprecate" in ast.unparse(decorator.func):
            for node in ast.walk(decorator):
                if (
                    isinstance(node, ast.Constant)
                    and isinstance(node.value, str)
                    and node.value.isidentifier()
                ):
                    yield node.value


def _hands_up(constructor: ast.FunctionDef) -> bool:
    """Whether `**kwargs` goes to the constructor of the base class, and to nothing else."""
    assert constructor.args.kwarg is not None
    name = constructor.args.kwarg.arg
    uses = [node for node in ast.walk(constructor) if isinstance(node, ast.Name) and node.id == name]
    calls = [
        node
        for node in ast.walk(constructor)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith("__init__")
        and any(keyword.arg is None and ast.unparse(keyword.value) == name for keyword in node.keywords)
    ]
    return len(uses) == len(calls) == 1


def _method(node: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    found = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == name]
    return found[-1] if found else None


def _is_dataclass(node: ast.ClassDef) -> bool:
    return any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)


def _cut(kind: str, default: str) -> tuple[str, str]:
    shown = [" ".join(text.split()) for text in (kind, default)]
    kind, default = (text if len(text) <= LONGEST else text[: LONGEST - 3] + "..." for text in shown)
    return kind, default


def _texts(tree: ast.AST) -> set[str]:
    return {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def _names_asked_for(tree: ast.AST) -> set[str]:
    """Every text that is looked up in a mapping: x["name"], x.get("name"), "name" in x, x.pop("name")."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            found |= _texts(node.slice)
        elif isinstance(node, ast.Compare):
            found |= _texts(node.left)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Attribute):
            found |= _texts(node.args[0]) if node.func.attr in {"get", "pop", "setdefault"} else set()
    return {name for name in found if name.isidentifier()}


def _constants(tree: ast.Module, start: str = "") -> set[str]:
    """The texts of NAME = "text" at the top of a module, where NAME begins so and is no default."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            for target in node.targets:
                if (
                    isinstance(target, ast.Name)
                    and target.id.startswith(start)
                    and "DEFAULT" not in target.id
                ):
                    found.add(str(node.value.value))
    return {name for name in found if re.fullmatch(r"[a-z][a-z0-9_]+", name)}


def _of_constructors(
    package: Package, places: Iterable[str], prefixes: Callable[[str, str], Iterable[str]]
) -> dict[str, Record]:
    """A record for each public class in some files; `prefixes` says what it is called by."""
    records = {}
    for place in places:
        for file, node in package.classes(place):
            if not node.name.startswith("_"):
                calls = tuple(prefixes(_module(file), node.name))
                records[calls[0]] = Record(package.parameters(file, node), calls=calls)
    return records


def _module(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _plain(names: Iterable[str]) -> Keys:
    return dict.fromkeys(sorted(names), ("", ""))


# The frameworks


def _torch(package: Package) -> dict[str, Record]:
    def public(module: str, name: str) -> tuple[str, ...]:
        home = re.sub(r"^(torch\.optim)\.(?!lr_scheduler|swa_utils)\w+$", r"\1", module)
        home = re.sub(r"^(torch\.nn)\.modules\.loss$", r"\1", home)
        home = re.sub(r"^(torch\.nn\.parallel)\.distributed$", r"\1", home)
        home = re.sub(r"^(torch(?:\.cuda)?\.amp)\.\w+$", r"\1", home)
        home = re.sub(r"^(torch\.utils\.data)\.(?:dataloader|distributed|sampler)$", r"\1", home)
        return tuple(dict.fromkeys((f"{home}.{name}", f"{module}.{name}")))

    records = _of_constructors(package, _TORCH_FILES, public)
    for module, name in (
        ("torch.nn.utils.clip_grad", "clip_grad_norm_"),
        ("torch.nn.utils.clip_grad", "clip_grad_value_"),
    ):
        function = package.function(f"{module.replace('.', '/')}.py", name)
        if function is not None:
            records[f"torch.nn.utils.{name}"] = Record(
                _parameters(function), calls=(f"torch.nn.utils.{name}", f"{module}.{name}")
            )
    for short, home in (
        ("torch.autocast", "torch.amp.autocast"),
        ("torch.nn.DistributedDataParallel", "torch.nn.parallel.DistributedDataParallel"),
    ):
        if home in records:
            records[home] = Record(records[home].keys, calls=(*records[home].calls, short))
    return {name: record for name, record in records.items() if not _NO_TORCH_SETTING.search(name)}


_NO_TORCH_SETTING = re.compile(r"\.(?:Optimizer|LRScheduler|Sampler|OptState)$|_multi_tensor|Protocol")
_TORCH_FILES = (
    *("torch/optim/", "torch/nn/modules/loss.py", "torch/nn/parallel/distributed.py"),
    *("torch/utils/data/dataloader.py", "torch/utils/data/distributed.py", "torch/utils/data/sampler.py"),
    *("torch/amp/grad_scaler.py", "torch/amp/autocast_mode.py"),
    *("torch/cuda/amp/grad_scaler.py", "torch/cuda/amp/autocast_mode.py"),
)


def _transformers(package: Package) -> dict[str, Record]:
    records = {}
    for name in ("TrainingArguments", "Seq2SeqTrainingArguments"):
        module = "training_args_seq2seq" if name.startswith("Seq2Seq") else "training_args"
        calls = (f"transformers.{name}", f"transformers.{module}.{name}")
        records[f"transformers.{name}"] = Record(package.fields(name), calls=calls)
    for name, module in _TRANSFORMERS_CLASSES.items():
        found = package.find(name)
        if found is not None:
            calls = (f"transformers.{name}", f"transformers.{module}.{name}")
            records[f"transformers.{name}"] = Record(package.parameters(*found), calls=calls)
    return records


_TRANSFORMERS_CLASSES = {
    "Trainer": "trainer",
    "Seq2SeqTrainer": "trainer_seq2seq",
    "EarlyStoppingCallback": "trainer_callback",
    "DataCollatorForLanguageModeling": "data.data_collator",
    "DataCollatorForSeq2Seq": "data.data_collator",
    "DataCollatorWithPadding": "data.data_collator",
    "DataCollatorForTokenClassification": "data.data_collator",
}


def _trl(package: Package) -> dict[str, Record]:
    records = {}
    for file, node in package.classes("trl/"):
        called = (f"trl.{node.name}", f"{_module(file)}.{node.name}")
        ancestors = {ast.unparse(base) for _, one in package.lineage(file, node) for base in one.bases}
        if re.fullmatch(r"[A-Z]\w*(?:Config|Arguments)", node.name) and _is_dataclass(node):
            above = sorted(ancestors & {"TrainingArguments", "Seq2SeqTrainingArguments"})
            extends = tuple(f"transformers.{name}" for name in above)
            if len(ancestors - {"TrainingArguments", "object", "OnPolicyConfig", "_BaseConfig"}) <= 1:
                records[called[0]] = Record(package.fields(node.name, file), calls=called, extends=extends)
        elif re.fullmatch(r"(?:SFT|DPO|GRPO|Reward|KTO|ORPO|RLOO)Trainer", node.name):
            records[called[0]] = Record(package.parameters(file, node), calls=called)
    return records


def _lightning(package: Package) -> dict[str, Record]:
    def public(module: str, name: str) -> tuple[str, ...]:
        inner = module.removeprefix("pytorch_lightning")
        short = re.sub(r"^\.(callbacks|loggers|trainer)\..+$", r".\1", inner).replace(".trainer", "")
        homes = ("pytorch_lightning", "lightning.pytorch")
        calls = [f"{home}{part}.{name}" for home in homes for part in (short, inner)]
        return tuple(dict.fromkeys([*calls, *([f"lightning.{name}"] if not short else [])]))

    places = (
        "pytorch_lightning/trainer/trainer.py",
        "pytorch_lightning/callbacks/",
        "pytorch_lightning/loggers/",
    )
    return _of_constructors(package, places, public)


def _accelerate(package: Package) -> dict[str, Record]:
    records = {}
    found = package.find("Accelerator", "accelerate/accelerator.py")
    assert found is not None
    calls = ("accelerate.Accelerator", "accelerate.accelerator.Accelerator")
    records["accelerate.Accelerator"] = Record(package.parameters(*found), calls=calls)
    for file, node in package.classes("accelerate/utils/dataclasses.py"):
        if _is_dataclass(node):
            called = (
                f"accelerate.utils.{node.name}",
                f"accelerate.{node.name}",
                f"{_module(file)}.{node.name}",
            )
            records[called[0]] = Record(package.parameters(file, node), calls=called)
    config = (
        package.fields("ClusterConfig")
        | package.fields("SageMakerConfig")
        | _plain(["fp16", "dynamo_backend"])
    )
    records["config file"] = Record(config)
    launcher = package.trees["accelerate/commands/launch.py"]
    flags = {text[2:] for text in _texts(launcher) if re.fullmatch(r"--\w+", text)}
    asked = _names_asked_for(package.trees["accelerate/commands/config/cluster.py"])
    for section, start in (
        ("fsdp_config", "fsdp_"),
        ("deepspeed_config", ""),
        ("megatron_lm_config", "megatron_lm_"),
    ):
        names = {name for name in flags | asked if name.startswith(start)}
        known = names | {name.removeprefix(start) for name in names}
        records[f"config file: {section}"] = Record(_plain(known), unknown="ignored")
    return records


def _deepspeed(package: Package) -> dict[str, Record]:
    trees = package.trees
    top: set[str] = set()
    for name, tree in trees.items():
        if name.endswith(("constants.py", "config.py")):
            top |= _constants(tree) | _names_asked_for(tree)
    records = {"config file": Record(_plain(top), unknown="ignored")}
    for section, name in _DEEPSPEED_MODELS.items():
        keys = package.fields(name)
        if keys:
            records[f"config file: {section}"] = Record(keys)
    for section, (file, start) in _DEEPSPEED_CONSTANTS.items():
        constants = _plain(_constants(trees[file], start)) if file in trees else {}
        if constants and f"config file: {section}" not in records:
            records[f"config file: {section}"] = Record(constants, unknown="ignored")
    for file, node in package.classes("deepspeed/runtime/lr_schedules.py"):
        if _method(node, "__init__") is not None:
            records[f"scheduler {node.name}"] = Record(package.parameters(file, node))
    adam: Keys = _plain(
        ["torch_adam", "adam_w_mode", "max_grad_norm", "amsgrad", "foreach", "maximize", "capturable"]
    )
    for name in ("FusedAdam", "DeepSpeedCPUAdam"):
        found = package.find(name)
        adam |= package.parameters(*found) if found else {}
    records["optimizer Adam"] = records["optimizer AdamW"] = Record(adam)
    return records


_DEEPSPEED_MODELS = {
    "zero_optimization": "DeepSpeedZeroConfig",
    "zero_optimization.offload_param": "DeepSpeedZeroOffloadParamConfig",
    "zero_optimization.offload_optimizer": "DeepSpeedZeroOffloadOptimizerConfig",
    "fp16": "DeepSpeedFP16Config",
    "bf16": "DeepSpeedBF16Config",
    "tensorboard": "TensorBoardConfig",
    "wandb": "WandbConfig",
    "csv_monitor": "CSVConfig",
    "comet": "CometConfig",
    "hybrid_engine": "HybridEngineConfig",
    "comms_logger": "CommsLoggerConfig",
}
_DEEPSPEED_CONSTANTS = {
    "fp16": ("deepspeed/runtime/constants.py", "FP16_"),
    "bf16": ("deepspeed/runtime/constants.py", "BFLOAT16_"),
    "activation_checkpointing": ("deepspeed/runtime/activation_checkpointing/config.py", "ACT_CHKPT_"),
    "flops_profiler": ("deepspeed/profiling/constants.py", "FLOPS_PROFILER_"),
    "aio": ("deepspeed/runtime/swap_tensor/constants.py", "AIO_"),
}


def _torchtitan(package: Package) -> dict[str, Record]:
    start = package.find("JobConfig")
    if start is None:  # later versions are set up in Python only
        return {}
    records: dict[str, Record] = {}
    waiting = [("", start)]
    while waiting:
        section, (file, node) = waiting.pop()
        keys = package.fields(node.name, file)
        records[f"config file: {section}" if section else "config file"] = Record(keys)
        for name, (kind, _) in keys.items():
            inner = package.find(kind, file)
            if inner is not None:
                waiting.append((f"{section}.{name}".strip("."), inner))
    return records


def _ultralytics(package: Package) -> dict[str, Record]:
    name = next(name for name in package.files if name.endswith("default.yaml"))
    keys: Keys = {}
    for key, value in yaml.safe_load(package.files[name]).items():
        kind = re.search(rf"^{key}:.*?# \(([^)]*)\)", package.files[name], re.MULTILINE)
        keys[key] = _cut(kind[1] if kind else "", "" if value is None else repr(value))
    for tree in package.trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name in {
                "_handle_deprecation",
                "check_dict_alignment",
            }:
                old = _names_asked_for(node) | {
                    text
                    for part in ast.walk(node)
                    if isinstance(part, ast.Dict | ast.Set | ast.Tuple)
                    for text in _texts(part)
                }
                old -= {"none", "true", "false"}
                keys.update(
                    {n: ("", "deprecated") for n in sorted(old) if n.isidentifier() and n not in keys}
                )
    records = {"arguments": Record(keys)}
    for method, own in (("train", "trainer"), ("val", "validator")):
        calls = tuple(f"ultralytics.{model}().{method}" for model in ("YOLO", "RTDETR"))
        records[calls[0]] = Record(keys | _plain([own]), calls=calls)
    return records


def _mmengine(package: Package) -> dict[str, Record]:
    def public(module: str, name: str) -> tuple[str, ...]:
        parts = module.split(".")
        return tuple(dict.fromkeys((f"{'.'.join(parts[:2])}.{name}", f"{module}.{name}")))

    places = (
        *("mmengine/runner/loops.py", "mmengine/runner/runner.py", "mmengine/runner/amp.py"),
        *(
            "mmengine/optim/optimizer/",
            "mmengine/optim/scheduler/",
            "mmengine/hooks/",
            "mmengine/model/averaged_model.py",
        ),
        *("mmengine/visualization/visualizer.py", "mmengine/runner/log_processor.py"),
    )
    records = _of_constructors(package, places, public)
    scheduled = _plain(["convert_to_iter_based"])  # taken out before the scheduler is built
    return {
        name: Record(record.keys | scheduled if ".optim." in name else record.keys, calls=record.calls)
        for name, record in records.items()
    }


def _basicsr(package: Package) -> dict[str, Record]:
    asked: set[str] = set()
    for tree in package.trees.values():
        asked |= _names_asked_for(tree)
    # Keys that are put together from parts: pretrain_network_g, param_key_g, optim_g, network_g.
    letters = ("g", "d", "d_l", "l")
    joined = {
        f"{start}_{x}"
        for start in ("pretrain_network", "param_key", "strict_load", "optim", "network")
        for x in letters
    }
    records = {"config file": Record(_plain(asked | joined), unknown="ignored")}
    for place in ("basicsr/losses/", "basicsr/archs/"):
        for file, node in package.classes(place):
            if node.decorator_list and _method(node, "__init__") is not None:
                records[f"type {node.name}"] = Record(package.parameters(file, node))
    return records


def _ends(*endings: str) -> Callable[[str], bool]:
    return lambda name: name.endswith(endings)


FRAMEWORKS = {
    "torch": Framework(
        "PyTorch",
        "torch",
        (1, 6),
        lambda n: n.startswith((*_TORCH_FILES, "torch/nn/utils/clip_grad.py")) and n.endswith(".py"),
        _torch,
    ),
    "transformers": Framework(
        "Transformers",
        "transformers",
        (3, 0),
        _ends(
            *(
                "transformers/training_args.py",
                "transformers/training_args_seq2seq.py",
                "transformers/trainer.py",
            ),
            *("transformers/trainer_seq2seq.py", "transformers/trainer_callback.py", "data/data_collator.py"),
        ),
        _transformers,
    ),
    "trl": Framework(
        "TRL",
        "trl",
        (0, 4),
        lambda n: (
            n.startswith(("trl/trainer/", "trl/scripts/utils.py", "trl/commands/")) and n.endswith(".py")
        ),
        _trl,
    ),
    "lightning": Framework(
        "Lightning",
        "pytorch-lightning",
        (0, 9),
        lambda n: (
            n.startswith(
                ("pytorch_lightning/trainer/", "pytorch_lightning/callbacks/", "pytorch_lightning/loggers/")
            )
            and n.endswith(".py")
        ),
        _lightning,
    ),
    "accelerate": Framework(
        "Accelerate",
        "accelerate",
        (0, 3),
        lambda n: (
            n.endswith(("accelerate/accelerator.py", "utils/dataclasses.py", "commands/launch.py"))
            or "commands/config/" in n
        ),
        _accelerate,
    ),
    "deepspeed": Framework(
        "DeepSpeed",
        "deepspeed",
        (0, 6),
        lambda n: (
            n.startswith("deepspeed/")
            and not n.startswith("deepspeed/inference/")
            and n.endswith(("config.py", "constants.py", "lr_schedules.py", "fused_adam.py", "cpu_adam.py"))
        ),
        _deepspeed,
    ),
    "torchtitan": Framework(
        "torchtitan",
        "torchtitan",
        (0, 1),
        _ends("torchtitan/config/job_config.py", "torchtitan/config_manager.py"),
        _torchtitan,
        every=1,
    ),
    "ultralytics": Framework(
        "Ultralytics",
        "ultralytics",
        (8, 0, 20),
        lambda n: n.endswith(("/cfg/default.yaml", "ultralytics/cfg/__init__.py")),
        _ultralytics,
        every=15,
    ),
    "mmengine": Framework(
        "MMEngine", "mmengine", (0, 1), lambda n: n.startswith("mmengine/") and n.endswith(".py"), _mmengine
    ),
    "basicsr": Framework(
        "BasicSR", "basicsr", (1, 3, 5), lambda n: n.startswith("basicsr/") and n.endswith(".py"), _basicsr
    ),
}


if __name__ == "__main__":
    main(sys.argv[1:])
