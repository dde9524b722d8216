"""What the next run is held to, once what is prescribed is made."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from stethoscope.cli.prescribe import command

SETTINGS = "optim:\n  lr: 0.001\n  warmup_steps: 5000  # as in the paper\ntrain:\n  max_steps: 2000\n"
LOG = "".join(
    f"step {s} loss {4 - s / 1000:.4f} lr {1e-3 * (s + 1) / 5000:.3e}\n" for s in range(0, 2000, 20)
)


def trajectory(folder: Path, level: str) -> dict[str, Any]:
    """What `prescribe --trajectory` writes about a run whose warm-up outlasts it."""
    (folder / "pyproject.toml").write_text('[project]\nname = "nano"\n')
    (folder / "settings.yml").write_text(SETTINGS)
    (folder / "train.log").write_text(LOG)
    target = folder / "stethoscope.toml"
    done = CliRunner().invoke(
        command, [str(folder), "--level", level, "--trajectory", str(target)], standalone_mode=False
    )
    assert done.exception is None, done.exception
    return tomllib.loads(target.read_text())


def test_the_next_run_is_held_to_the_settings_that_are_prescribed(tmp_path: Path) -> None:
    told = trajectory(tmp_path, "unsafe")
    assert [phase["to"] for phase in told["phase"]] == [100]
    assert "lr" not in told["signal"]


def test_what_is_not_to_be_made_changes_nothing(tmp_path: Path) -> None:
    told = trajectory(tmp_path, "safe")
    assert [phase["to"] for phase in told["phase"]] == [5000]
    assert "lr" in told["signal"]
