"""Transformers and TRL: a flat file of training arguments, as HfArgumentParser and TrlParser read it.

Such a file mostly holds arguments of the script too, so that by itself it is held to the spelling alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from stethoscope.recipe.schemas._sections import Held, Sections, share
from stethoscope.recipe.schemas._table import Record, table

FRAMEWORK = "Transformers"
PACKAGES = ("transformers", "trl")

FEWEST = 4  # names that only training arguments have, of which a section must have so many
SHARE = 0.8  # of a section's names that must be known to Transformers or TRL
_TELLING = frozenset(
    {
        *("per_device_train_batch_size", "per_device_eval_batch_size", "gradient_accumulation_steps"),
        *("num_train_epochs", "eval_strategy", "evaluation_strategy", "save_strategy", "logging_strategy"),
        *("lr_scheduler_type", "save_total_limit", "load_best_model_at_end", "metric_for_best_model"),
        *("report_to", "remove_unused_columns", "dataloader_num_workers", "gradient_checkpointing"),
        *("logging_steps", "save_steps", "eval_steps", "warmup_ratio", "max_grad_norm", "output_dir"),
    }
)
_MANY_USE = frozenset(
    {"logging_steps", "save_steps", "eval_steps", "warmup_ratio", "max_grad_norm", "output_dir"}
)


def held(parted: Sections) -> Iterator[Held]:
    """The file or a section of it, where nearly every name is an argument."""
    for path in ((), *parted.below()):
        names = parted.names(*path)
        if len(names & _TELLING) < FEWEST or len(names & (_TELLING - _MANY_USE)) < FEWEST - 1:
            continue
        best = max(_records(), key=lambda record: len(names.intersection(_names(record))))
        if share(names, _anywhere()) >= SHARE:
            yield Held(path, best, _anywhere(), mixed=True)


@cache
def _records() -> tuple[Record, ...]:
    """The classes of arguments, the plainest first: it wins where it knows as much as another."""
    plain = table("transformers").records
    trl = [record for record in table("trl").records.values() if record.extends]
    return (plain["transformers.TrainingArguments"], plain["transformers.Seq2SeqTrainingArguments"], *trl)


@cache
def _names(record: Record) -> frozenset[str]:
    return frozenset(name for one in record.lineage() for name in one.names)


@cache
def _anywhere() -> frozenset[str]:
    """Every name of any class that the parsers of these frameworks are given."""
    others = [record for record in table("trl").records.values() if not record.title.endswith("Trainer")]
    return frozenset(name for record in (*_records(), *others) for name in _names(record))
