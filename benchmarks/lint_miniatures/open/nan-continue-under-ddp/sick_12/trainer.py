import math
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Trainer:
    def __init__(self, net, data):
        self.rank = int(os.environ["LOCAL_RANK"])
        self.model = nn.parallel.DistributedDataParallel(net.to(self.rank), device_ids=[self.rank])
        self.opt = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.sampler = DistributedSampler(data)
        self.loader = DataLoader(data, batch_size=32, sampler=self.sampler)
        self.skipped = 0

    def loss_is_valid(self, loss):
        return math.isfinite(loss.item()) #@

    def train_step(self, x, y):
        self.opt.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(self.model(x), y)
        if not self.loss_is_valid(loss): #@
            self.skipped += 1
            return #@
        loss.backward() #@
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.opt.step()

    def fit(self, epochs):
        self.model.train()
        for epoch in range(epochs):
            self.sampler.set_epoch(epoch)
            for x, y in self.loader:
                self.train_step(x.to(self.rank), y.to(self.rank))


if __name__ == "__main__":
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dataset = TensorDataset(torch.randn(8000, 40), torch.randint(0, 9, (8000,)))
    Trainer(nn.Sequential(nn.Linear(40, 80), nn.ReLU(), nn.Linear(80, 9)), dataset).fit(15)
    dist.destroy_process_group()
