"""Options that a shell script writes behind the words that it passes on: `train.py "$@" --lr 1e-3`.

Of an option that stands twice on a command line the last one counts, so that whoever starts the script and
types `--lr 3e-4` is not heard.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from stethoscope.run import Where

_SCRIPT = re.compile(r"(?:\S+\.py|\s-m\s+[\w.]+)(?=[\s\"'])")
_PASSED = re.compile(r"[\"']?\$(?:@|\*|\{[@*]\})[\"']?")
_FLAG = re.compile(r"(?<=\s)--(?P<name>[A-Za-z][\w-]*)(?:=|[ \t]+)(?P<value>[\w.+-]+)(?=\s|$)")
_ENDS = re.compile(r"[|;&\n]|\d?>")


@dataclass(frozen=True, slots=True)
class FixedOption:
    """An option with a written value, and the line it stands on."""

    name: str
    value: str
    where: Where


def options_behind_passed_words(text: str, file: str) -> Iterator[FixedOption]:
    """The options of each command that stand behind the words of whoever started the script."""
    joined = text.replace("\\\n", "  ")  # as long as before, so that places in it are places in the text
    for passed in _PASSED.finditer(joined):
        start = joined.rfind("\n", 0, passed.start()) + 1
        if joined[start : passed.start()].lstrip().startswith("#"):
            continue
        if not _SCRIPT.search(joined, start, passed.start()):
            continue
        end = _ENDS.search(joined, passed.end())
        for flag in _FLAG.finditer(joined, passed.end(), end.start() if end else len(joined)):
            line = text.count("\n", 0, flag.start()) + 1
            name = flag["name"].replace("-", "_")
            yield FixedOption(name, flag["value"], Where(file, line))
