import torch
import torch.nn as nn
import yaml
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.dtype = getattr(torch, cfg["model"]["dtype"]) #@
        w = cfg["model"]["width"]
        net = nn.Sequential(nn.Linear(20, w), nn.SiLU(), nn.Linear(w, w), nn.SiLU(), nn.Linear(w, 1))
        self.net = net.to(device="cuda", dtype=self.dtype) #@
        self.opt = torch.optim.AdamW(self.net.parameters(), **cfg["optim"]) #@
        data = TensorDataset(torch.randn(9000, 20), torch.randn(9000, 1))
        self.loader = DataLoader(data, batch_size=cfg["data"]["batch_size"], shuffle=True)

    def run(self):
        for epoch in range(self.cfg["epochs"]):
            for x, y in self.loader:
                self.opt.zero_grad(set_to_none=True)
                pred = self.net(x.to("cuda", self.dtype))
                loss = nn.functional.mse_loss(pred.float(), y.cuda())
                loss.backward()
                self.opt.step() #@
            print(epoch, loss.item())


if __name__ == "__main__":
    with open("config.yaml") as f:
        Trainer(yaml.safe_load(f)).run()
