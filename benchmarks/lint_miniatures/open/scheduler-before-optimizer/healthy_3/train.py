import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, epochs):
        self.model, self.epochs = model, epochs
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=epochs)

    def _start_epoch(self, epoch):
        if epoch > 0:
            self.scheduler.step()
        self.model.train()

    def fit(self, loader):
        for epoch in range(self.epochs):
            self._start_epoch(epoch)
            for x, y in loader:
                self.optimizer.zero_grad()
                loss = nn.functional.cross_entropy(self.model(x), y)
                loss.backward()
                self.optimizer.step()
            print(epoch, self.scheduler.get_last_lr()[0], loss.item())


if __name__ == "__main__":
    ds = TensorDataset(torch.randn(900, 10), torch.randint(0, 3, (900,)))
    net = nn.Sequential(nn.Linear(10, 30), nn.ReLU(), nn.Linear(30, 3))
    Trainer(net, epochs=15).fit(DataLoader(ds, batch_size=30, shuffle=True))
