import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, backbone, dim, classes):
        self.model = backbone
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.head = nn.Linear(dim, classes)
        self.optimizer.add_param_group({"params": self.head.parameters(), "lr": 1e-3})

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            self.head.train()
            for x, y in loader:
                self.optimizer.zero_grad()
                loss = nn.functional.cross_entropy(self.head(self.model(x)), y)
                loss.backward()
                self.optimizer.step()
            print(epoch, loss.item())


if __name__ == "__main__":
    ds = TensorDataset(torch.randn(800, 16), torch.randint(0, 4, (800,)))
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU())
    Trainer(net, 32, 4).fit(DataLoader(ds, batch_size=20, shuffle=True), 10)
