import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

cfg = {"batch_size": 8, "accum": 4, "lr": 1e-3, "epochs": 5}


class AccumulatingOptimizer:
    def __init__(self, optimizer, every):
        self.optimizer, self.every, self.count = optimizer, every, 0

    def backward(self, loss):
        (loss / self.every).backward()
        self.count += 1

    def step(self):
        if self.count % self.every:
            return
        self.optimizer.step()
        self.optimizer.zero_grad()


loader = DataLoader(
    TensorDataset(torch.randn(640, 10), torch.randn(640, 1)), batch_size=cfg["batch_size"], shuffle=True
)
model = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 1))
opt = AccumulatingOptimizer(torch.optim.Adam(model.parameters(), lr=cfg["lr"]), cfg["accum"])
for epoch in range(cfg["epochs"]):
    model.train()
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        opt.backward(loss)
        opt.step()
    print(epoch, loss.item())
