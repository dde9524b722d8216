"""A loop that tells its listeners what happens."""
from collections import defaultdict
from contextlib import contextmanager

import torch


@contextmanager
def evaluating(*modules):
    modes = [m.training for m in modules]
    for m in modules:
        m.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for m, mode in zip(modules, modes):
            m.train(mode)


class Engine:
    def __init__(self, model, optimizer, scheduler, scaler, device, max_norm):
        self.model, self.optimizer, self.scheduler, self.scaler = model, optimizer, scheduler, scaler
        self.device, self.max_norm = device, max_norm
        self.epoch = 0
        self._listeners = defaultdict(list)

    def on(self, event):
        def add(fn):
            self._listeners[event].append(fn)
            return fn

        return add

    def emit(self, event, **info):
        for fn in self._listeners[event]:
            fn(self, **info)

    def compute_loss(self, batch):
        raise NotImplementedError

    def update(self, batch):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.compute_loss(batch)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.scheduler.step()
        return loss.detach()

    def fit(self, loader, epochs):
        self.model.train()
        while self.epoch < epochs:
            losses = []
            for batch in loader:
                losses.append(self.update({k: v.to(self.device) for k, v in batch.items()}))
            self.emit("epoch_end", loss=torch.stack(losses).mean().item())
            self.epoch += 1

    def state_dict(self):
        parts = {k: getattr(self, k).state_dict() for k in ("model", "optimizer", "scheduler", "scaler")}
        return {**parts, "epoch": self.epoch + 1}

    def load_state_dict(self, state):
        for k in ("model", "optimizer", "scheduler", "scaler"):
            getattr(self, k).load_state_dict(state[k])
        self.epoch = state["epoch"]
