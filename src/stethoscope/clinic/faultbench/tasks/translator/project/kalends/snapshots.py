"""Sessions on disk: everything that is needed to go on as if nothing had happened."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import torch


def keep(session, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    torch.save(
        {
            "net": session.net.state_dict(),
            "shadow": session.shadow.net.state_dict() if session.shadow else None,
            "optimizer": session.optimizer.state_dict(),
            "annealing": session.annealing.state_dict(),
            "feed": session.feed.state_dict(),
            "update": session.update,
            "best": session.best,
            "rng": torch.get_rng_state(),
            "model": dataclasses.asdict(session.recipe.model),
        },
        unfinished,
    )
    unfinished.replace(path)


def newest(folder: Path) -> Path:
    return max((folder / "snapshots").glob("update_*.pt"))


def take_up(session, path: Path) -> None:
    """Put a session where it was when a snapshot was made."""
    kept = torch.load(path)
    session.net.load_state_dict(kept["net"])
    if session.shadow:
        session.shadow.net.load_state_dict(kept["shadow"])
    session.optimizer.load_state_dict(kept["optimizer"])
    session.annealing.load_state_dict(kept["annealing"])
    session.feed.load_state_dict(kept["feed"])
    session.update = kept["update"]
    session.best = kept["best"]
    torch.set_rng_state(kept["rng"])
    print(f"taking up {path.name}: update {session.update}, best nll {session.best:.4f}")
