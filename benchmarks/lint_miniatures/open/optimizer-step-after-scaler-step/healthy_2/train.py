import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, amp):
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.amp = amp and self.device == "cuda"
        self.model = model.to(self.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.scaler = torch.amp.GradScaler("cuda") if self.amp else None

    def step(self, loss):
        self.optimizer.zero_grad()
        if self.scaler:
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            return
        loss.backward()
        self.optimizer.step()

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            for x, y in loader:
                with torch.autocast(self.device, dtype=torch.float16, enabled=self.amp):
                    loss = nn.functional.mse_loss(self.model(x.to(self.device)), y.to(self.device))
                self.step(loss)
            print(epoch, loss.item())


if __name__ == "__main__":
    ds = TensorDataset(torch.randn(700, 9), torch.randn(700, 1))
    Trainer(nn.Sequential(nn.Linear(9, 27), nn.ReLU(), nn.Linear(27, 1)), amp=True).fit(
        DataLoader(ds, batch_size=35, shuffle=True), 10
    )
