import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def prepare_dataloader(dataset, batch_size):
    return DataLoader(dataset, batch_size=batch_size, shuffle=False, sampler=DistributedSampler(dataset)) #@


class Trainer:
    def __init__(self, model, train_data, optimizer):
        self.gpu_id = int(os.environ["LOCAL_RANK"])
        self.train_data = train_data
        self.optimizer = optimizer
        self.model = DistributedDataParallel(model, device_ids=[self.gpu_id])

    def _run_batch(self, source, targets):
        self.optimizer.zero_grad()
        nn.functional.cross_entropy(self.model(source), targets).backward()
        self.optimizer.step()

    def _run_epoch(self, epoch): #@
        if self.gpu_id == 0:
            print(f"Epoch {epoch} | Steps: {len(self.train_data)}")
        for source, targets in self.train_data: #@
            self._run_batch(source.to(self.gpu_id), targets.to(self.gpu_id))

    def train(self, max_epochs):
        self.model.train()
        for epoch in range(max_epochs): #@
            self._run_epoch(epoch)


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = nn.Linear(20, 4).cuda()
    data = TensorDataset(torch.randn(2048, 20), torch.randint(0, 4, (2048,)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    Trainer(model, prepare_dataloader(data, 32), optimizer).train(50)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
