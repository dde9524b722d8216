"""Write what the documentation says about the program from the program itself.

scripts/docs            write the outputs in README.md and docs/how-to/, and the generated pages of docs/
scripts/docs --check    write nothing; fail where a file differs from what would be written
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import click
from casebook_page import casebook_pages
from clinic_pages import clinic_pages
from faultbench_page import faultbench_pages

from stethoscope import causes, diagnose, findings
from stethoscope.causes import CauseEntry
from stethoscope.causes.cause import Outcome
from stethoscope.cli import stethoscope as command_line
from stethoscope.findings import RuleEntry
from stethoscope.logs import formats
from stethoscope.report import json_report, text_report
from stethoscope.report.terminal import plain_console

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference"
BLOCKS = ROOT / "src" / "stethoscope" / "blocks"
WIDTH = 80  # columns of every output shown
EXAMPLE = "examples/nano-sr"
GENERATED = "<!-- Written by scripts/docs from the program; change the program instead. -->"


def main() -> None:
    """Write the pages, or say which ones differ."""
    os.chdir(ROOT)  # paths in the output are those a reader would type
    pages = dict(written())
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text("utf-8") != text]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"scripts/docs: {path.relative_to(ROOT)} differs from the program; run scripts/docs.")
        sys.exit(bool(stale))
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(pages[path], encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")


def written() -> Iterator[tuple[Path, str]]:
    """Every generated page."""
    readme = ROOT / "README.md"
    yield readme, with_output(readme.read_text("utf-8"))
    for guide in sorted((ROOT / "docs" / "how-to").glob("*.md")):
        yield guide, with_commands(guide.read_text("utf-8"))
    yield REFERENCE / "rules.md", page("Rules", rules())
    yield REFERENCE / "causes.md", page("Causes", all_causes())
    yield REFERENCE / "commands.md", page("Commands", commands())
    yield REFERENCE / "json-report.md", page("The JSON report", json_names())
    yield REFERENCE / "log-formats.md", page("Log formats", log_formats())
    yield from block_pages()
    yield from clinic_pages()
    yield from casebook_pages()
    yield from faultbench_pages()


def page(title: str, parts: Iterator[str]) -> str:
    """A page of its parts, one blank line between them."""
    return "\n\n".join([f"# {title}", GENERATED, *(part.strip() for part in parts)]) + "\n"


# --- README.md


def with_output(readme: str) -> str:
    """The README with the example's report between its markers."""
    report = text_report.render(diagnose(EXAMPLE), plain_console(WIDTH))
    block = f"```text\n$ scripts/stethoscope {EXAMPLE}\n{report}```\n"
    marked = re.compile(r"(<!-- output -->\n).*?(<!-- end of output -->)", re.DOTALL)
    if not marked.search(readme):
        sys.exit("scripts/docs: README.md has no <!-- output --> ... <!-- end of output -->.")
    return marked.sub(lambda found: found[1] + block + found[2], readme)


# --- docs/how-to


def with_commands(guide: str) -> str:
    """The page with what each of its marked commands writes."""
    marked = re.compile(r"(<!-- output of: (.*?) -->\n).*?(<!-- end of output -->)", re.DOTALL)
    return marked.sub(lambda found: f"{found[1]}```text\n$ {found[2]}\n{ran(found[2])}```\n{found[3]}", guide)


def ran(line: str) -> str:
    """What a command line writes, in a shell of its own."""
    called = f'stethoscope() {{ "{sys.executable}" -m stethoscope "$@"; }}; {line}'
    surroundings = {**os.environ, "COLUMNS": str(WIDTH), "NO_COLOR": "1", "PYTHONUTF8": "1"}
    done = subprocess.run(
        ["bash", "-c", called], env=surroundings, capture_output=True, text=True, check=False
    )
    if done.stderr:
        sys.exit(f"scripts/docs: {line}: {done.stderr.strip()}")
    return done.stdout


# --- rules.md


def rules() -> Iterator[str]:
    """Every rule by family: its page, and the cases that hold it."""
    yield (
        "What is looked for, by family. `stethoscope rules` lists the same; `stethoscope explain CODE` shows "
        "one. The cases below each rule are its tests: the fenced blocks are the files of a run."
    )
    by_family = sorted(findings.catalogue(), key=lambda rule: (rule.family, rule.code))
    yield table(("code", "name", "severity", "looks for"), (rule_row(rule) for rule in by_family))
    for family, members in groupby(by_family, key=lambda rule: rule.family):
        yield f"## {family}"
        for rule in members:
            yield f"### {rule.code} {rule.name}"
            yield f"Severity: {rule.severity.value}. Since {rule.since}."
            yield demoted(rule.page, by=2)
            yield from cases(rule)


def rule_row(rule: RuleEntry) -> tuple[str, ...]:
    return (
        f"[{rule.code}](#{anchor(f'{rule.code} {rule.name}')})",
        rule.name,
        rule.severity.value,
        rule.summary,
    )


def cases(rule: RuleEntry) -> Iterator[str]:
    """The rule's literate cases, folded away."""
    path = ROOT / "tests" / "cases" / rule.family / f"{rule.name}.md"
    if path.exists():
        _, _, sections = path.read_text("utf-8").partition("\n## ")
        shown = demoted(f"## {sections}".strip(), by=3)
        yield f"<details><summary>Cases</summary>\n\n{shown}\n\n</details>"


# --- causes.md


def all_causes() -> Iterator[str]:
    """Every cause: its page, its evidence, and how to confirm it."""
    yield (
        "What can be wrong with a run, and how the evidence is weighed. Weights are in natural log-odds: "
        "0.5 is weak, 1.5 moderate, 3 strong, 6 decisive; below 0 they speak against. Evidence from curves "
        "is capped at 3 per family and 4 in all, so that code outweighs shapes."
    )
    yield table(("name", "what it is"), (cause_row(entry) for entry in causes.catalogue()))
    for entry in causes.catalogue():
        yield f"## {entry.name}"
        yield demoted(entry.page, by=1)
        yield "### Evidence"
        yield table(("weight", "rule", "outcome", "why"), evidence_rows(entry))
        yield from about(entry)


def cause_row(entry: CauseEntry) -> tuple[str, ...]:
    harmless = " (harmless)" if entry.cause.benign else ""
    return f"[{entry.name}](#{entry.name})", entry.cause.title + harmless


def evidence_rows(entry: CauseEntry) -> Iterator[tuple[str, ...]]:
    links = {
        rule.name: f"[{rule.name}](rules.md#{anchor(f'{rule.code} {rule.name}')})"
        for rule in findings.catalogue()
    }
    for evidence in entry.cause.evidence:
        fitting = " that fits" if evidence.when and evidence.outcome is Outcome.FOUND else ""
        rule = links.get(evidence.rule, evidence.rule)
        yield f"{evidence.weight:+g}", rule, evidence.outcome.value + fitting, evidence.reason


def about(entry: CauseEntry) -> Iterator[str]:
    cause = entry.cause
    yield f"To confirm: {cause.confirm_by}."
    if cause.leads_to:
        yield f"Brings about: {', '.join(f'[{name}](#{name})' for name in cause.leads_to)}."
    if cause.explains:
        yield f"Explains away: {', '.join(cause.explains)}."


# --- log-formats.md


def log_formats() -> Iterator[str]:
    """Every log format: what its reader says of itself, which shows the lines it reads."""
    listed = sorted(formats(), key=lambda reader: reader.FORMAT.lower())
    yield (
        f"{len(listed)} formats, each recognised by what a file holds. Of a *followed* one only what was "
        "added is read while it grows; the others are read again when they change. "
        "[What logs are read](../log-formats.md) says what is done with them all."
    )
    yield table(("format", "followed", "what it is"), (format_row(reader) for reader in listed))
    for reader in listed:
        _, _, rest = (reader.__doc__ or "").strip().partition("\n")
        yield f"## {reader.FORMAT}"
        yield first_line(reader)
        if rest.strip():
            yield f"```text\n{dedent(rest).strip(chr(10)).rstrip()}\n```"


def format_row(reader: ModuleType) -> tuple[str, ...]:
    link = f"[{reader.FORMAT}](#{anchor(reader.FORMAT)})"
    return link, "yes" if hasattr(reader, "begin") else "", first_line(reader)


def first_line(reader: ModuleType) -> str:
    return (reader.__doc__ or "").strip().partition("\n")[0]


# --- docs/blocks


def block_pages() -> Iterator[tuple[Path, str]]:
    """A page for every block, and one that lists them; read from the source, so that torch is not needed."""
    trees = {file.stem: ast.parse(file.read_text("utf-8")) for file in sorted(BLOCKS.glob("[!_]*.py"))}
    folder = ROOT / "docs" / "blocks"
    yield folder / "README.md", page("Blocks", block_list(trees))
    for name, tree in trees.items():
        yield folder / f"{name}.md", page(name, block(name, tree))


def block_list(trees: dict[str, ast.Module]) -> Iterator[str]:
    yield (
        "The parts of a training that do not break. Everything here is imported from `stethoscope.blocks`, "
        "which needs `pip install 'stethoscope[torch]'`. Each page says what a block does, the failure it "
        "prevents, and when not to use it."
    )
    rows = ((f"[{name}]({name}.md)", documentation(tree).partition("\n")[0]) for name, tree in trees.items())
    yield table(("block", "what it does"), rows)


def block(name: str, tree: ast.Module) -> Iterator[str]:
    """A block's own page, its picture below the first sentence, and what it offers at the end."""
    summary, _, rest = documentation(tree).partition("\n")
    yield summary
    picture = ROOT / "docs" / "pictures" / "blocks" / f"{name}.svg"
    if picture.exists():
        shown = re.search("<title>(.*?)</title>", picture.read_text("utf-8"))
        yield f"![{shown[1] if shown else name}](../pictures/blocks/{name}.svg)"
    yield re.sub(r"^## Example\n.*?(?=^## )", fenced_example, rest, flags=re.MULTILINE | re.DOTALL)
    yield "## What it offers"
    yield table(("name", "what it gives"), offered(tree))


def fenced_example(found: re.Match[str]) -> str:
    """The example's indented lines as a fenced block, which is shown in colours."""
    code = dedent(found[0].partition("\n")[2]).strip("\n").rstrip()
    return f"## Example\n\n```python\n{code}\n```\n\n"


def offered(tree: ast.Module) -> Iterator[tuple[str, ...]]:
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            said = documentation(node).partition("\n")[0]
            if said:  # the signatures of an overloaded function say nothing
                yield f"`{node.name}{signature(node, constants)}`", said


def signature(node: ast.FunctionDef | ast.ClassDef, constants: dict[str, ast.Constant]) -> str:
    """What it is called with: names and the values of defaults, without types."""
    if isinstance(node, ast.ClassDef):
        made = [
            inner for inner in node.body if isinstance(inner, ast.FunctionDef) and inner.name == "__init__"
        ]
        return signature(made[0], constants) if made else ""
    given = node.args
    for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
        if argument is not None:
            argument.annotation = None
    given.args = [argument for argument in given.args if argument.arg != "self"]
    given.defaults = [known(value, constants) for value in given.defaults]
    given.kw_defaults = [value and known(value, constants) for value in given.kw_defaults]
    return f"({ast.unparse(given)})"


def known(value: ast.expr, constants: dict[str, ast.Constant]) -> ast.expr:
    """A default's value, where it is the name of a constant of the file."""
    return constants.get(value.id, value) if isinstance(value, ast.Name) else value


def documentation(node: ast.Module | ast.FunctionDef | ast.ClassDef) -> str:
    return (ast.get_docstring(node) or "").strip()


# --- commands.md


def commands() -> Iterator[str]:
    """Every command's help."""
    top = click.Context(
        command_line, info_name="stethoscope", terminal_width=WIDTH, **command_line.context_settings
    )
    yield "## stethoscope"
    yield helped(top)
    for name in command_line.list_commands(top):
        command = command_line.get_command(top, name)
        assert command is not None
        context = click.Context(command, parent=top, info_name=name, terminal_width=WIDTH)
        yield f"## stethoscope {name}"
        yield helped(context)
        for below in command.list_commands(context) if isinstance(command, click.Group) else ():
            part = command.get_command(context, below)
            assert part is not None
            yield f"### stethoscope {name} {below}"
            yield helped(click.Context(part, parent=context, info_name=below, terminal_width=WIDTH))


def helped(context: click.Context) -> str:
    return f"```text\n{context.get_help()}\n```"


# --- json-report.md

# Parts that stand in many places: described once, below.
NAMED_PARTS = {"where": "address", "places": "list of addresses", "steps": "steps", "argument": "argument"}


def json_names() -> Iterator[str]:
    """Every name in the JSON report, with its type."""
    schema: Any = json_report.schema()
    link = "[schema-1.json](../../src/stethoscope/report/schema-1.json)"
    yield f"{schema['description']} The JSON Schema itself, {link}, is part of the package."
    yield table(("name", "type", "meaning"), described(schema, schema, ""))
    for part in ("where", "steps", "argument"):
        yield f"## {NAMED_PARTS[part].capitalize()}"
        yield table(("name", "type", "meaning"), described(schema["$defs"][part], schema, ""))


def described(node: Any, schema: Any, name: str) -> Iterator[tuple[str, ...]]:
    """The rows of one part of the schema and of the parts below it."""
    if name:
        yield f"`{name}`", kind(node, schema), node.get("description", "")
    node = whole(node, schema)
    if name and node in (schema["$defs"][part] for part in NAMED_PARTS):
        return
    if "items" in node:
        yield from [*described(node["items"], schema, f"{name}[]")][1:]  # the list's own row has said it
    for inner, part in node.get("properties", {}).items():
        yield from described(part, schema, f"{name}.{inner}".lstrip("."))


def kind(node: Any, schema: Any) -> str:
    """A schema's type in words."""
    if any(part.get("type") == "null" for part in node.get("anyOf", ())):
        return kind(whole(node, schema), schema) + " or null"
    named = [said for part, said in NAMED_PARTS.items() if whole(node, schema) == schema["$defs"][part]]
    node = whole(node, schema)
    if named:
        return named[0]
    if "enum" in node or "const" in node:
        return ", ".join(f"`{value}`" for value in node.get("enum", [node.get("const")]))
    if "items" in node:
        return f"list of {kind(node['items'], schema)}s"
    kinds = node.get("type", "any")
    return " or ".join(kinds) if isinstance(kinds, list) else str(kinds)


def whole(node: Any, schema: Any) -> Any:
    """The part itself, where `node` refers to it or allows null beside it."""
    node = next((part for part in node.get("anyOf", ()) if part.get("type") != "null"), node)
    return schema["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node


# --- Markdown


def table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def demoted(markdown: str, by: int) -> str:
    """The text with its headings that much deeper; fenced blocks stay as they are."""
    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    deeper = [
        part if part.startswith("```") else re.sub(r"^#", "#" * (by + 1), part, flags=re.MULTILINE)
        for part in parts
    ]
    return "".join(deeper)


def anchor(heading: str) -> str:
    return re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-")


if __name__ == "__main__":
    main()
