import torch

from .registry import WRAPPERS


@WRAPPERS.register
class OptimWrapper:
    """Backward, accumulation, clipping and step in one place."""

    def __init__(self, optimizer, accumulative_counts=1, clip_grad=None):
        self.optimizer = optimizer
        self.counts = accumulative_counts
        self.clip_grad = clip_grad
        self._inner = 0

    def autocast(self, device):
        return torch.autocast(device.type, enabled=False)

    def should_update(self):
        return self._inner % self.counts == 0

    def update_params(self, loss):
        self._inner += 1
        self.backward(loss / self.counts)
        if self.should_update():
            self.step()
            self.zero_grad()

    def backward(self, loss):
        loss.backward()

    def zero_grad(self):
        self.optimizer.zero_grad(set_to_none=True)

    def _clip(self):
        if self.clip_grad:
            params = [p for g in self.optimizer.param_groups for p in g["params"]]
            torch.nn.utils.clip_grad_norm_(params, **self.clip_grad)

    def step(self):
        self._clip()
        self.optimizer.step()

    def state_dict(self):
        return {"optimizer": self.optimizer.state_dict(), "inner": self._inner}

    def load_state_dict(self, state):
        self.optimizer.load_state_dict(state["optimizer"])
        self._inner = state["inner"]


@WRAPPERS.register
class AmpOptimWrapper(OptimWrapper):
    """float16 on a GPU, with dynamic loss scaling; plain float32 on the CPU."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.enabled = torch.cuda.is_available()
        self.loss_scaler = torch.amp.GradScaler("cuda", enabled=self.enabled)

    def autocast(self, device):
        return torch.autocast(device.type, dtype=torch.float16, enabled=self.enabled)

    def backward(self, loss):
        self.loss_scaler.scale(loss).backward()

    def step(self):
        self.loss_scaler.unscale_(self.optimizer)
        self._clip()
        self.loss_scaler.step(self.optimizer)
        self.loss_scaler.update()

    def state_dict(self):
        return {**super().state_dict(), "loss_scaler": self.loss_scaler.state_dict()}

    def load_state_dict(self, state):
        super().load_state_dict(state)
        self.loss_scaler.load_state_dict(state["loss_scaler"])
