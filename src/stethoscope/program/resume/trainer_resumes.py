"""Trainers that are started without the checkpoint that the command line names.

`--resume_from_checkpoint` is an argument of transformers.TrainingArguments that the Trainer does not read:
the script hands it to `train`. A script that parses the arguments and does not, starts anew.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.program.index import Index
from stethoscope.program.syntax import all_nodes
from stethoscope.program.walk.calls import bare_name
from stethoscope.program.walk.entries import is_test
from stethoscope.program.walk.framework_bases import holds_arguments
from stethoscope.program.walk.parsed_records import PARSERS
from stethoscope.program.walk.trainers_made import trainers_made
from stethoscope.program.walk.values import Site

OPTION = "resume_from_checkpoint"
# What shows that a run's checkpoints are meant to be used again.
KEEPING = frozenset({"save_total_limit", "save_steps", "save_strategy", "load_best_model_at_end", OPTION})


@dataclass(frozen=True, slots=True, eq=False)
class UntoldStart:
    """A call of `train` that is not told of the checkpoint, and whether the settings ask for a resume."""

    site: Site
    is_asked: bool


def untold_starts(index: Index, written: frozenset[str]) -> Iterator[UntoldStart]:
    """The calls of `train` that should be told of the checkpoint; `written` are the names in settings."""
    if not written & KEEPING or _is_spoken_of(index) or not _parses_arguments(index):
        return
    for made in trainers_made(index):
        own = index.method(made.cls, "train") if made.cls is not None else None
        for call in made.starts if own is None else ():
            if not call.args and not call.keywords:
                yield UntoldStart(Site(made.source, call), OPTION in written)


def _is_spoken_of(index: Index) -> bool:
    words = (OPTION, "get_last_checkpoint", "last_checkpoint")
    return any(word in source.text for source in index.program for word in words)


def _parses_arguments(index: Index) -> bool:
    """Whether the command line is parsed into the arguments of a trainer."""
    for source in index.program:
        if is_test(source) or not any(parser in source.text for parser in PARSERS):
            continue
        for node in all_nodes(source.tree):
            if isinstance(node, ast.Call) and bare_name(node) in PARSERS:
                given = (*node.args, *(keyword.value for keyword in node.keywords))
                names = (ast.unparse(one) for one in given)
                if any(holds_arguments(word) for name in names for word in _words(name)):
                    return True
    return False


def _words(text: str) -> list[str]:
    return (
        text.replace("(", " ").replace(")", " ").replace(",", " ").replace("[", " ").replace("]", " ").split()
    )
