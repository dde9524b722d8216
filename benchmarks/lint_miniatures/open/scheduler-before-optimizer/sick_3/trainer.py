import torch
from torch import nn
from torch.optim.lr_scheduler import MultiStepLR
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, epochs=90):
        self.model = model
        self.epochs = epochs
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
        self.scheduler = MultiStepLR(self.optimizer, milestones=[30, 60], gamma=0.1)

    def on_epoch_start(self): #@
        self.model.train()
        self.scheduler.step() #@

    def run_epoch(self, loader):
        for x, y in loader:
            loss = nn.functional.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step() #@
        return loss.item()

    def fit(self, loader):
        for epoch in range(self.epochs):
            self.on_epoch_start() #@
            loss = self.run_epoch(loader)
            print(f"{epoch:03d} {loss:.4f}")


if __name__ == "__main__":
    ds = TensorDataset(torch.randn(600, 17), torch.randint(0, 3, (600,)))
    Trainer(nn.Sequential(nn.Linear(17, 34), nn.ReLU(), nn.Linear(34, 3))).fit(
        DataLoader(ds, batch_size=60, shuffle=True)
    )
