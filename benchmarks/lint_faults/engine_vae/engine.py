from collections import defaultdict

import torch

EVENTS = ("epoch_start", "backward_done", "gradients_ready", "step_done", "epoch_end")


class Engine:
    """Runs batches through `objective`; everything else hangs on events."""

    def __init__(self, model, optimizer, objective, device, dtype):
        self.model, self.optimizer, self.objective = model, optimizer, objective
        self.device, self.dtype = device, dtype
        self.amp = device.type == "cuda" and dtype != torch.float32
        self.scaler = torch.amp.GradScaler(device.type, enabled=self.amp and dtype == torch.float16)
        self.handlers = defaultdict(list)
        self.epoch, self.step, self.output, self.skipped = 0, 0, {}, False

    def on(self, event):
        if event not in EVENTS:
            raise ValueError(event)

        def register(handler):
            self.handlers[event].append(handler)
            return handler

        return register

    def fire(self, event):
        for handler in self.handlers[event]:
            handler(self)

    def evaluate(self, batch):
        with torch.autocast(self.device.type, dtype=self.dtype, enabled=self.amp):
            outputs = self.model(batch)
        return self.objective(batch, *(o.float() for o in outputs))

    def train_on(self, batch):
        self.output = self.evaluate(batch)
        self.scaler.scale(self.output["loss"]).backward()
        self.fire("backward_done")
        self.scaler.unscale_(self.optimizer)
        self.fire("gradients_ready")
        scale = self.scaler.get_scale()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.skipped = self.scaler.get_scale() < scale
        self.step += 1
        self.fire("step_done")

    def run(self, loader, epochs):
        while self.epoch < epochs:
            self.model.train()
            self.fire("epoch_start")
            for (batch,) in loader:
                self.train_on(batch.to(self.device))
            self.epoch += 1
            self.fire("epoch_end")
