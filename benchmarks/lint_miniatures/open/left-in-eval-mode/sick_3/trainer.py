import torch
from torch import nn
from torch.utils.data import DataLoader, random_split, TensorDataset


class BaseTrainer:
    def __init__(self, model, optimizer, loss_fn):
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn
        self.global_step = 0

    def evaluate(self, loader):
        self.model.eval()  #@
        losses = []
        with torch.inference_mode():
            for x, y in loader:
                losses.append(self.loss_fn(self.model(x), y))
        return torch.stack(losses).mean().item()  #@


class ClassifierTrainer(BaseTrainer):
    def training_step(self, batch):
        x, y = batch
        loss = self.loss_fn(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.global_step += 1

    def fit(self, train_loader, val_loader, epochs, val_every):
        for _ in range(epochs):
            self.model.train()
            for batch in train_loader:
                self.training_step(batch)  #@
                if self.global_step % val_every == 0:
                    print(self.global_step, self.evaluate(val_loader))  #@


if __name__ == "__main__":
    ds = TensorDataset(torch.randn(5000, 32), torch.randint(0, 5, (5000,)))
    train_ds, val_ds = random_split(ds, [4500, 500])
    net = nn.Sequential(nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 5))
    trainer = ClassifierTrainer(net, torch.optim.Adam(net.parameters(), lr=1e-3), nn.CrossEntropyLoss())
    trainer.fit(DataLoader(train_ds, 64, shuffle=True), DataLoader(val_ds, 250), epochs=5, val_every=50)
