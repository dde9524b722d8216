"""examine: signals -> findings. One file per rule, found by folder; three outcomes for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from types import ModuleType, NoneType
from typing import Any, get_args, get_type_hints

import numpy as np

from stethoscope.discovery import modules_in, spoken_name, summary
from stethoscope.errors import UnknownRule
from stethoscope.findings.as_written import as_written
from stethoscope.findings.finding import (
    Examination,
    Finding,
    Found,
    InsufficientData,
    NotExamined,
    Rule,
    RuleEntry,
    Severity,
    Subject,
)
from stethoscope.signals import Missing, Signals

__all__ = [
    "Examination",
    "Finding",
    "Found",
    "InsufficientData",
    "NotExamined",
    "Rule",
    "RuleEntry",
    "Severity",
    "Subject",
    "catalogue",
    "examine",
    "rule_named",
]


def examine(signals: Signals) -> Examination:
    """Let every rule look at the run."""
    found: list[Found] = []
    clear: list[RuleEntry] = []
    not_examined: list[NotExamined] = []
    for rule in catalogue():
        outcome = apply(rule, signals)
        if isinstance(outcome, Missing):
            not_examined.append(NotExamined(rule, outcome))
        elif outcome:
            found.extend(Found(rule, finding) for finding in outcome)
        else:
            clear.append(rule)
    return Examination(tuple(found), tuple(clear), tuple(not_examined))


def apply(rule: RuleEntry, signals: Signals) -> tuple[Finding, ...] | Missing:
    """One rule's findings, or what it was missing. A rule that fails counts as not examined."""
    try:
        with np.errstate(all="ignore"):  # a run may log 1e308; what comes of it is judged, not warned of
            arguments = _arguments(rule.examine, signals)
            if isinstance(arguments, Missing):
                return arguments
            return tuple(as_written(one, signals.run.program) for one in rule.examine(**arguments))
    except InsufficientData as too_little:
        return Missing(str(too_little), too_little.log_this)
    except Exception as failure:  # a doctor who stumbles over one question still asks the others
        return Missing(f"the rule itself failed ({type(failure).__name__}: {failure}); please report this")


def _arguments(function: Callable[..., Iterable[Finding]], signals: Signals) -> dict[str, Any] | Missing:
    """Measure what a rule's parameters ask for; `X | None` accepts a missing signal."""
    arguments: dict[str, Any] = {}
    for name, kind in _wanted(function).items():
        optional = NoneType in get_args(kind)
        wanted = next(part for part in get_args(kind) if part is not NoneType) if optional else kind
        measured = signals.get(wanted)
        if isinstance(measured, Missing):
            if not optional:
                return measured
            measured = None
        arguments[name] = measured
    return arguments


@cache
def _wanted(function: Callable[..., Iterable[Finding]]) -> dict[str, Any]:
    return {name: kind for name, kind in get_type_hints(function).items() if name != "return"}


@cache
def catalogue() -> tuple[RuleEntry, ...]:
    """Every rule there is, in the order of the codes."""
    rules = [_entry(module) for module in modules_in(__name__) if hasattr(module, "RULE")]
    return tuple(sorted(rules, key=lambda rule: rule.code))


def rule_named(code_or_name: str) -> RuleEntry:
    """The rule with this code or name, in any case."""
    wanted = code_or_name.strip().lower().replace("_", "-")
    for rule in catalogue():
        if wanted in {rule.code.lower(), rule.name}:
            return rule
    raise UnknownRule(f"no rule is called {code_or_name}. See `stethoscope rules` for all of them.")


def _entry(module: ModuleType) -> RuleEntry:
    rule: Rule = module.RULE
    family = module.__name__.split(".")[-2]
    return RuleEntry(
        rule.code,
        spoken_name(module),
        family,
        rule.since,
        rule.severity,
        rule.subject,
        summary(module),
        (module.__doc__ or "").strip(),
        module.examine,
    )
