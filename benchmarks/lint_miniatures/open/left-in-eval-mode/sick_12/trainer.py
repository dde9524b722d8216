import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, train_loader, val_loader, eval_every=200):
        self.model = model
        self.train_loader = train_loader
        self.val_loader = val_loader
        self.eval_every = eval_every
        self.opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
        self.step = 0

    @torch.no_grad()
    def validate(self):
        self.model.eval() #@
        total = sum(nn.functional.mse_loss(self.model(x), y) for x, y in self.val_loader)
        return (total / len(self.val_loader)).item() #@

    def fit(self, max_steps):
        self.model.train() #@
        while self.step < max_steps:
            for x, y in self.train_loader:
                self.opt.zero_grad(set_to_none=True)
                nn.functional.mse_loss(self.model(x), y).backward()
                self.opt.step()
                self.step += 1
                if self.step % self.eval_every == 0:
                    print(f"step {self.step}: val {self.validate():.5f}") #@
                if self.step >= max_steps:
                    return


if __name__ == "__main__":
    x = torch.randn(6400, 20)
    y = x.pow(2).mean(1, keepdim=True)
    net = nn.Sequential(nn.Linear(20, 256), nn.ReLU(), nn.Dropout(0.1), nn.Linear(256, 1))
    Trainer(
        net,
        DataLoader(TensorDataset(x[:6000], y[:6000]), batch_size=32, shuffle=True),
        DataLoader(TensorDataset(x[6000:], y[6000:]), batch_size=100),
    ).fit(5000)
