import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, config):
        self.model = model
        self.config = config
        self.optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"], momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.MultiStepLR(
            self.optimizer, milestones=config["milestones"], gamma=0.1 #@
        )

    def update(self, loss):
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.scheduler.step() #@

    def train_epoch(self, loader):
        self.model.train()
        for x, y in loader:
            loss = nn.functional.cross_entropy(self.model(x), y)
            self.update(loss)
        return loss.item()

    def fit(self, loader):
        for epoch in range(self.config["epochs"]):
            print(epoch, self.train_epoch(loader))


if __name__ == "__main__":
    config = {"lr": 0.1, "epochs": 100, "milestones": [60, 80], "batch_size": 50} #@
    ds = TensorDataset(torch.randn(5000, 20), torch.randint(0, 5, (5000,)))
    net = nn.Sequential(nn.Linear(20, 80), nn.ReLU(), nn.Linear(80, 5))
    Trainer(net, config).fit(DataLoader(ds, batch_size=config["batch_size"], shuffle=True))
