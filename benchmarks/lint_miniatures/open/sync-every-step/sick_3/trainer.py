import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm


class Trainer:
    def __init__(self, model, lr=1e-3):
        self.device = torch.device("cuda")
        self.model = model.to(self.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=lr)
        self.metrics = {"loss": 0.0, "n": 0}

    def update_metrics(self, loss, n):
        self.metrics["loss"] += float(loss) * n #@
        self.metrics["n"] += n

    def train_epoch(self, loader, epoch):
        self.metrics = {"loss": 0.0, "n": 0}
        self.model.train()
        bar = tqdm(loader, desc=f"epoch {epoch}")
        for x, y in bar:
            x, y = x.to(self.device), y.to(self.device)
            loss = nn.functional.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.update_metrics(loss, x.size(0)) #@
            bar.set_postfix(loss=self.metrics["loss"] / self.metrics["n"])


if __name__ == "__main__":
    ds = TensorDataset(torch.randn(30000, 48), torch.randint(0, 12, (30000,)))
    trainer = Trainer(nn.Sequential(nn.Linear(48, 192), nn.ReLU(), nn.Linear(192, 12)))
    data = DataLoader(ds, batch_size=128, shuffle=True)
    for epoch in range(5):
        trainer.train_epoch(data, epoch)
