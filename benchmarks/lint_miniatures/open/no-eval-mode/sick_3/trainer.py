import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, train_set, val_set, epochs=5, batch_size=32):
        self.model = model
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        self.train_loader = DataLoader(train_set, batch_size=batch_size, shuffle=True)
        self.val_loader = DataLoader(val_set, batch_size=batch_size)
        self.epochs = epochs

    def run_epoch(self, loader, training):  #@
        self.model.train()  #@
        total = torch.zeros(())
        with torch.set_grad_enabled(training):  #@
            for images, labels in loader:
                loss = self.criterion(self.model(images), labels)  #@
                if training:
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()
                total += loss.detach()
        return total.item() / len(loader)

    def fit(self):
        for epoch in range(self.epochs):
            tr = self.run_epoch(self.train_loader, training=True)
            va = self.run_epoch(self.val_loader, training=False)  #@
            print(f"{epoch}: train {tr:.4f} val {va:.4f}")


def make_cnn():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10),
    )


if __name__ == "__main__":
    images, labels = torch.randn(600, 1, 14, 14), torch.randint(0, 10, (600,))
    Trainer(make_cnn(), TensorDataset(images[:500], labels[:500]), TensorDataset(images[500:], labels[500:])).fit()
