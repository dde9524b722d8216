"""The settings that a log dumps at its top, as YAML or as BasicSR's indented listing.

name: 2xNano                  network_g:[
train:                          type: RRDBNet
  total_iter: 40000             num_feat: 64
                              ]
"""

from __future__ import annotations

import re

from stethoscope.run import Document

_KEY = re.compile(r"\s*[\w.-]+:(?:\s|\[|$)")
_TOP = frozenset(
    {"name", "train", "val", "datasets", "network_g", "model_type", "scale", "logger", "path", "num_gpu"}
)
_OPENS = re.compile(r"(?P<indent>\s*)(?P<key>[\w.-]+):\[\s*$")
_PAIR = re.compile(r"(?P<indent>\s*)(?P<key>[\w.-]+): ?(?P<value>.*)$")
_EXPONENT = re.compile(r"-?\d+e[-+]\d\d+")
# Characters that mean something in YAML where a printed Python string begins with or holds them.
_SPECIAL = re.compile(r"^[&*!|>%@`?#-](?!\d)|: |\s#|:$")
FEWEST_KEYS = 5
FEWEST_TOP_KEYS = 2


def settings_in(lines: list[str], file: str, first_line: int) -> Document | None:
    """The record as a document, one line for each of the log's; None where these are no settings."""
    keys = [line for line in lines if _KEY.match(line)]
    top = {line.strip().partition(":")[0] for line in keys}
    if len(keys) < FEWEST_KEYS or len(top & _TOP) < FEWEST_TOP_KEYS:
        return None
    if any(_OPENS.match(line) for line in lines):
        lines = [_as_yaml(line) for line in lines]
    return Document("\n".join(lines) + "\n", "yaml", file, first_line)


def _as_yaml(line: str) -> str:
    """One line of the indented listing, which prints Python values, as the YAML that says the same."""
    if opened := _OPENS.match(line):
        return f"{opened['indent']}{opened['key']}:"
    if line.strip() == "]":
        return ""
    pair = _PAIR.match(line)
    return f"{pair['indent']}{pair['key']}: {_yaml_value(pair['value'])}" if pair else line


def _yaml_value(value: str) -> str:
    if value == "None":
        return "null"
    if _EXPONENT.fullmatch(value):
        # Python prints the float as 1e-05, which YAML 1.1 takes for a string; "1e-4" was a string already.
        return value.replace("e", ".0e")
    if value.startswith("OrderedDict(") or (_SPECIAL.search(value) and value[0] not in "[{"):
        return "'" + value.replace("'", "''") + "'"
    return value
