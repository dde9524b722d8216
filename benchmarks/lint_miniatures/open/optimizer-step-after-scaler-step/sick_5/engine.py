import torch


def optimizer_step(optimizer, scaler, params, clip=1.0):
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(params, clip)
    scaler.step(optimizer) #@
    scaler.update()


class EMAOptimizer:
    def __init__(self, optimizer, params, decay=0.999):
        self.optimizer = optimizer
        self.params = list(params)
        self.shadow = [p.detach().clone() for p in self.params]
        self.decay = decay

    @torch.no_grad()
    def step(self):
        self.optimizer.step() #@
        for s, p in zip(self.shadow, self.params):
            s.lerp_(p, 1 - self.decay)
