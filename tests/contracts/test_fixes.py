"""Every fix mends what it is offered for, and nothing else."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable
from difflib import SequenceMatcher
from pathlib import Path

import pytest

from stethoscope.findings import Finding, Subject, apply, rule_named
from stethoscope.findings import catalogue as rules
from stethoscope.lint.files import gather
from stethoscope.lint.fixing import Fixed, fix, write
from stethoscope.prescription.edits.rewriting import rewritten
from stethoscope.read import read
from stethoscope.recipe import read_settings, syntax_of
from stethoscope.run import Run, Splice
from stethoscope.signals import Missing, measure
from tests.literate import Case, cases

MOST_ROUNDS = 10
NAMES = {rule.name for rule in rules() if rule.subject is not Subject.RUN}
SICK = [case for case in cases() if case.rule in NAMES and case.reported]


def as_written(text: str) -> str:
    return text


def with_windows_line_ends(text: str) -> str:
    return text.replace("\n", "\r\n")


def with_tabs(text: str) -> str:
    return re.sub(r"^(?: {4})+", lambda found: "\t" * (len(found[0]) // 4), text, flags=re.MULTILINE)


def with_comments(text: str) -> str:
    """Behind every statement a comment of its own."""
    lines = text.splitlines(keepends=True)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        row, column = token.start
        if token.type == tokenize.NEWLINE and lines[row - 1][:column].strip() and "#" not in lines[row - 1]:
            lines[row - 1] = f"{lines[row - 1].rstrip()}  # said on {row}\n"
    return "".join(lines)


def on_few_lines(text: str) -> str:
    """Blocks of single-line statements behind their headers: `for x in y: a(); b()`."""
    lines = text.splitlines()
    gone: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        for block in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            if isinstance(block, list) and block and isinstance(node, ast.For | ast.If | ast.With):
                gone |= joined(block, lines)
    return "".join(f"{line}\n" for number, line in enumerate(lines, 1) if number not in gone)


def joined(block: list[ast.stmt], lines: list[str]) -> set[int]:
    """The lines that were put behind the one above them."""
    header = block[0].lineno - 1
    if not all(is_plain(one, lines) for one in block):
        return set()
    if not lines[header - 1].rstrip().endswith(":") or len({one.lineno for one in block}) < len(block):
        return set()
    lines[header - 1] += " " + "; ".join(lines[one.lineno - 1].strip() for one in block)
    return {one.lineno for one in block}


def is_plain(one: ast.stmt, lines: list[str]) -> bool:
    return one.lineno == one.end_lineno and not hasattr(one, "body") and "#" not in lines[one.lineno - 1]


LAYOUTS = (as_written, with_windows_line_ends, with_tabs, with_comments, on_few_lines)


@pytest.mark.parametrize("case", SICK, ids=lambda case: case.name)
def test_a_fix_silences_its_rule_and_leaves_the_rest(case: Case, tmp_path: Path) -> None:
    has_source = any(name.endswith(".py") for _, name, _ in case.files)
    for layout in LAYOUTS if has_source else (as_written,):
        folder = tmp_path / layout.__name__
        folder.mkdir()
        case.write(folder)
        lay_out(folder, layout)
        if not mended(case, folder):
            return  # what has no fix as it is written has none in another layout


def mended(case: Case, folder: Path) -> bool:
    """Make the fixes of a case one by one until none is offered; False where there was none."""
    for number in range(MOST_ROUNDS):
        run, findings = examined(case, folder)
        fixable = [finding for finding in findings if finding.fix and finding.fix.splices]
        if not fixable:
            return number > 0  # silent, so that there is nothing to apply again
        mend(fixable[0], run)
        _, after = examined(case, folder)
        assert said(fixable[0]) not in [said(finding) for finding in after]
        assert len(after) < len(findings)
    return pytest.fail(f"fixes are still offered after {MOST_ROUNDS} rounds")


@pytest.mark.parametrize("case", [one for one in SICK if one.fixed], ids=lambda case: case.name)
def test_a_fix_writes_what_its_case_says(case: Case, tmp_path: Path) -> None:
    case.write(tmp_path)
    levels = {finding.fix.level.value for finding in examined(case, tmp_path)[1] if finding.fix}
    before = texts(tmp_path)
    write(lint_fixed(case, tmp_path).changes)
    after = texts(tmp_path)
    for level, code in case.fixed:
        assert level in levels
        assert code in after
        assert before.count(code) != after.count(code)


def texts(folder: Path) -> str:
    return "\n".join(file.read_text(encoding="utf-8") for file in sorted(folder.rglob("*.*")))


@pytest.mark.parametrize("case", [one for one in SICK if len(one.reported) > 1], ids=lambda case: case.name)
def test_fixes_of_one_file_are_made_together(case: Case, tmp_path: Path) -> None:
    case.write(tmp_path)
    before = lint_fixed(case, tmp_path)
    assert before.refused == ()
    write(before.changes)
    assert lint_fixed(case, tmp_path).changes == ()


def lint_fixed(case: Case, folder: Path) -> Fixed:
    return fix(gather([str(folder)]), (str(folder),), (rule_named(case.rule),), unsafe=True)


def lay_out(folder: Path, layout: Callable[[str], str]) -> None:
    """Write the sources of a case in another layout; what a case holds stays as it is where they cannot."""
    for file in folder.rglob("*.py"):
        try:
            text = layout(file.read_text(encoding="utf-8"))
            ast.parse(text)
        except (SyntaxError, tokenize.TokenError):
            continue
        file.write_bytes(text.encode())


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
    text = before.decode().replace("\r\n", "\n")
    touched: set[int] = set()
    for splice in splices:
        first, last = (text[:at].count("\n") for at in (splice.start, splice.end))
        touched.update(range(first, last + 1))
    old, new = before.split(b"\n"), after.split(b"\n")
    changes = [
        one for one in SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if one[0] != "equal"
    ]
    return all(line in touched for _, first, last, _, _ in changes for line in range(first, last))
