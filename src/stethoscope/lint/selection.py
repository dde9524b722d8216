"""Which rules look, as people name them: by code, the beginning of one, family, or name.

Of two selectors that fit a rule, the longer one decides, so that `--select LOP --ignore LOP104` and
`--select LOP104 --ignore LOP` both mean what they say; of two as long, the one that ignores.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from stethoscope.errors import UnknownRule
from stethoscope.findings import RuleEntry, Subject, catalogue

ALL = "ALL"
WHOLE_CODE = 6  # letters and digits of LOP101
FAMILY = 3  # a family is as wide as the three letters of its codes


def lintable(rules: Iterable[RuleEntry] | None = None) -> tuple[RuleEntry, ...]:
    """The rules that look at source and settings, for which no log is needed."""
    return tuple(
        rule for rule in (catalogue() if rules is None else rules) if rule.subject is not Subject.RUN
    )


def chosen(
    rules: Sequence[RuleEntry], select: Sequence[str] = (), ignore: Sequence[str] = ()
) -> tuple[RuleEntry, ...]:
    """The rules that are selected and not ignored; without a selection, all that are not ignored."""
    return tuple(rule for rule in rules if fit(rule, select or [ALL]) > fit(rule, ignore))


def fit(rule: RuleEntry, selectors: Iterable[str]) -> int:
    """How exactly the best of the selectors names a rule; -1 where none does."""
    return max((_fit(rule, selector) for selector in selectors), default=-1)


def must_be_known(selectors: Iterable[str], said_by: str, *, to_select: bool = False) -> None:
    """Raise UnknownRule for a selector that names nothing, or nothing that can be selected here."""
    for selector in selectors:
        known = [rule for rule in catalogue() if _fit(rule, selector) >= 0]
        if not known:
            raise UnknownRule(f"{said_by}: no rule, family or code begins with {selector}.{_hint(selector)}")
        if to_select and not lintable(known):
            raise UnknownRule(
                f"{said_by}: {selector} looks at what a run logged, which lint does not read; "
                "`stethoscope diagnose RUN` does."
            )


def _fit(rule: RuleEntry, selector: str) -> int:
    wanted = selector.strip()
    if wanted.upper() == ALL:
        return 0
    plain = wanted.lower().replace("_", "-")
    if plain == rule.name:
        return WHOLE_CODE
    if plain == rule.family:
        return FAMILY
    # A code is begun by its letters; "SET1" names a hundred, "S" would name families by accident.
    if re.fullmatch(r"[A-Za-z]{3}\d{0,3}", wanted) and rule.code.startswith(wanted.upper()):
        return len(wanted)
    return -1


def _hint(selector: str) -> str:
    names = {rule.name for rule in catalogue()} | {rule.family for rule in catalogue()}
    codes = {rule.code for rule in catalogue()}
    near = get_close_matches(selector.lower().replace("_", "-"), sorted(names), n=1)
    near = near or get_close_matches(selector.upper(), sorted(codes), n=1)
    return f" Did you mean {near[0]}?" if near else " `stethoscope rules` lists them."
