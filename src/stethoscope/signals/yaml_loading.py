"""How the program loads its YAML: by PyYAML's rules, or by those of YAML 1.2."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stethoscope.program.remembered import remembered
from stethoscope.run import Program, Run
from stethoscope.signals.missing import Missing

# ruamel reads YAML 1.2, strictyaml only text; jsonargparse has rules of its own for booleans.
_OTHER_RULES = re.compile(
    r"^\s*(?:from|import)\s+(?:ruamel|strictyaml|jsonargparse)\b|\bLightningCLI\(|BaseLoader", re.MULTILINE
)
_OTHER_LOADERS = ("ruamel", "strictyaml", "jsonargparse", "LightningCLI", "BaseLoader")
_SWITCHES = re.compile(r"[\"'](on|off|yes|no)[\"']", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class YamlLoading:
    """Whether another loader than PyYAML's decides what a plain word is, and what words are compared with.

    `compared` are the words that the source compares values with: "off", "no".
    """

    by_other_rules: bool
    compared: frozenset[str]


def measure(run: Run) -> YamlLoading | Missing:
    """Look at what the source imports, and at the words it compares with."""
    if run.program is None or not run.program.sources:
        return Missing("the training source was not found", log_this="keep a copy of the source with the run")
    return _loading(run.program)


@remembered  # a program is asked once, under however many settings it is examined
def _loading(program: Program) -> YamlLoading:
    other = any(_has_other_rules(source.text) for source in program)
    words = {word.lower() for source in program for word in _SWITCHES.findall(source.text)}
    return YamlLoading(other, frozenset(words))


def _has_other_rules(text: str) -> bool:
    # A word is found much faster than a pattern, and most files have none of them.
    return any(word in text for word in _OTHER_LOADERS) and bool(_OTHER_RULES.search(text))
