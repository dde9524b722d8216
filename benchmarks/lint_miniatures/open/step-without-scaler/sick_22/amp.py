import contextlib

import torch


class Precision:
    def __init__(self, enabled):
        self.enabled = enabled
        self.scaler = torch.amp.GradScaler("cuda", enabled=enabled)

    def context(self):
        if not self.enabled:
            return contextlib.nullcontext()
        return torch.autocast("cuda", dtype=torch.float16)

    def backward(self, loss):
        self.scaler.scale(loss).backward()  #@

    def optimizer_step(self, optimizer, parameters, max_norm):
        self.scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(parameters, max_norm)
        optimizer.step()  #@
        self.scaler.update()  #@
