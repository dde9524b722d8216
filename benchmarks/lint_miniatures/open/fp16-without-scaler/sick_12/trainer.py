from contextlib import nullcontext

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


class Trainer:
    def __init__(self, model, config):
        self.model = model.cuda()
        self.config = config
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"])
        dtype = DTYPES[config["precision"]] #@
        self.amp = nullcontext() if dtype is torch.float32 else torch.autocast("cuda", dtype=dtype) #@

    def train_step(self, batch):
        x, y = (t.cuda(non_blocking=True) for t in batch)
        with self.amp: #@
            loss = nn.functional.mse_loss(self.model(x), y)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward() #@
        self.optimizer.step() #@
        return loss.detach()

    def fit(self, loader):
        self.model.train()
        for epoch in range(self.config["epochs"]):
            total = sum(self.train_step(b) for b in loader)
            print(epoch, (total / len(loader)).item())


config = {"lr": 3e-4, "precision": "fp16", "epochs": 25} #@
x = torch.randn(6000, 64)
loader = DataLoader(TensorDataset(x, x.roll(1, 1) * x), batch_size=64, shuffle=True)
Trainer(nn.Sequential(nn.Linear(64, 256), nn.SiLU(), nn.Linear(256, 64)), config).fit(loader)
