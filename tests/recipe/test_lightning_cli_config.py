"""The Lightning CLI: files and command line joined as the CLI itself joined them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from stethoscope.read import read
from stethoscope.recipe.lightning_cli_config import as_loaded
from stethoscope.recipe.yaml_settings import read as read_yaml

RECORDED = Path(__file__).parent / "recorded" / "lightning"


def test_every_setting_is_what_the_cli_printed(tmp_path: Path) -> None:
    for name in ("base.yaml", "long.yaml", "go.sh"):
        shutil.copy(RECORDED / name, tmp_path)
    (tmp_path / "metrics.csv").write_text("step,loss\n0,0.9\n10,0.8\n20,0.7\n")
    recipe = read(tmp_path).recipe
    assert recipe is not None
    printed = json.loads((RECORDED / "printed.json").read_text())
    keys = {s.dotted for s in recipe if len(s.key) > 1 or s.leaf in {"seed_everything", "ckpt_path"}}
    assert len(keys) > 10
    for key in keys:
        setting, expected = recipe.get(key), printed
        for part in key.split("."):
            expected = expected[part]
        assert setting is not None
        assert setting.value == expected, key
    assert [str(Path(s.where.file).name) for s in recipe.layers("trainer.max_epochs")] == [
        "go.sh",
        "long.yaml",
        "base.yaml",
    ]


def test_other_files_are_left_as_pyyaml_loads_them() -> None:
    text = "trainer: {max_epochs: 3}\noptim: {lr: 1e-4}\n"
    settings = read_yaml(text, "train.yaml")
    assert as_loaded(settings) == settings
    numbers = {s.dotted: s.value for s in as_loaded(read_yaml(f"seed_everything: 1\n{text}", "train.yaml"))}
    assert numbers["optim.lr"] == 1e-4
