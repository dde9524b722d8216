"""Record what the frameworks themselves compose from the settings kept here.

    python make.py hydra|mmengine|shell|parsers|lightning

Needs the framework named; tests compare our reading with what this wrote, and need none of them.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

HERE = Path(__file__).parent


def hydra() -> None:
    """Compose every case of every tree."""
    from hydra import compose, initialize_config_dir
    from omegaconf import OmegaConf

    os.environ.pop("UNSET_IN_THIS_RUN", None)
    for file in sorted(HERE.glob("hydra/*/cases.json")):
        cases = json.loads(file.read_text())
        for case in cases:
            with initialize_config_dir(str(file.parent / "conf"), version_base="1.3"):
                cfg = compose(case["name"], overrides=case["overrides"])
            case["composed"] = OmegaConf.to_container(cfg, resolve=case.get("resolve", True))
        file.write_text(json.dumps(cases, indent=1) + "\n")


def mmengine() -> None:
    """Load every config of `mmengine/` that is no base."""
    from mmengine.config import Config

    loaded = {}
    for file in sorted((HERE / "mmengine").glob("*.py")):
        loaded[file.name] = Config.fromfile(file).to_dict()
    (HERE / "mmengine" / "loaded.json").write_text(json.dumps(loaded, indent=1) + "\n")


def shell() -> None:
    """Let bash run every script with stand-ins for the programs, which write down their words."""
    import subprocess
    import tempfile

    programs = ("python", "torchrun", "srun", "accelerate", "deepspeed", "tee")
    called = {}
    for file in sorted((HERE / "shell").glob("*.sh")):
        with tempfile.TemporaryDirectory() as work:
            log = Path(work) / "calls"
            stand_in = f"import json, sys; print(json.dumps(sys.argv[1:]), file=open({str(log)!r}, 'a'))"
            (Path(work) / "bin").mkdir()
            for program in programs:
                path = Path(work) / "bin" / program
                path.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{stand_in}" {program} "$@"\n')
                path.chmod(0o755)
            paths = f"{work}/bin:/usr/bin:/bin"
            subprocess.run(
                ["bash", str(file)], cwd=work, env={"PATH": paths}, check=False, capture_output=True
            )
            called[file.name] = [json.loads(line) for line in log.read_text().splitlines()]
    (HERE / "shell" / "called.json").write_text(json.dumps(called, indent=1) + "\n")


def parsers() -> None:
    """Run every script without arguments; each prints what its parser gave."""
    import subprocess

    given = {}
    for file in sorted((HERE / "parsers").glob("*_script.py")):
        done = subprocess.run(
            [sys.executable, str(file)], check=True, capture_output=True, text=True, cwd=file.parent
        )
        given[file.name] = json.loads(done.stdout.splitlines()[-1])
    (HERE / "parsers" / "given.json").write_text(json.dumps(given, indent=1) + "\n")


def lightning() -> None:
    """Let the CLI print the settings that the launcher's command line leads to."""
    import shlex
    import subprocess

    import yaml

    folder = HERE / "lightning"
    words = ["python", "main.py", "fit", "--config", "base.yaml", "--config", "long.yaml"]
    words += shlex.split("--model.init_args.width 256 --trainer.accelerator=cpu --trainer.max_epochs 50")
    command = [sys.executable, *words[1:], "--print_config"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
    (folder / "printed.json").write_text(json.dumps(yaml.safe_load(done.stdout), indent=1) + "\n")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
