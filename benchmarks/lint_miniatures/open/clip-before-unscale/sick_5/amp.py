import torch


class NativeScaler:
    def __init__(self):
        self._scaler = torch.amp.GradScaler("cuda")

    def __call__(self, loss, optimizer, clip_value=None, parameters=None):
        self._scaler.scale(loss).backward()
        if clip_value is not None:
            torch.nn.utils.clip_grad_value_(parameters, clip_value) #@
        self._scaler.step(optimizer) #@
        self._scaler.update()
