import os

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Trainer:
    def __init__(self, model, train_set, val_set):
        self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        self.model = nn.parallel.DistributedDataParallel(model.to(self.device), device_ids=[self.device.index])
        self.opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        self.plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(self.opt, patience=3)
        self.sampler = DistributedSampler(train_set)
        self.train_loader = DataLoader(train_set, batch_size=64, sampler=self.sampler)
        self.val_loader = DataLoader(val_set, batch_size=64, sampler=DistributedSampler(val_set, shuffle=False)) #@

    def train_epoch(self, epoch):
        self.sampler.set_epoch(epoch)
        self.model.train()
        for x, y in self.train_loader:
            self.opt.zero_grad()
            nn.functional.mse_loss(self.model(x.to(self.device)), y.to(self.device)).backward()
            self.opt.step()

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        losses = [nn.functional.mse_loss(self.model(x.to(self.device)), y.to(self.device)) for x, y in self.val_loader]
        return torch.stack(losses).mean() #@

    def fit(self, epochs):
        for epoch in range(epochs):
            self.train_epoch(epoch)
            self.plateau.step(self.validate().item()) #@


if __name__ == "__main__":
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    x, y = torch.randn(9000, 16), torch.randn(9000, 1)
    Trainer(nn.Linear(16, 1), TensorDataset(x[:8000], y[:8000]), TensorDataset(x[8000:], y[8000:])).fit(60)
    dist.destroy_process_group()
