import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.loss_fn = nn.CrossEntropyLoss()

    def train_epoch(self, loader):
        self.model.train()
        for x, y in loader:
            self.opt.zero_grad()
            self.loss_fn(self.model(x), y).backward()
            self.opt.step()

    @torch.no_grad()
    def test(self, loader):
        self.model.eval()
        losses = [self.loss_fn(self.model(x), y) for x, y in loader]
        return torch.stack(losses).mean().item()


if __name__ == "__main__":
    x, y = torch.randn(1000, 1, 16, 16), torch.randint(0, 10, (1000,))
    net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 14 * 14, 10))
    trainer = Trainer(net, lr=0.01)
    train_dl = DataLoader(TensorDataset(x[:800], y[:800]), batch_size=32, shuffle=True)
    test_dl = DataLoader(TensorDataset(x[800:], y[800:]), batch_size=100)
    for epoch in range(10):
        trainer.train_epoch(train_dl)
        print(epoch, trainer.test(test_dl))
