import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, train_loader, lr=1e-3, device="cuda"):
        self.device = device
        self.model = model.to(device)
        self.train_loader = train_loader
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=lr)
        self.scaler = torch.amp.GradScaler("cuda")

    def train_step(self, x, y):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(self.model(x), y)
        self.scaler.scale(loss).backward() #@
        self.optimizer.zero_grad() #@
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer) #@
        self.scaler.update()
        return loss.detach()

    def run(self, epochs):
        for epoch in range(epochs):
            self.model.train()
            total = 0.0
            for x, y in self.train_loader:
                total = total + self.train_step(x.to(self.device), y.to(self.device))
            print(f"epoch {epoch}: {(total / len(self.train_loader)).item():.4f}")


if __name__ == "__main__":
    ds = TensorDataset(torch.randn(4096, 128), torch.randint(0, 20, (4096,)))
    mlp = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 20))
    Trainer(mlp, DataLoader(ds, batch_size=128, shuffle=True)).run(3)
