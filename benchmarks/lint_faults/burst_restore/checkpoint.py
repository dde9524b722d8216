from pathlib import Path

import torch


class CheckpointManager:
    """Writes `last.pt` every epoch and `best.pt` when the validation improves."""

    def __init__(self, out_dir: str, **stateful):
        self.dir = Path(out_dir)
        self.dir.mkdir(parents=True, exist_ok=True)
        self.stateful = stateful
        self.best = float("-inf")

    def save(self, epoch: int, score: float) -> bool:
        improved = score > self.best
        self.best = max(self.best, score)
        state = {name: obj.state_dict() for name, obj in self.stateful.items()}
        state.update(epoch=epoch, best=self.best)
        torch.save(state, self.dir / "last.pt")
        if improved:
            torch.save(state, self.dir / "best.pt")
        return improved

    def restore(self, path: str) -> int:
        state = torch.load(path, map_location="cpu")
        for name, obj in self.stateful.items():
            obj.load_state_dict(state[name])
        self.best = state["best"]
        return state["epoch"] + 1
