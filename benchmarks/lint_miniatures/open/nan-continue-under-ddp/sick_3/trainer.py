import math
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Trainer:
    def __init__(self, model, dataset, lr=3e-4):
        self.gpu = int(os.environ["LOCAL_RANK"])
        torch.cuda.set_device(self.gpu)
        self.model = DDP(model.to(self.gpu), device_ids=[self.gpu])
        self.sampler = DistributedSampler(dataset)
        self.loader = DataLoader(dataset, batch_size=16, sampler=self.sampler)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=lr)

    def train_step(self, x, y):
        loss = nn.functional.cross_entropy(self.model(x), y)
        if not math.isfinite(loss): #@
            return #@
        self.opt.zero_grad()
        loss.backward() #@
        self.opt.step()

    def fit(self, epochs):
        for epoch in range(epochs):
            self.sampler.set_epoch(epoch)
            self.model.train()
            for x, y in self.loader:
                self.train_step(x.to(self.gpu), y.to(self.gpu)) #@


if __name__ == "__main__":
    dist.init_process_group("nccl")
    torch.manual_seed(0)
    ds = TensorDataset(torch.randn(3200, 24), torch.randint(0, 8, (3200,)))
    Trainer(nn.Sequential(nn.Linear(24, 96), nn.ReLU(), nn.Linear(96, 8)), ds).fit(10)
    dist.destroy_process_group()
