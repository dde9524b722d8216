import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

LOSSES = {
    "bce": nn.BCEWithLogitsLoss, #@
    "mse": nn.MSELoss,
}


class MultiLabelNet(nn.Module):
    def __init__(self, features, tags):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(features, 128), nn.ReLU())
        self.head = nn.Linear(128, tags)

    def forward(self, x):
        logits = self.head(self.trunk(x))
        return nn.functional.sigmoid(logits) #@


class Trainer:
    def __init__(self, args):
        self.args = args
        self.model = MultiLabelNet(40, 12)
        self.criterion = LOSSES[args.loss]() #@
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        data = TensorDataset(torch.randn(4000, 40), (torch.rand(4000, 12) > 0.8).float())
        self.loader = DataLoader(data, batch_size=64, shuffle=True)

    def run(self):
        for epoch in range(self.args.epochs):
            for x, y in self.loader:
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(x), y) #@
                loss.backward()
                self.optimizer.step()
            print(epoch, loss.item())


parser = argparse.ArgumentParser()
parser.add_argument("--loss", choices=LOSSES, default="bce") #@
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--epochs", type=int, default=10)
Trainer(parser.parse_args()).run()
