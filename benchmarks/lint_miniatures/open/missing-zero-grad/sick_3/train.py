import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from trainer import BaseTrainer


class RegressionTrainer(BaseTrainer):
    def training_step(self, batch):
        inputs, targets = batch
        return nn.functional.smooth_l1_loss(self.model(inputs), targets)


if __name__ == "__main__":
    device = torch.device("cpu")
    data = TensorDataset(torch.randn(1000, 8), torch.randn(1000, 1))
    net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1)).to(device)
    opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    RegressionTrainer(net, opt, DataLoader(data, batch_size=32, shuffle=True), device).fit(5)
