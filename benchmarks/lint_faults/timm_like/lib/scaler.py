import torch


def dispatch_clip_grad(parameters, value, mode="norm"):
    if mode == "norm":
        torch.nn.utils.clip_grad_norm_(parameters, value)
    elif mode == "value":
        torch.nn.utils.clip_grad_value_(parameters, value)
    else:
        raise ValueError(f"unknown clip mode {mode}")


class NativeScaler:
    state_dict_key = "amp_scaler"

    def __init__(self, device="cuda", enabled=True):
        self._scaler = torch.amp.GradScaler(device, enabled=enabled)

    def __call__(self, loss, optimizer, clip_grad=None, clip_mode="norm", parameters=None, need_update=True):
        self._scaler.scale(loss).backward()
        if not need_update:
            return
        if clip_grad is not None:
            self._scaler.unscale_(optimizer)
            dispatch_clip_grad(parameters, clip_grad, mode=clip_mode)
        self._scaler.step(optimizer)
        self._scaler.update()

    def state_dict(self):
        return self._scaler.state_dict()

    def load_state_dict(self, state_dict):
        self._scaler.load_state_dict(state_dict)
