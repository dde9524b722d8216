import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, cfg, model, dataset):
        self.cfg = cfg
        self.model = model.cuda()
        self.loader = DataLoader(dataset, batch_size=cfg["batch_size"], shuffle=True)
        self.optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
        self.amp_dtype = torch.bfloat16 if cfg["precision"] == "bf16" else torch.float16 #@
        self.scaler = torch.amp.GradScaler("cuda", enabled=cfg["use_amp"]) #@

    def train(self):
        self.model.train()
        for epoch in range(self.cfg["epochs"]):
            for x, y in self.loader:
                self.optimizer.zero_grad(set_to_none=True)
                with torch.autocast("cuda", dtype=self.amp_dtype, enabled=self.cfg["use_amp"]): #@
                    loss = nn.functional.l1_loss(self.model(x.cuda()), y.cuda())
                self.scaler.scale(loss).backward() #@
                self.scaler.step(self.optimizer) #@
                self.scaler.update() #@
            print(epoch, loss.item())


if __name__ == "__main__":
    with open("config.yaml") as f:
        cfg = yaml.safe_load(f)
    torch.manual_seed(cfg["seed"])
    x = torch.rand(600, 3, 32, 32)
    net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 3, 3, padding=1))
    Trainer(cfg, net, TensorDataset(x, 1 - x)).train()
