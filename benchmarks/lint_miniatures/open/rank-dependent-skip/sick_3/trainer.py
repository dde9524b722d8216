import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Trainer:
    def __init__(self, model, train_set, val_set):
        self.rank = dist.get_rank()
        self.gpu = int(os.environ["LOCAL_RANK"])
        torch.cuda.set_device(self.gpu)
        self.model = DDP(model.to(self.gpu), device_ids=[self.gpu])
        self.sampler = DistributedSampler(train_set)
        self.train_loader = DataLoader(train_set, batch_size=32, sampler=self.sampler)
        self.val_loader = DataLoader(val_set, batch_size=32)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=1e-3)

    @torch.no_grad()
    def validate(self): #@
        self.model.eval()
        total = torch.zeros((), device=self.gpu)
        for x, y in self.val_loader:
            total += nn.functional.cross_entropy(self.model(x.to(self.gpu)), y.to(self.gpu))
        dist.all_reduce(total, op=dist.ReduceOp.AVG) #@
        return total.item() / len(self.val_loader)

    def fit(self, epochs):
        for epoch in range(epochs):
            self.sampler.set_epoch(epoch)
            self.model.train()
            for x, y in self.train_loader:
                self.opt.zero_grad()
                nn.functional.cross_entropy(self.model(x.to(self.gpu)), y.to(self.gpu)).backward()
                self.opt.step()
            if self.rank != 0: #@
                continue #@
            print(epoch, self.validate()) #@


if __name__ == "__main__":
    dist.init_process_group("nccl")
    torch.manual_seed(0)
    x, y = torch.randn(5000, 16), torch.randint(0, 4, (5000,))
    net = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 4))
    Trainer(net, TensorDataset(x[:4000], y[:4000]), TensorDataset(x[4000:], y[4000:])).fit(10)
    dist.destroy_process_group()
