import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, lr=1e-3):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.loss_history = [] #@

    def train_step(self, x, y):
        self.optimizer.zero_grad()
        recon = self.model(x)
        losses = {"mse": nn.functional.mse_loss(recon, y), "l1": nn.functional.l1_loss(recon, y)}
        total = losses["mse"] + 0.1 * losses["l1"]
        total.backward()
        self.optimizer.step()
        self.loss_history.append(losses) #@

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            for x, y in loader:
                self.train_step(x, y)
            print(epoch, float(self.loss_history[-1]["mse"]))


if __name__ == "__main__":
    data = torch.randn(2000, 20)
    loader = DataLoader(TensorDataset(data, data), batch_size=40, shuffle=True)
    Trainer(nn.Sequential(nn.Linear(20, 5), nn.ReLU(), nn.Linear(5, 20))).fit(loader, 30)
