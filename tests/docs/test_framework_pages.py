"""What the pages about frameworks say is true.

Their programs run, their logs are read as they say, and their commands exist. The fenced blocks of a page
that name a file are the folder of a run; a block `train.py` is run first. The tables below "What is read" are
held to what `read` gives.
"""

from __future__ import annotations

import ast
import importlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from stethoscope import diagnose
from stethoscope.cli import stethoscope as command_line
from stethoscope.read import read
from stethoscope.run import Run

FOLDER = Path(__file__).parents[2] / "docs" / "how-to" / "frameworks"
PAGES = sorted(FOLDER.glob("*.md"))
BLOCK = re.compile(r"^```(?P<language>\w+)(?: (?P<file>\S+))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
TRAINED = {
    "pytorch": "torch",
    "lightning": "lightning",
    "transformers": "transformers",
    "accelerate": "accelerate",
}
SHOWN = [page.stem for page in PAGES if page.stem not in TRAINED and page.stem != "README"]
# A recorded run of the kind that the page is about, and what of the page's table is in it.
RECORDED = {
    "basicsr": "basicsr/ChhaviPan23__Super_Res__super_res_20241018",
    "fine-tuning-tools": "hf_trainer/hsc748NLP__NSLLM__nsllm_sft",
    "language-models": "nanogpt/karpathy__nanoGPT__lozo_train",
}


@pytest.mark.parametrize("page", SHOWN)
def test_a_log_is_read_as_the_page_says(page: str, tmp_path: Path) -> None:
    for block in blocks(page):
        if block["file"]:
            (tmp_path / block["file"]).write_text(block["text"], encoding="utf-8")
    assert said(page) <= told(read(tmp_path))


@pytest.mark.corpus
@pytest.mark.parametrize("page", RECORDED)
def test_a_recorded_run_is_read_as_the_page_says(page: str, corpus: Path) -> None:
    run = read(corpus / RECORDED[page])
    logged = {name for name, _ in told(run)}
    common = {(name, meaning) for name, meaning in said(page) if name in logged}
    assert ("loss" in {name for name, _ in common}) or len(common) > 1
    assert common <= told(run)


@pytest.mark.parametrize("page", TRAINED)
def test_a_program_runs_and_its_run_is_read_as_the_page_says(page: str, tmp_path: Path) -> None:
    pytest.importorskip(TRAINED[page], reason=f"{TRAINED[page]} is not installed: its page is not tried")
    [program] = [block["text"] for block in blocks(page) if block["file"] == "train.py"]
    (tmp_path / "train.py").write_text(program, encoding="utf-8")
    surroundings = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "train.py"],
        cwd=tmp_path,
        env=surroundings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    run = read(tmp_path / first_run(page))
    assert said(page) <= told(run)
    assert run.recipe is not None, "its settings are not found"
    assert [checkpoint for checkpoint in run.checkpoints if checkpoint.step], "its checkpoints are not found"
    diagnosis = diagnose(tmp_path / first_run(page), code=tmp_path / "train.py")
    assert diagnosis.verdict == "healthy", "a program to be copied has nothing wrong with it"


@pytest.mark.parametrize("page", [page.stem for page in PAGES])
def test_commands_and_their_options_exist(page: str) -> None:
    lines = re.findall(r"^    (stethoscope .+)$|`(stethoscope [^`<]+)`", text_of(page), re.MULTILINE)
    for line in (indented or inline for indented, inline in lines):
        words = shlex.split(line, comments=True)[1:]
        command = command_line.commands.get(words[0]) or command_line.get_command(_context(), words[0])
        command = command or command_line.get_command(_context(), "diagnose")
        assert command is not None
        known = {option for parameter in command.params for option in parameter.opts}
        assert [word for word in words if word.startswith("--") and word not in known] == [], line


@pytest.mark.parametrize("page", [page.stem for page in PAGES])
def test_snippets_are_python_and_import_what_exists(page: str) -> None:
    for block in blocks(page):
        if block["language"] != "python":
            continue
        for node in ast.walk(ast.parse(block["text"])):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("stethoscope"):
                module = importlib.import_module(node.module)
                assert [name.name for name in node.names if not hasattr(module, name.name)] == []


def text_of(page: str) -> str:
    return (FOLDER / f"{page}.md").read_text(encoding="utf-8")


def blocks(page: str) -> Iterator[dict[str, str]]:
    return (found.groupdict(default="") for found in BLOCK.finditer(text_of(page)))


def said(page: str) -> set[tuple[str, str]]:
    """What the page's table says: the name in the log, and what it is read as."""
    _, _, below = text_of(page).partition("## What is read")
    rows = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|$", below.partition("\n## ")[0], re.MULTILINE)
    assert rows, f"{page} has no table of what is read"
    return set(rows)


def told(run: Run) -> set[tuple[str, str]]:
    """The names in the logs of a run, and what they were read as."""
    return {(series.logged_as, series.name) for series in run.series.values()}


def first_run(page: str) -> str:
    """The folder that the page's first command is given."""
    found = re.search(r"^    stethoscope (runs\S*)", text_of(page), re.MULTILINE)
    assert found
    return found[1]


def _context() -> click.Context:
    return click.Context(command_line)
