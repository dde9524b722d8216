from contextlib import contextmanager

import torch


class AmpHelper:
    def __init__(self, enabled=True, use_scaler=False): #@
        self.enabled = enabled
        self.scaler = torch.amp.GradScaler("cuda", enabled=use_scaler) #@

    @contextmanager
    def forward(self):
        with torch.autocast("cuda", dtype=torch.float16, enabled=self.enabled): #@
            yield

    def backward_and_step(self, loss, optimizer):
        optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward() #@
        self.scaler.step(optimizer)
        self.scaler.update()
