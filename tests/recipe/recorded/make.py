"""Record what the frameworks themselves compose from the settings kept here.

    python make.py hydra|mmengine|lightning|accelerate|transformers

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


if __name__ == "__main__":
    globals()[sys.argv[1]]()
