import torch


class PowerEMA:
    def __init__(self, params, power=0.75, max_decay=0.9998, warmup=0):
        self.params = list(params)
        self.power, self.max_decay, self.warmup = power, max_decay, warmup
        self.step_count = 0
        self.average = [p.detach().clone() for p in self.params]

    def decay(self):
        t = max(0, self.step_count - self.warmup)
        return min(self.max_decay, 1 - (1 + t) ** -self.power)

    @torch.no_grad()
    def step(self):
        beta = self.decay()
        self.step_count += 1
        torch._foreach_mul_(self.average, beta)
        torch._foreach_add_(self.average, self.params, alpha=1 - beta)
