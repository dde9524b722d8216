import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class DistributedTrainer:
    def __init__(self, model, criterion, lr, local_rank):
        self.rank = dist.get_rank()
        self.device = torch.device("cuda", local_rank)
        self.model = DistributedDataParallel(model.to(self.device), device_ids=[local_rank])
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=lr)
        self.criterion = criterion

    def train_epoch(self, loader, sampler, epoch):
        sampler.set_epoch(epoch)
        self.model.train()
        for batch in loader:
            loss = self.criterion(self.model, [t.to(self.device) for t in batch])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    @torch.no_grad()
    def validate(self, loader):
        if self.rank != 0:  #@
            return None  #@
        self.model.eval()
        total = torch.zeros(2, device=self.device)
        for batch in loader:
            total[0] += self.criterion(self.model, [t.to(self.device) for t in batch])
            total[1] += 1
        dist.all_reduce(total)  #@
        return (total[0] / total[1]).item()

    def fit(self, train, sampler, valid, epochs):
        for epoch in range(epochs):
            self.train_epoch(train, sampler, epoch)
            score = self.validate(valid)  #@
            if self.rank == 0:
                print(f"epoch {epoch}: {score:.4f}")
