import copy

import lightning as L
import torch


class EMACallback(L.Callback):
    def __init__(self, decay=0.9995):
        self.decay = decay
        self.ema = None
        self.backup = None

    def on_fit_start(self, trainer, module):
        self.ema = copy.deepcopy(module.net).requires_grad_(False)  #@

    @torch.no_grad()
    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        for e, p in zip(self.ema.parameters(), module.net.parameters()):
            e.lerp_(p, 1 - self.decay)

    def on_validation_start(self, trainer, module):
        if self.ema is not None:
            self.backup = copy.deepcopy(module.net.state_dict())  #@

    def on_validation_end(self, trainer, module):
        if self.backup is not None:
            module.net.load_state_dict(self.backup)  #@
            self.backup = None
