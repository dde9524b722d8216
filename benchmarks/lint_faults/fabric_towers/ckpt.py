from pathlib import Path


class Checkpoints:
    """Keeps `last` and `best`; `objects` are saved and restored by Fabric in place."""

    def __init__(self, fabric, folder, **objects):
        self.fabric, self.folder, self.objects = fabric, Path(folder), objects
        self.epoch, self.step, self.best = 0, 0, float("inf")

    @property
    def last(self):
        return self.folder / "last.ckpt"

    def save(self, score):
        state = {**self.objects, "epoch": self.epoch, "step": self.step, "best": min(score, self.best)}
        self.fabric.save(self.last, state)
        if score < self.best:
            self.best = score
            self.fabric.save(self.folder / "best.ckpt", state)

    def restore(self):
        state = {**self.objects, "epoch": 0, "step": 0, "best": 0.0}
        self.fabric.load(self.last, state)
        self.epoch, self.step, self.best = state["epoch"], state["step"], state["best"]
