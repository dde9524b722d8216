import lightning as L
import torch


class StopOnPlateau(L.Callback):
    """Ends the run when the validation loss, smoothed over epochs, no longer falls."""

    def __init__(self, patience, smooth=0.5):
        self.patience, self.smooth = patience, smooth
        self.level, self.lowest, self.waited = None, float("inf"), 0
        self._losses = []

    def state_dict(self):
        return {"level": self.level, "lowest": self.lowest, "waited": self.waited}

    def load_state_dict(self, state):
        self.level, self.lowest, self.waited = state["level"], state["lowest"], state["waited"]

    def on_validation_epoch_start(self, trainer, pl_module):
        self._losses = []

    def on_validation_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0):
        self._losses.append(outputs.detach())

    def on_validation_epoch_end(self, trainer, pl_module):
        if trainer.sanity_checking:
            return
        current = torch.stack(self._losses).mean()
        current = float(trainer.strategy.reduce(current, reduce_op="mean"))
        self.level = current if self.level is None else self.smooth * self.level + (1 - self.smooth) * current
        if self.level < self.lowest:
            self.lowest, self.waited = self.level, 0
        else:
            self.waited += 1
        if self.waited >= self.patience:
            trainer.should_stop = True
