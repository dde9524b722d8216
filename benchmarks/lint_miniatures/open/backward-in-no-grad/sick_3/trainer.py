import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, lr=1e-3):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)

    @torch.inference_mode() #@
    def run_epoch(self, loader, train): #@
        self.model.train(train)
        total = torch.zeros(())
        for x, y in loader:
            pred = self.model(x)
            loss = nn.functional.mse_loss(pred, y)
            if train:
                self.optimizer.zero_grad()
                loss.backward() #@
                self.optimizer.step()
            total += loss.detach()
        return (total / len(loader)).item()

    def fit(self, train_loader, val_loader, epochs):
        for epoch in range(epochs):
            tr = self.run_epoch(train_loader, train=True) #@
            va = self.run_epoch(val_loader, train=False)
            print(f"{epoch} train {tr:.4f} val {va:.4f}")


if __name__ == "__main__":
    x, y = torch.randn(1000, 6), torch.randn(1000, 1)
    train = DataLoader(TensorDataset(x[:800], y[:800]), batch_size=20, shuffle=True)
    val = DataLoader(TensorDataset(x[800:], y[800:]), batch_size=20)
    Trainer(nn.Sequential(nn.Linear(6, 30), nn.ReLU(), nn.Linear(30, 1))).fit(train, val, 10)
