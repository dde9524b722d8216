"""What lint finds, where it says so, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.errors import NothingToRead, UnknownRule
from stethoscope.findings import Subject, catalogue
from stethoscope.lint import LintReport, lint
from tests.lint.trainings import HEALTHY, SICK, SICK_LINE, TEXT_NUMBER, written
from tests.literate import Case, cases

LINTED = {rule.name for rule in catalogue() if rule.subject is not Subject.RUN}
# A case with a log may speak of what the run did with its settings, which lint does not read.
ENDINGS_OF_LOGS = (".csv", ".log", ".jsonl", ".txt")
CASES = [
    case
    for case in cases()
    if case.rule in LINTED and not any(name.endswith(ENDINGS_OF_LOGS) for _, name, _ in case.files)
]


def found(report: LintReport) -> list[str]:
    return [f"{Path(one.where.file).name}:{one.where.line} {one.rule.code}" for one in report.findings]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_lint_says_what_the_case_says(case: Case, tmp_path: Path) -> None:
    case.write(tmp_path)
    try:
        report = lint([tmp_path], select=[case.rule])
    except NothingToRead:
        assert case.not_examined
        return
    said = [(str(p), o.found.finding.message) for o in report.findings for p in (o.where, *o.also)]
    if case.silent:
        assert said == []
    if case.not_examined:
        assert [one.rule.name for one in report.not_examined] == [case.rule]
    for where, words in case.reported:
        assert any(words in text and (where is None or place.endswith(where)) for place, text in said), said


def test_source_and_settings_are_told_about_in_order(tmp_path: Path) -> None:
    report = lint([written(tmp_path, {"train.py": SICK, "conf.yaml": TEXT_NUMBER})])
    assert found(report) == ["conf.yaml:1 SET102", f"train.py:{SICK_LINE} COD101"]
    assert report.findings[1].where.column == 16
    assert report.findings[1].line.strip() == "loss = ssim(output, y)"
    assert [place.line for place in report.findings[1].also] == [10]


def test_only_what_was_asked_about_is_told_about(tmp_path: Path) -> None:
    written(tmp_path, {"pyproject.toml": "", "a/train.py": SICK, "b/train.py": SICK})
    assert found(lint([tmp_path / "a"])) == [f"train.py:{SICK_LINE} COD101"]
    assert len(lint([tmp_path]).findings) == 2


def test_the_project_around_a_file_says_what_its_names_mean(tmp_path: Path) -> None:
    helper = "from pytorch_msssim import ssim\n\n\ndef objective(a, b):\n    return ssim(a, b)\n"
    train = SICK.replace("from pytorch_msssim import ssim", "from lib.losses import objective").replace(
        "ssim(output, y)", "objective(output, y)"
    )
    written(tmp_path, {"setup.py": "", "lib/__init__.py": "", "lib/losses.py": helper, "train.py": train})
    report = lint([tmp_path / "train.py"])
    assert found(report) == [f"train.py:{SICK_LINE} COD101"]
    assert (len(report.files), report.context) == (1, 2)
    assert found(lint([tmp_path / "lib"])) == []


def test_scripts_that_do_not_import_each_other_are_examined_apart(tmp_path: Path) -> None:
    files = {f"{name}.py": SICK if name == "b" else HEALTHY for name in "abc"}
    report = lint([written(tmp_path, files)])
    assert found(report) == [f"b.py:{SICK_LINE} COD101"]
    assert report.programs == 3


def test_tests_and_records_of_runs_are_left_out_and_named(tmp_path: Path) -> None:
    written(
        tmp_path,
        {
            "pyproject.toml": "",
            "train.py": HEALTHY,
            "tests/train.py": SICK,
            "runs/a/train.py": SICK,
            "runs/a/train.log": "step 1\n",
        },
    )
    report = lint([tmp_path])
    assert report.findings == ()
    assert {Path(one.file).parent.name for one in report.passed} == {"tests", "a"}
    assert found(lint([tmp_path / "tests"])) == [f"train.py:{SICK_LINE} COD101"]


def test_what_lies_beside_a_named_script_is_read_wherever_that_is(tmp_path: Path) -> None:
    helper = "from pytorch_msssim import ssim\n\n\ndef objective(a, b):\n    return ssim(a, b)\n"
    train = SICK.replace("from pytorch_msssim import ssim", "from losses import objective").replace(
        "ssim(output, y)", "objective(output, y)"
    )
    folder = "tests/fixtures"
    written(tmp_path, {"setup.py": "", f"{folder}/losses.py": helper, f"{folder}/train.py": train})
    assert found(lint([tmp_path / folder / "train.py"])) == [f"train.py:{SICK_LINE} COD101"]


def test_a_run_that_is_named_is_examined_and_never_changed(tmp_path: Path) -> None:
    written(tmp_path, {"pyproject.toml": "", "runs/a/train.py": SICK, "runs/a/train.log": "step 1\n"})
    (one,) = lint([tmp_path / "runs" / "a"]).findings
    assert not one.fixable(unsafe=True)
    assert one.keeps == "a run's record is never changed"


def test_a_comment_ignores_a_finding(tmp_path: Path) -> None:
    known = SICK.replace("ssim(output, y)", "ssim(output, y)  # stethoscope: ignore[COD101] on purpose")
    report = lint([written(tmp_path, {"train.py": known})])
    assert (report.findings, report.ignored) == ((), 1)


def test_settings_choose_rules_and_files(tmp_path: Path) -> None:
    section = "[tool.stethoscope.lint]\n"
    project = {"train.py": SICK, "old/train.py": SICK, "conf.yaml": TEXT_NUMBER}

    def told(settings: str, **asked: list[str]) -> list[str]:
        return found(lint([written(tmp_path, {**project, "pyproject.toml": section + settings})], **asked))

    assert told('ignore = ["settings"]\nexclude = ["old"]') == ["train.py:9 COD101"]
    assert told('select = ["SET"]') == ["conf.yaml:1 SET102"]
    assert told('per-file-ignores = { "old/**" = ["COD"], "*.yaml" = ["number-is-a-string"] }') == [
        "train.py:9 COD101"
    ]
    assert told('ignore = ["COD"]\nexclude = ["old"]', select=["COD101"]) == ["train.py:9 COD101"]


def test_a_rule_that_needs_a_run_cannot_be_selected(tmp_path: Path) -> None:
    with pytest.raises(UnknownRule, match="AMP101 looks at what a run logged"):
        lint([written(tmp_path, {"train.py": SICK})], select=["AMP101"])
    with pytest.raises(UnknownRule, match="Did you mean similarity-minimised"):
        lint([tmp_path], select=["similarity-minimized"])


def test_a_rule_that_could_not_look_did_not_pass(tmp_path: Path) -> None:
    report = lint([written(tmp_path, {"conf.yaml": "lr: 0.1\n"})])
    missed = {one.rule.code for one in report.not_examined}
    assert {"COD101", "COD102"} <= missed
    assert "SET102" in {rule.code for rule in report.clear}
    assert missed.isdisjoint(rule.code for rule in report.clear)


def test_nothing_to_lint_is_said(tmp_path: Path) -> None:
    with pytest.raises(NothingToRead, match="nothing to lint in"):
        lint([tmp_path])
    with pytest.raises(NothingToRead, match="no such file"):
        lint([tmp_path / "absent"])


def test_alternative_settings_are_never_mixed(tmp_path: Path) -> None:
    """A weight that one file makes positive and another negative is two experiments, not a third."""
    train = SICK.replace("def train(model,", "def train(cfg, model,").replace(
        "ssim(output, y)", 'cfg["weight"] * ssim(output, y)'
    )
    main = '\n\nimport yaml\n\nif __name__ == "__main__":\n    train(yaml.safe_load(open(PATH)), m, l, o)\n'
    written(tmp_path, {"train.py": train + main, "a.yaml": "weight: -1.0\n", "b.yaml": "weight: -2.0\n"})
    assert lint([tmp_path]).findings == ()


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    written(
        tmp_path,
        {
            "train.py": SICK,
            "broken.py": "def f(:\n",
            "binary.py": b"\x00\x01\xff",
            "long.py": b"x = 1\n" * 400_000,
            "latin.py": b"name = '\xe9'\n",
            "bad.yaml": "a: [\n",
        },
    )
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere.py")
    report = lint([tmp_path])
    assert found(report) == [f"train.py:{SICK_LINE} COD101"]
    unread = {Path(one.file).name: one.reason for one in report.unread}
    assert set(unread) == {"broken.py", "binary.py", "long.py", "latin.py", "bad.yaml", "gone.py"}
    assert "not valid Python" in unread["broken.py"]
    assert "which no one writes by hand" in unread["long.py"]


def test_a_file_that_vanishes_while_it_is_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, {"train.py": SICK, "other.py": "import torch\n"})
    read = Path.read_bytes

    def vanishing(path: Path) -> bytes:
        if path.name == "other.py":
            raise FileNotFoundError(2, "No such file or directory")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", vanishing)
    report = lint([tmp_path])
    assert [Path(one.file).name for one in report.unread] == ["other.py"]
    assert len(report.findings) == 1


def test_settings_that_might_be_anybodys_are_held_against_nobody(tmp_path: Path) -> None:
    """A key is unknown to a program that reads it, and to no other."""
    program = """\
from dataclasses import dataclass

import yaml


@dataclass
class Options:
    lr: float = 0.1
    batch_size: int = 8
    steps: int = 100


def main(path):
    options = Options(**yaml.safe_load(open(path)))
    print(options.lr, options.batch_size, options.steps)


main("first.yaml")
"""
    settings = "lr: 0.5\nbatch_sise: 4\nsteps: 5\n"
    other = program.replace("first.yaml", "elsewhere")
    written(tmp_path, {"a.py": program, "b.py": other, "first.yaml": settings})
    (one,) = lint([tmp_path], select=["SET101"]).findings
    assert "did you mean batch_size?" in one.found.finding.message
    (tmp_path / "first.yaml").rename(tmp_path / "second.yaml")
    assert lint([tmp_path], select=["SET101"]).findings == ()


def test_a_number_is_no_text_where_one_of_several_readers_may_convert_it(tmp_path: Path) -> None:
    """Examples that ship beside two programs, and nothing says which of them takes the files."""
    plain = "import yaml\n\n\ndef rate(path):\n    return yaml.safe_load(open(path))['lr'] * 2\n"
    typed = "import yaml\nfrom pydantic import BaseModel\n\n\nclass Options(BaseModel):\n    lr: float\n"
    written(tmp_path, {"a.py": plain, "b.py": plain, "examples/small.yaml": TEXT_NUMBER})
    assert found(lint([tmp_path], select=["SET102"])) == ["small.yaml:1 SET102"]
    written(tmp_path, {"b.py": typed})
    assert lint([tmp_path], select=["SET102"]).findings == ()
