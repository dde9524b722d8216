import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class BaseTrainer:
    def __init__(self, model):
        self.model = model
        self.epochs = 10  #@
        self.log_every = 5

    def train(self, loader):
        self.model.train()
        for epoch in range(self.epochs):  #@
            loss = self.train_epoch(loader)
            if epoch % self.log_every == 0:
                print(epoch, loss)


class RegressionTrainer(BaseTrainer):
    def __init__(self, model, epochs, lr):  #@
        self.epochs = epochs  #@
        super().__init__(model)  #@
        self.opt = torch.optim.Adam(self.model.parameters(), lr=lr)

    def train_epoch(self, loader):
        total = torch.zeros(())
        for x, y in loader:
            loss = nn.functional.huber_loss(self.model(x), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            total += loss.detach()
        return total.item() / len(loader)


if __name__ == "__main__":
    x = torch.randn(2000, 6)
    y = (x[:, :1] * x[:, 1:2]).tanh()
    loader = DataLoader(TensorDataset(x, y), batch_size=40, shuffle=True)
    net = nn.Sequential(nn.Linear(6, 64), nn.SiLU(), nn.Linear(64, 1))
    RegressionTrainer(net, epochs=200, lr=1e-3).train(loader)
    torch.save(net.state_dict(), "regressor.pt")
