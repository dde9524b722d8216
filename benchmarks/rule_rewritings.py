"""How much the rules depend on the way in which a program is written.

    python benchmarks/rule_rewritings.py [--rules NAME ...] [--ways NAME ...] [--each 3] [--show] [--jobs 2]

Every rule that reads source has cases, sick ones and healthy ones. Their programs are written again in ways
that change nothing about what they do (`rewritings/`, a file each): other names, other imports, expressions
taken apart or put together, a function made of a loop or a class of a function. What a rule says must not
change. A sick program that is not found any more was known by its spelling; a healthy one that is reported
is a false alarm that waits for somebody to write it.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from stethoscope.findings import Severity, apply, rule_named
from stethoscope.read import read
from stethoscope.signals import Missing, measure

if TYPE_CHECKING:
    from tests.literate import Case

# The cases lie beside this folder, the ways in it.
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]
cases = importlib.import_module("tests.literate").cases

AS_IT_IS = "unparsed"
ALONE = frozenset(
    {"neutral_names", "other_names", "two_files", "attributes_in_dict", "renamed_attributes"}
)  # what other files know of it is not followed


@dataclass(frozen=True, slots=True)
class Change:
    """What a rule says of one case after it was written again."""

    case: Case
    way: str
    kept: bool
    why: str = ""


def main() -> None:
    """Print by way and by rule how often what is said stays the same."""
    options = _options()
    cases_asked = list(chosen(options.rules, options.each))
    ways = options.ways or sorted(path.stem for path in Path(__file__).parent.glob("rewritings/[a-z]*.py"))
    ways = [way for way in ways if way != AS_IT_IS]
    with ProcessPoolExecutor(options.jobs) as pool:
        changes = [one for some in pool.map(partial(asked, ways), cases_asked, chunksize=4) for one in some]
    _by_way(changes)
    _by_rule(changes, show=options.show)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rules", nargs="+", default=())
    parser.add_argument("--ways", nargs="+", default=())
    parser.add_argument("--each", type=int, default=3, help="sick and healthy cases of each rule")
    parser.add_argument("--show", action="store_true", help="name the cases")
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


def chosen(rules: Iterable[str], each: int) -> Iterable[Case]:
    """The first sick and healthy cases of each rule that have source."""
    seen: Counter[tuple[str, bool]] = Counter()
    for case in cases():
        key = case.rule, case.silent
        has_source = any(name.endswith(".py") and not name.startswith("> ") for _, name, _ in case.files)
        if has_source and not case.not_examined and (not rules or case.rule in rules) and seen[key] < each:
            seen[key] += 1
            yield case


def asked(ways: Iterable[str], case: Case) -> list[Change]:
    """What becomes of a case in each way, where its rule says of the plain program what the case says."""
    expected = _severity(rewritten(case, AS_IT_IS))
    if (expected is None) != case.silent:
        return []  # the rule reads comments or layout, or is silent without them
    changes = []
    for way in ways:
        again = rewritten(case, way)
        if again is not None and again.files != rewritten(case, AS_IT_IS).files:
            said = _severity(again)
            kept = said == expected or (case.silent and said == "not examined")
            changes.append(Change(case, way, kept, f"{expected} became {said}"))
    return changes


def rewritten(case: Case, way: str) -> Case | None:
    """The case with its source written in another way; nothing where that cannot be done."""
    sources = [name for _, name, _ in case.files if name.endswith(".py") and not name.startswith("> ")]
    if len(sources) > 1 and way in ALONE:
        return None
    rewrite = importlib.import_module(f"rewritings.{way}").rewrite
    files = []
    for language, name, body in case.files:
        if name not in sources:
            files.append((language, name, body))
            continue
        try:
            made = rewrite(ast.parse(body))
        except SyntaxError:
            return None
        parts = made if isinstance(made, dict) else {"": made}
        for other, tree in parts.items():
            path = str(Path(name).parent / other) if other else name
            files.append((language, path, ast.unparse(ast.fix_missing_locations(tree)) + "\n"))
    return _with(case, tuple(files))


def _with(case: Case, files: tuple[tuple[str, str, str], ...]) -> Case:
    made = copy.copy(case)
    object.__setattr__(made, "files", files)
    return made


def _severity(case: Case) -> Severity | str | None:
    with tempfile.TemporaryDirectory() as folder:
        case.write(Path(folder))
        rule = rule_named(case.rule)
        outcome = apply(rule, measure(read(Path(folder))))
    if isinstance(outcome, Missing):
        return "not examined"
    ranks = list(Severity)
    return max((finding.severity or rule.severity for finding in outcome), key=ranks.index, default=None)


def _by_way(changes: list[Change]) -> None:
    print(f"{'':24} sick: still found       healthy: still silent")
    for way in sorted({change.way for change in changes}):
        sick = [change.kept for change in changes if change.way == way and not change.case.silent]
        healthy = [change.kept for change in changes if change.way == way and change.case.silent]
        print(f"{way:24} {_share(sick):22} {_share(healthy)}")


def _share(kept: list[bool]) -> str:
    return f"{sum(kept)} of {len(kept)} ({sum(kept) / max(len(kept), 1):.0%})"


def _by_rule(changes: list[Change], *, show: bool) -> None:
    lost: dict[tuple[bool, str], list[Change]] = defaultdict(list)
    for change in changes:
        if not change.kept:
            lost[change.case.silent, change.case.rule].append(change)
    for (silent, rule), some in sorted(lost.items(), key=lambda item: (not item[0][0], -len(item[1]))):
        ways = Counter(change.way for change in some)
        print(
            f"{'FALSE ' if silent else 'missed'} {rule:36}",
            ", ".join(f"{way} {n}" for way, n in ways.items()),
        )
        for change in some if show else ():
            print(f"        {change.way:20} {change.case.title}: {change.why}")


if __name__ == "__main__":
    main()
