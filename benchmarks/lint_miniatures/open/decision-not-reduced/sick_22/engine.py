import math


class LossGuard:
    """Lowers the learning rate when the running loss jumps."""

    def __init__(self, optimizer, factor=0.5, ratio=1.8, momentum=0.98):
        self.optimizer = optimizer
        self.factor, self.ratio, self.momentum = factor, ratio, momentum
        self.average = None

    def __call__(self, loss):
        value = loss.detach().item()  #@
        if self.average is None:
            self.average = value
        if not math.isfinite(value) or value > self.ratio * self.average:  #@
            for group in self.optimizer.param_groups:  #@
                group["lr"] *= self.factor  #@
            return True
        self.average = self.momentum * self.average + (1 - self.momentum) * value
        return False
