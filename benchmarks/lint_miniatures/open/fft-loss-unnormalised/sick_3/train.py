import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.net = nn.Sequential(nn.Conv1d(1, 32, 9, padding=4), nn.GELU(), nn.Conv1d(32, 1, 9, padding=4))
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=cfg["train"]["lr"])
        clean = torch.randn(1000, 1, 16384)
        self.loader = DataLoader(
            TensorDataset(clean + 0.1 * torch.randn_like(clean), clean), batch_size=cfg["train"]["batch_size"], shuffle=True
        )

    def spectral(self, a, b):
        return F.l1_loss(torch.fft.rfft(a).abs(), torch.fft.rfft(b).abs()) #@

    def compute_loss(self, pred, target):
        w = self.cfg["loss"]
        return w["pixel_weight"] * F.l1_loss(pred, target) + w["freq_weight"] * self.spectral(pred, target) #@

    def run(self):
        for epoch in range(self.cfg["train"]["epochs"]):
            for noisy, clean in self.loader:
                loss = self.compute_loss(self.net(noisy), clean)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
            print(epoch, loss.item())


with open("config.yaml") as f:
    Trainer(yaml.safe_load(f)).run()
