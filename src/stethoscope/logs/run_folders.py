"""Which folders of a tree are runs of their own, told by where the logs lie.

runs/a/train.log                    a folder with a log is a run,
runs/a/tb/events.out.tfevents.1     with the folders below that keep a part of it;
runs/b/logs/train.csv               b is a run whose only log lies in such a part;
runs/launcher.log                   beside two runs and more, a lone log is one of its own
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from stethoscope.run.file_times import LogFile

# Folders in which frameworks keep one kind of a run's records.
_PART = re.compile(
    r"logs?|csv_?logs?|stdout|stderr|slurm|console|metrics?|stats|statistics|history|summar(?:y|ies)|events?"
    r"|tb|tb_?log(?:s|ger)?|tensorboard.*|scalars?|vis_data|files|artifacts|\.hydra"
    r"|train(?:ing)?|val(?:id|idation)?|eval(?:uation)?|test(?:ing)?|dev"
    r"|(?:checkpoint|ckpt|global_?step|step|iter|epoch)s?[-_]?\d*|(?:rank|gpu|worker|node|proc|process|host)[-_]?\d+",
    re.IGNORECASE,
)
# Folders in which frameworks keep runs; what they hold beside a log is a record of that log's run.
_CONTAINER = re.compile(
    r"runs?|wandb|lightning_logs|mlruns|tb_logs|outputs?|results?|run-.*|offline-run-.*|\d+", re.IGNORECASE
)
EVENTS = "tfevents"


def run_folders(logs: Iterable[LogFile], root: Path) -> dict[Path, Path]:
    """The run folder of every folder that holds a log, below `root`."""
    tree = _Tree(logs, root)
    found = {home: folder for folder, homes in _runs(root, tree) for home in homes}
    return {home: found.get(home, home) for home in tree.names}


class _Tree:
    """The folders that hold logs, themselves or below."""

    def __init__(self, logs: Iterable[LogFile], root: Path) -> None:
        names: dict[Path, list[str]] = defaultdict(list)
        children: dict[Path, dict[Path, None]] = defaultdict(dict)
        for file in logs:
            home = file.entry.path.parent
            names[home].append(file.entry.name)
            while home != root and root in home.parents:
                children[home.parent][home] = None
                home = home.parent
        self.names: Mapping[Path, list[str]] = dict(names)
        self.children: Mapping[Path, Iterable[Path]] = dict(children)


def _runs(folder: Path, tree: _Tree) -> list[tuple[Path, list[Path]]]:
    """The run folders at or below a folder, each with the folders that hold its logs."""
    own = [folder] if folder in tree.names else []
    below: list[tuple[Path, list[Path]]] = []
    for child in tree.children.get(folder, ()):
        runs = _runs(child, tree)
        if len(runs) == 1 and _belongs(child, folder, bool(own), tree):
            own += runs[0][1]
        else:
            below += runs
    if not own:
        return below
    if len(below) == 1:
        return [(folder, [*own, *below[0][1]])]
    return [(folder, own), *below]


def _belongs(child: Path, folder: Path, has_logs: bool, tree: _Tree) -> bool:
    if _PART.fullmatch(child.name):
        return True
    if not has_logs:
        return False
    # TensorBoard's add_scalars writes each of its curves into a folder named after it.
    curves = all(EVENTS in name for name in tree.names.get(child, ("",)))
    return bool(_CONTAINER.fullmatch(child.name)) or (
        curves and any(EVENTS in name for name in tree.names[folder])
    )
