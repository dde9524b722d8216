import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, cfg):
        self.model = model
        self.accum = cfg["train"]["accumulate_grad_batches"] #@
        self.epochs = cfg["train"]["epochs"]
        self.opt = torch.optim.AdamW(model.parameters(), **cfg["optimizer"])

    def training_step(self, batch):
        x, y = batch
        loss = nn.functional.mse_loss(self.model(x), y)
        self.opt.zero_grad() #@
        loss.backward()
        self.opt.step() #@
        return loss.detach()

    def fit(self, loader):
        self.model.train()
        for epoch in range(self.epochs):
            losses = [self.training_step(batch) for batch in loader] #@
            print(epoch, torch.stack(losses).mean().item())


with open("config.yaml") as f:
    cfg = yaml.safe_load(f)
x = torch.randn(2000, 20)
loader = DataLoader(TensorDataset(x, x.relu().sum(1, keepdim=True)), cfg["data"]["micro_batch"], shuffle=True)
Trainer(nn.Sequential(nn.Linear(20, 80), nn.ReLU(), nn.Linear(80, 1)), cfg).fit(loader)
