import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, cfg):
        self.epochs = cfg["epochs"]
        self.resume = cfg.get("resume", False)  #@
        self.ckpt_path = cfg["checkpoint"]
        self.start_epoch = 0  #@
        self.net = nn.Sequential(nn.Linear(12, 64), nn.GELU(), nn.Linear(64, 1))
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=cfg["lr"])
        x = torch.randn(3000, 12)
        y = x.max(1, keepdim=True).values
        self.train_dl = DataLoader(TensorDataset(x[:2500], y[:2500]), cfg["batch_size"], shuffle=True)
        self.val_dl = DataLoader(TensorDataset(x[2500:], y[2500:]), 250)

    def save(self, epoch):
        torch.save({"net": self.net.state_dict(), "opt": self.opt.state_dict(), "epoch": epoch}, self.ckpt_path)

    def fit(self):
        for epoch in range(self.start_epoch, self.epochs):  #@
            self.net.train()
            for x, y in self.train_dl:
                self.opt.zero_grad()
                nn.functional.mse_loss(self.net(x), y).backward()
                self.opt.step()
            self.net.eval()
            with torch.no_grad():
                print(epoch, torch.stack([nn.functional.mse_loss(self.net(x), y) for x, y in self.val_dl]).mean().item())
            self.save(epoch)


if __name__ == "__main__":
    with open("config.yaml") as f:
        Trainer(yaml.safe_load(f)).fit()
