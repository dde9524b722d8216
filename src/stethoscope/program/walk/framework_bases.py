"""What the trainers of frameworks keep of the arguments that their constructors get.

A class that is derived from Hugging Face's Trainer reads `self.model`, `self.args` or `self.train_dataset`
without having assigned them: its base did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stethoscope.program.index import Class, Index
from stethoscope.program.walk.values import Applied, Constant, Items, Value

# The arguments of transformers.Trainer in their order; each is kept under its own name.
TRAINER_ARGUMENTS = (
    *("model", "args", "data_collator", "train_dataset", "eval_dataset", "processing_class", "model_init"),
    *("compute_loss_func", "compute_metrics", "callbacks", "optimizers"),
)
# Those of trl's trainers stand in other places, and are given by name.
TRAINERS = frozenset({"Trainer", "Seq2SeqTrainer"})
TRAINERS_BY_NAME = frozenset(
    {"SFTTrainer", "DPOTrainer", "GRPOTrainer", "RewardTrainer", "KTOTrainer", "ORPOTrainer"}
)
# What keeps whatever it is given under its name.
NAMESPACES = frozenset({"types.SimpleNamespace", "argparse.Namespace"})
# Classes of the arguments of such trainers, which keep each under its name.
ARGUMENTS = ("TrainingArguments", "SFTConfig", "DPOConfig", "GRPOConfig", "RewardConfig", "KTOConfig")


def holds_arguments(callee: str) -> bool:
    """Whether an outside class keeps the arguments of a trainer: `TrainingArguments(learning_rate=1e-4)`."""
    return callee.endswith(ARGUMENTS)


def kept_argument(made: Applied, name: str) -> Value | None:
    """What an object of an outside class keeps of its arguments: `loader.dataset`, `subset.dataset`."""
    if holds_arguments(made.callee):
        return made.keywords.get(name)
    if made.callee in NAMESPACES:
        kept = made.keywords.get(name)
        return None if isinstance(kept, Constant) else kept  # a count goes on, a switch may be turned
    if name != "dataset" or made.callee.rpartition(".")[2] not in {"DataLoader", "Subset"}:
        return None
    return made.keywords.get(name) or next(iter(made.args), None)


def is_trainer(index: Index, cls: Class) -> bool:
    """Whether a class is derived from a trainer of Hugging Face's kind."""
    bases = {base.rpartition(".")[2] for base in index.outside_bases(cls)}
    return bool(bases & (TRAINERS | TRAINERS_BY_NAME))


def given_to_base(
    index: Index, cls: Class, args: Sequence[Value], keywords: Mapping[str, Value]
) -> dict[str, Value]:
    """The attributes that a trainer from outside makes of what it is constructed with."""
    bases = {base.rpartition(".")[2] for base in index.outside_bases(cls)}
    if not bases & (TRAINERS | TRAINERS_BY_NAME):
        return {}
    places = TRAINER_ARGUMENTS if bases & TRAINERS else ()
    given = dict(zip(places, args, strict=False))
    given.update({name: keywords[name] for name in TRAINER_ARGUMENTS if name in keywords})
    pair = given.pop("optimizers", None)
    if isinstance(pair, Items) and len(pair.items) == 2:
        given["optimizer"], given["lr_scheduler"] = pair.items
    return given
