import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, use_amp=True, lr=1e-3):
        self.model = model.cuda()
        self.use_amp = use_amp
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr, momentum=0.9)
        self.scaler = torch.amp.GradScaler("cuda", enabled=use_amp)

    def _backward(self, loss):
        if self.use_amp:
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.optimizer)
        else:
            loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)

    def _step(self):
        if self.use_amp:
            self.scaler.step(self.optimizer) #@
            self.scaler.update()
        self.optimizer.step() #@
        self.optimizer.zero_grad()

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            for x, y in loader:
                with torch.autocast("cuda", dtype=torch.float16, enabled=self.use_amp):
                    loss = nn.functional.cross_entropy(self.model(x.cuda()), y.cuda())
                self._backward(loss)
                self._step()
            print(epoch, loss.item())


if __name__ == "__main__":
    ds = TensorDataset(torch.randn(500, 13), torch.randint(0, 4, (500,)))
    Trainer(nn.Sequential(nn.Linear(13, 39), nn.ReLU(), nn.Linear(39, 4))).fit(
        DataLoader(ds, batch_size=25, shuffle=True), 10
    )
