"""Paths that are the first of the files a program finds, in the order of their names or of their age."""

from __future__ import annotations

import ast
import re

from stethoscope.program.likenesses import words
from stethoscope.program.walk.ancestry import ancestry
from stethoscope.program.walk.events import Call, Event
from stethoscope.program.walk.trace import Trace
from stethoscope.program.walk.values import Applied, Constant, LambdaValue, Part, Value

LISTING = frozenset({"glob", "iglob", "rglob", "iterdir", "listdir", "scandir"})
OF_AGE = ("getmtime", "getctime")
# Names that begin with how good the weights are, or in which the first is meant to be the best.
_RANKED = re.compile(r"best|loss|err|ppl|score|rank|top|nll|bpb|rmse|mae|fid|wer")


def first_of_files(trace: Trace, path: Value) -> bool:
    """Whether a path is taken as the first of several files."""
    match path:
        case Part(base=found, key=0):
            orders = [event for event in trace.events if _puts_in_order(event, found)]
            is_first = bool(orders) and all(map(_is_rising, orders))
        case Applied(callee="min", args=(found,), keywords=keywords):
            is_first = _is_by_age(keywords.get("key"))
        case _:
            return False
    made = list(ancestry(trace.run, found))
    listed = [one for one in made if isinstance(one, Applied) and one.callee.rpartition(".")[2] in LISTING]
    texts = [one.value for one in made if isinstance(one, Constant) and isinstance(one.value, str)]
    is_ranked = any(_RANKED.search(word) for text in texts for word in words(re.sub(r"\W+", "_", text)))
    return is_first and bool(listed) and not is_ranked


def _puts_in_order(event: Event, files: Value) -> bool:
    """`sorted(files)`, which the walk takes for the files themselves, and `files.sort()`."""
    if not isinstance(event, Call):
        return False
    if event.name == "sorted":
        return any(one is files for one in event.args[:1])
    return event.name in {"sort", "reverse", "shuffle"} and event.receiver is files


def _is_rising(event: Event) -> bool:
    if not isinstance(event, Call) or event.name not in {"sorted", "sort"}:
        return False
    return "reverse" not in event.keywords and _is_by_age(event.keywords.get("key"))


def _is_by_age(key: Value | None) -> bool:
    """Whether files are in the order of their names or of their age, and not turned round."""
    if key is None:
        return True
    if isinstance(key, LambdaValue):
        text = ast.unparse(key.node.body)
        return ("mtime" in text or "ctime" in text or "int(" in text) and "-" not in text
    return getattr(key, "name", "").endswith(OF_AGE)
