from copy import deepcopy

import torch


class ModelEma(torch.nn.Module):
    def __init__(self, model, decay):
        super().__init__()
        self.module = deepcopy(model)
        self.module.eval()
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for e, m in zip(self.module.state_dict().values(), model.state_dict().values()):
            if e.dtype.is_floating_point:
                e.copy_(self.decay * e + (1.0 - self.decay) * m)
            else:
                e.copy_(m)
