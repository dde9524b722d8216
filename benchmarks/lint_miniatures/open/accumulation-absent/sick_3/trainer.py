from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class TrainerConfig:
    lr: float = 3e-4
    epochs: int = 5
    batch_size: int = 16
    grad_accum_steps: int = 4 #@


class Trainer:
    def __init__(self, model, cfg):
        self.model = model
        self.cfg = cfg
        self.accum = cfg.grad_accum_steps #@
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)

    def training_step(self, x, y):
        loss = nn.functional.cross_entropy(self.model(x), y)
        loss = loss / self.accum #@
        loss.backward() #@
        self.optimizer.step() #@
        self.optimizer.zero_grad(set_to_none=True) #@
        return loss.detach() * self.accum

    def fit(self, dataset):
        loader = DataLoader(dataset, batch_size=self.cfg.batch_size, shuffle=True)
        for epoch in range(self.cfg.epochs):
            self.model.train()
            losses = [self.training_step(x, y) for x, y in loader]
            print(epoch, torch.stack(losses).mean().item())


if __name__ == "__main__":
    ds = TensorDataset(torch.randn(1600, 14), torch.randint(0, 3, (1600,)))
    Trainer(nn.Sequential(nn.Linear(14, 56), nn.ReLU(), nn.Linear(56, 3)), TrainerConfig()).fit(ds)
