"""`stethoscope review`."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from stethoscope.cli.review import command
from stethoscope.report import review_json
from tests.cli.processes import stethoscope


def ran(*arguments: str) -> tuple[str, int]:
    done = CliRunner().invoke(command, list(arguments), standalone_mode=False)
    assert done.exception is None, done.exception
    return done.output, done.return_value


@pytest.fixture
def note(tmp_path: Path) -> Path:
    file = tmp_path / "notes.md"
    file.write_text("Set `lr` to 1e-4.\n\nThe landscape of the loss is chaotic.\n", encoding="utf-8")
    return file


def test_without_a_run_nothing_is_claimed(note: Path) -> None:
    output, status = ran(str(note))
    assert status == 0
    flat = " ".join(output.split())
    assert "1 claim: 1 untested." in flat
    assert "untested lr: 0.0001 [" in flat
    assert f"[{note}:1]" in "".join(output.split())  # a long path is broken anywhere
    assert "Not judged: 1 sentence" in flat


def test_json_keeps_to_its_schema(note: Path, broken_run: Path) -> None:
    output, status = ran(str(note), "--run", str(broken_run), "--format", "json")
    told = json.loads(output)
    jsonschema.validate(told, review_json.schema())
    assert told["claims"][0]["where"] == [{"file": str(note), "line": 1}]
    assert told["claims"][0]["verdict"] == "untested"
    assert status == int(told["objectionable"])


def test_the_example_in_every_format(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    call = ("docs/examples/advice.md", "--run", "examples/nano-sr")
    text, status = ran(*call)
    assert status == 1
    assert "unknown key  train.grad_clip_max_norm" in text
    assert "Not mentioned, and found in the run" in text
    jsonschema.validate(json.loads(ran(*call, "--format", "json")[0]), review_json.schema())
    markdown = ran(*call, "--format", "markdown")[0]
    assert "| **no effect** | `train.grad_clip: true to true` |" in markdown


def test_markup_of_strangers_stays_text(tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_text(
        "```yaml\n'a|b<script>': 1\nlr: 1|2\n```\n\nSet `lr` to 1 and see [me](javascript:x) \x1b[31mnow.\n",
        encoding="utf-8",
    )
    assert "\x1b" not in ran(str(file), "--verbose")[0]
    assert "<script>" not in ran(str(file), "--format", "markdown")[0].replace("\\<script\\>", "")


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "is empty"), (b"\0\1\2", "binary"), (b"\xff\xfe", "")],
    ids=["empty", "binary", "mark"],
)
def test_what_is_no_text_is_one_sentence(content: bytes, said: str, tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_bytes(content)
    done = stethoscope("review", file)
    assert done.returncode in ({2} if said else {0, 2})
    assert said in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert done.stderr.count(b"\n") <= 1


def test_what_is_not_there_is_one_sentence(note: Path, tmp_path: Path) -> None:
    for arguments in ((tmp_path / "none.md",), (note, "--run", tmp_path / "none"), (tmp_path,)):
        done = stethoscope("review", *arguments)
        assert done.returncode == 2
        assert done.stderr.count(b"\n") == 1


def test_a_redacted_review_names_no_folder(note: Path, broken_run: Path) -> None:
    for format_ in ("text", "json", "markdown"):
        told, _ = ran(str(note), "--run", str(broken_run), "--redact", "--format", format_)
        assert str(broken_run) not in told
        assert str(note.parent) not in told
        assert "path-" in told
