import torch


class AccumulatingStepper:
    def __init__(self, model, optimizer, every, max_norm=5.0):  #@
        self.model, self.optimizer = model, optimizer
        self.every, self.max_norm = every, max_norm
        self.count = 0

    def __call__(self, loss):
        loss.backward()  #@
        self.count += 1
        if self.count % self.every == 0:
            self.flush()

    def flush(self):
        if self.count == 0:
            return
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.count = 0
