"""The names that a framework's releases take, as `scripts/write_schemas.py` read them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path

TABLES = Path(__file__).parent / "tables"
ANY_NAME = "**"  # a record that has this name takes every name

Version = tuple[int, ...]


class Standing(StrEnum):
    """What a release makes of a name."""

    KNOWN = "known"
    LATER = "later"  # a later release takes it
    GONE = "gone"  # an earlier release took it
    NEVER = "never"  # no release takes it


@dataclass(frozen=True, slots=True)
class Name:
    """A name that is taken: its type and default as written, and the first and last release that has it.

    An empty `since` is the first release of the table, an empty `until` the last.
    """

    kind: str = ""
    default: str = ""
    since: str = ""
    until: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """Names that are taken together: by a constructor, a class of options, or a section of a settings file.

    `refuses` says that another name stops the run; else it is dropped without a word. `extends` are records
    of other frameworks whose names it takes as well.
    """

    title: str
    table: Table
    names: Mapping[str, Name]
    refuses: bool = True
    calls: tuple[str, ...] = ()
    extends: tuple[str, ...] = ()

    def lineage(self) -> Iterator[Record]:
        """The record and those it extends."""
        yield self
        for name in self.extends:
            above = called(name)
            if above is not None:
                yield from above.lineage()

    def taken(self, versions: Mapping[str, Version]) -> Iterator[str]:
        """Every name that is taken, in the releases given or else the newest ones."""
        for record in self.lineage():
            version = versions.get(record.table.package)
            for name, entry in record.names.items():
                if name != ANY_NAME and record.table.standing(entry, version) is Standing.KNOWN:
                    yield name

    def entry(self, name: str) -> tuple[Record, Name] | None:
        """A name's entry, and the record that has it: this one, or one that it extends."""
        found = ((record, record.names[name]) for record in self.lineage() if name in record.names)
        return next(found, None)

    def standing(self, name: str, versions: Mapping[str, Version]) -> Standing:
        """What the releases given, or else the newest ones, make of a name."""
        standings = {
            record.table.standing(record.names[wanted], versions.get(record.table.package))
            for record in self.lineage()
            for wanted in (name, ANY_NAME)
            if wanted in record.names
        }
        order = (Standing.KNOWN, Standing.GONE, Standing.LATER)
        return next((one for one in order if one in standings), Standing.NEVER)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A framework's records over its releases.

    `renamed` says what a former name is called, and what people mean who write a name that it never had.
    `changes` are for a framework that is used from checkouts: its versions are days, each with its change.
    """

    framework: str
    package: str
    versions: tuple[str, ...]
    by_minor: bool = True
    records: dict[str, Record] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    changes: Mapping[str, str] = field(default_factory=dict)

    @property
    def newest(self) -> str:
        """The last release of the table."""
        return self.versions[-1]

    def standing(self, entry: Name, version: Version | None) -> Standing:
        """What a release makes of a name that some release takes; the newest where none is given."""
        low, high = self._around(version)
        if entry.until and self.versions.index(entry.until) < low:
            return Standing.GONE
        if entry.since and self.versions.index(entry.since) > high:
            return Standing.LATER
        return Standing.KNOWN

    def after(self, release: str) -> str:
        """The release that follows one, as people name it."""
        return self.spoken(self.versions[self.versions.index(release) + 1])

    def spoken(self, release: str) -> str:
        """A release as people name it: where only minor versions were told apart, without the patch."""
        return ".".join(release.split(".")[:2]) if self.by_minor else release

    def _around(self, version: Version | None) -> tuple[int, int]:
        """The releases of the table just below and just above a version, as places in its list."""
        last = len(self.versions) - 1
        if version is None:
            return last, last
        numbers = [number(release) for release in self.versions]
        if self.by_minor:
            same = [i for i, one in enumerate(numbers) if one[:2] == version[:2]]
            if same:
                return same[0], same[-1]
        below = [i for i, one in enumerate(numbers) if one <= version]
        above = [i for i, one in enumerate(numbers) if one >= version]
        return below[-1] if below else 0, above[0] if above else last


def number(text: str) -> Version:
    """A version as numbers, for comparing: 4.46.3 or 2026-02-18."""
    return tuple(int(part) for part in re.findall(r"\d+", text)[:4])


@cache
def table(name: str) -> Table:
    """The table of this name."""
    content = json.loads((TABLES / f"{name}.json").read_text(encoding="utf-8"))
    made = Table(
        content["framework"],
        content["package"],
        tuple(content["versions"]),
        content["by"] == "minor",
        renamed=RENAMED.get(name, {}),
    )
    for title, entry in content["records"].items():
        names = {key: Name(*about) for key, about in entry["keys"].items()}
        calls, extends = tuple(entry.get("calls", ())), tuple(entry.get("extends", ()))
        made.records[title] = Record(title, made, names, entry["unknown"] == "refused", calls, extends)
    return made


def called(name: str) -> Record | None:
    """The record of the class or function that source code knows by this dotted name."""
    home = name.partition(".")[0]
    return _by_call(_HOMES[home]).get(name) if home in _HOMES else None


@cache
def _by_call(name: str) -> dict[str, Record]:
    return {call: record for record in table(name).records.values() for call in record.calls}


_HOMES = {
    "torch": "torch",
    "transformers": "transformers",
    "trl": "trl",
    "pytorch_lightning": "lightning",
    "lightning": "lightning",
    "accelerate": "accelerate",
    "mmengine": "mmengine",
    "ultralytics": "ultralytics",
}

# What a name that the newest release has not is called there, or what people mean by it. A test holds these
# to the tables: the right side is taken by the newest release.
RENAMED: dict[str, dict[str, str]] = {
    "transformers": {
        "evaluation_strategy": "eval_strategy",
        "no_cuda": "use_cpu",
        "batch_size": "per_device_train_batch_size",
        "train_batch_size": "per_device_train_batch_size",
        "eval_batch_size": "per_device_eval_batch_size",
        "per_gpu_train_batch_size": "per_device_train_batch_size",
        "per_gpu_eval_batch_size": "per_device_eval_batch_size",
        "epochs": "num_train_epochs",
        "num_epochs": "num_train_epochs",
        "max_epochs": "num_train_epochs",
        "lr": "learning_rate",
        "lr_scheduler": "lr_scheduler_type",
        "clip_grad_norm": "max_grad_norm",
        "gradient_clipping": "max_grad_norm",
        "grad_clip": "max_grad_norm",
        "accumulation_steps": "gradient_accumulation_steps",
        "grad_accum_steps": "gradient_accumulation_steps",
        "tokenizer": "processing_class",
    },
    "lightning": {
        "epochs": "max_epochs",
        "num_epochs": "max_epochs",
        "gpus": "devices",
        "num_gpus": "devices",
        "grad_clip": "gradient_clip_val",
        "gradient_clip": "gradient_clip_val",
        "clip_grad_norm": "gradient_clip_val",
        "max_grad_norm": "gradient_clip_val",
        "accumulation_steps": "accumulate_grad_batches",
        "gradient_accumulation_steps": "accumulate_grad_batches",
        "checkpoint_callback": "enable_checkpointing",
        "progress_bar": "enable_progress_bar",
        "weights_summary": "enable_model_summary",
        "distributed_backend": "strategy",
    },
    "torch": {
        "learning_rate": "lr",
        "wd": "weight_decay",
        "epsilon": "eps",
        "tmax": "T_max",
        "workers": "num_workers",
        "batchsize": "batch_size",
        "clip_value_max": "clip_value",
    },
    "ultralytics": {
        "lr": "lr0",
        "learning_rate": "lr0",
        "batch_size": "batch",
        "img_size": "imgsz",
        "image_size": "imgsz",
        "num_epochs": "epochs",
        "num_workers": "workers",
        "cosine_lr": "cos_lr",
    },
    "accelerate": {
        "grad_accum_steps": "gradient_accumulation_steps",
        "accumulation_steps": "gradient_accumulation_steps",
        "fp16": "mixed_precision",
        "logging_dir": "project_dir",
    },
    "deepspeed": {
        "micro_batch_size_per_gpu": "train_micro_batch_size_per_gpu",
        "train_micro_batch_size": "train_micro_batch_size_per_gpu",
        "max_grad_norm": "gradient_clipping",
        "clip_grad": "gradient_clipping",
    },
    "trl": {"max_seq_length": "max_length"},
}
