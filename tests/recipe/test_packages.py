"""Which versions a run was made with."""

from __future__ import annotations

from pathlib import Path

from stethoscope.recipe.packages import packages_of
from stethoscope.run import ConfigFile, Recipe, Setting, Where
from stethoscope.run.folder import walk


def versions(folder: Path, heads: str = "", recipe: Recipe | None = None) -> dict[str, str]:
    found = packages_of(walk(folder, "run").files, [("train.log", heads)], recipe)
    return {package.name: package.version for package in found}


def test_pins_are_read_from_requirements(tmp_path: Path) -> None:
    pinned = ("torch==2.1.0+cu118", "transformers[torch] == 4.40.2  # why")
    open_ones = ("numpy>=1.26", "accelerate==0.*", "# trl==1.0.0")
    (tmp_path / "requirements.txt").write_text("\n".join((*pinned, *open_ones)))
    assert versions(tmp_path) == {"torch": "2.1.0", "transformers": "4.40.2"}


def test_pins_are_read_from_an_environment_and_a_project(tmp_path: Path) -> None:
    (tmp_path / "environment.yml").write_text(
        "dependencies:\n  - pytorch=2.0.1\n  - pip:\n    - lightning==2.1.0\n"
    )
    (tmp_path / "pyproject.toml").write_text(
        '[project]\ndependencies = ["trl==0.9.6", "peft>=0.1"]\nversion = "1.2.3"\n'
    )
    assert versions(tmp_path) == {"torch": "2.0.1", "pytorch-lightning": "2.1.0", "trl": "0.9.6"}


def test_a_lock_says_more_than_a_pin(tmp_path: Path) -> None:
    (tmp_path / "uv.lock").write_text('version = 1\n[[package]]\nname = "Transformers"\nversion = "4.46.3"\n')
    (tmp_path / "requirements.txt").write_text("transformers==4.40.0\n")
    assert versions(tmp_path) == {"transformers": "4.46.3"}


def test_what_the_run_printed_goes_before_what_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("deepspeed==0.9.0\n")
    printed = "[INFO] [logging.py:96] DeepSpeed info: version=0.14.2, git-hash=unknown\n"
    assert versions(tmp_path, printed) == {"deepspeed": "0.14.2"}


def test_what_frameworks_print_at_the_start(tmp_path: Path) -> None:
    basicsr = "Version Information: \n\tBasicSR: 1.4.2\n\tPyTorch: 1.13.1+cu117\n\tTorchVision: 0.14.1\n"
    assert versions(tmp_path, basicsr) == {"basicsr": "1.4.2", "torch": "1.13.1"}
    yolo = "Ultralytics YOLOv8.2.50 \U0001f680 Python-3.10.12 torch-2.3.0+cu121 CUDA:0\n"
    assert versions(tmp_path, yolo) == {"ultralytics": "8.2.50", "torch": "2.3.0"}


def test_settings_record_versions(tmp_path: Path) -> None:
    setting = Setting(("transformers_version",), "4.41.2", Where("config.json", line=3))
    header = ConfigFile("config.yaml", "# lightning.pytorch==2.2.1\nseed_everything: 1\n", "run")
    assert versions(tmp_path, recipe=Recipe((setting,), (header,))) == {
        "transformers": "4.41.2",
        "pytorch-lightning": "2.2.1",
    }


def test_a_broken_lock_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "poetry.lock").write_text("[[package]\nname = ")
    (tmp_path / "uv.lock").write_text("package = 3\n")
    assert versions(tmp_path) == {}
