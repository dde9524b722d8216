import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def is_main():
    return dist.get_rank() == 0


def log_metrics(loss, step):
    if is_main(): #@
        dist.all_reduce(loss) #@
        print(step, (loss / dist.get_world_size()).item())


class Trainer:
    def __init__(self, net, data):
        self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        self.net = DistributedDataParallel(net.to(self.device), device_ids=[self.device.index])
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=1e-3)
        self.sampler = DistributedSampler(data)
        self.loader = DataLoader(data, batch_size=32, sampler=self.sampler)

    def fit(self, epochs):
        self.net.train()
        step = 0
        for epoch in range(epochs):
            self.sampler.set_epoch(epoch)
            for x, y in self.loader:
                loss = nn.functional.mse_loss(self.net(x.to(self.device)), y.to(self.device))
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                step += 1
                if step % 100 == 0:
                    log_metrics(loss.detach(), step) #@


if __name__ == "__main__":
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    Trainer(nn.Linear(10, 1), TensorDataset(torch.randn(9000, 10), torch.randn(9000, 1))).fit(10)
    dist.destroy_process_group()
