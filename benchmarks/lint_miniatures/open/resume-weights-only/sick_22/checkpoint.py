from pathlib import Path


class CheckpointManager:
    def __init__(self, fabric, folder):
        self.fabric, self.folder = fabric, Path(folder)

    @property
    def latest(self):
        found = sorted(self.folder.glob("step_*.ckpt"))
        return found[-1] if found else None

    def save(self, model, optimizer, step):
        state = {"model": model, "optimizer": optimizer, "step": step}
        self.fabric.save(self.folder / f"step_{step:07d}.ckpt", state)

    def restore(self, model):
        path = self.latest
        if path is None:
            return 0
        state = {"model": model}  #@
        rest = self.fabric.load(path, state, strict=False)  #@
        return rest["step"]
