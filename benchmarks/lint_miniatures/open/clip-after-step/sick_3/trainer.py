import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Callback:
    def on_after_step(self, trainer):
        pass


class GradientClipping(Callback):
    def __init__(self, max_norm):
        self.max_norm = max_norm

    def on_after_step(self, trainer): #@
        nn.utils.clip_grad_norm_(trainer.model.parameters(), self.max_norm) #@


class Trainer:
    def __init__(self, model, callbacks=()):
        self.model = model
        self.callbacks = list(callbacks)
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            for x, y in loader:
                self.optimizer.zero_grad()
                loss = nn.functional.cross_entropy(self.model(x), y)
                loss.backward()
                self.optimizer.step() #@
                for cb in self.callbacks:
                    cb.on_after_step(self) #@
            print(epoch, loss.item())


if __name__ == "__main__":
    ds = TensorDataset(torch.randn(900, 14), torch.randint(0, 3, (900,)))
    model = nn.Sequential(nn.Linear(14, 28), nn.ReLU(), nn.Linear(28, 3))
    Trainer(model, [GradientClipping(1.0)]).fit(DataLoader(ds, batch_size=30, shuffle=True), 10)
