"""Every fix mends what it is offered for, and nothing else."""

from __future__ import annotations

import ast
from difflib import SequenceMatcher
from pathlib import Path

import pytest

from stethoscope.findings import Finding, Subject, apply, rule_named
from stethoscope.findings import catalogue as rules
from stethoscope.prescription.edits.rewriting import rewritten
from stethoscope.read import read
from stethoscope.recipe import read_settings, syntax_of
from stethoscope.run import Run, Splice
from stethoscope.signals import Missing, measure
from tests.literate import Case, cases

MOST_ROUNDS = 10
NAMES = {rule.name for rule in rules() if rule.subject is not Subject.RUN}
SICK = [case for case in cases() if case.rule in NAMES and case.reported]


@pytest.mark.parametrize("case", SICK, ids=lambda case: case.name)
def test_a_fix_silences_its_rule_and_leaves_the_rest(case: Case, tmp_path: Path) -> None:
    case.write(tmp_path)
    for _ in range(MOST_ROUNDS):
        run, findings = examined(case, tmp_path)
        fixable = [finding for finding in findings if finding.fix and finding.fix.splices]
        if not fixable:
            return  # silent, so that there is nothing to apply again
        mend(fixable[0], run)
        _, after = examined(case, tmp_path)
        assert said(fixable[0]) not in [said(finding) for finding in after]
        assert len(after) < len(findings)
    pytest.fail(f"fixes are still offered after {MOST_ROUNDS} rounds")


def examined(case: Case, folder: Path) -> tuple[Run, tuple[Finding, ...]]:
    run = read(folder)
    outcome = apply(rule_named(case.rule), measure(run))
    return run, () if isinstance(outcome, Missing) else outcome


def said(finding: Finding) -> tuple[str, str]:
    return str(finding.places[0]), finding.message


def mend(finding: Finding, run: Run) -> None:
    """Apply a fix to the files, and check what it did to each."""
    assert finding.fix is not None
    assert finding.fix.title
    by_file: dict[str, list[Splice]] = {}
    for splice in finding.fix.splices:
        by_file.setdefault(splice.file, []).append(splice)
    for file, splices in by_file.items():
        content = Path(file).read_bytes()
        after = rewritten(content, text_as_read(file, run), splices, file)
        assert after != content, "a fix changes something"
        parse(after, file)
        assert untouched(content, after, splices)
        Path(file).write_bytes(after)


def text_as_read(file: str, run: Run) -> str:
    source = run.program.source(file) if run.program else None
    config = run.recipe.file(file) if run.recipe else None
    text = source.text if source else config.text if config else None
    assert text is not None, f"{file} was not read, so nothing in it can be fixed"
    return text


def parse(content: bytes, file: str) -> None:
    if file.endswith(".py"):
        ast.parse(content)
    else:
        read_settings(content.decode(), file, syntax_of(file) or "yaml")


def untouched(before: bytes, after: bytes, splices: list[Splice]) -> bool:
    """Whether only lines that a splice stands on differ."""
    text = before.decode()
    touched: set[int] = set()
    for splice in splices:
        first, last = (text[:at].count("\n") for at in (splice.start, splice.end))
        touched.update(range(first, last + 1))
    old, new = before.split(b"\n"), after.split(b"\n")
    changes = [
        one for one in SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if one[0] != "equal"
    ]
    return all(line in touched for _, first, last, _, _ in changes for line in range(first, last))
