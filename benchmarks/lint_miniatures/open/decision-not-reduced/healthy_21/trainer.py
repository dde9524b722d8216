import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class EarlyStop:
    def __init__(self, patience, device):
        self.patience, self.device = patience, device
        self.best, self.bad = float("inf"), 0

    def should_stop(self, loss_sum, count):
        stats = torch.tensor([loss_sum, float(count)], dtype=torch.float64, device=self.device)
        dist.all_reduce(stats)
        score = (stats[0] / stats[1]).item()
        if score < self.best:
            self.best, self.bad = score, 0
        else:
            self.bad += 1
        return self.bad >= self.patience


class Trainer:
    def __init__(self, rank):
        self.rank, self.device = rank, torch.device("cuda", rank)
        torch.manual_seed(2)
        net = nn.Sequential(nn.Conv1d(12, 64, 7, 2), nn.ReLU(), nn.AdaptiveAvgPool1d(1),
                            nn.Flatten(), nn.Linear(64, 9)).to(self.device)
        self.model = DDP(net, device_ids=[rank])
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.stop = EarlyStop(5, self.device)
        train, valid = TensorDataset(*torch.load("ecg_tr.pt")), TensorDataset(*torch.load("ecg_va.pt"))
        self.sampler = DistributedSampler(train)
        self.train_loader = DataLoader(train, 64, sampler=self.sampler)
        self.valid_loader = DataLoader(valid, 128, sampler=DistributedSampler(valid, shuffle=False))

    def train_epoch(self, epoch):
        self.sampler.set_epoch(epoch)
        self.model.train()
        for x, y in self.train_loader:
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model(x.to(self.device)), y.to(self.device))
            loss.backward()
            self.optimizer.step()

    @torch.no_grad()
    def valid_epoch(self):
        self.model.eval()
        loss_sum, count = 0.0, 0
        for x, y in self.valid_loader:
            logits = self.model(x.to(self.device))
            loss_sum += F.cross_entropy(logits, y.to(self.device), reduction="sum").item()
            count += len(y)
        return loss_sum, count

    def fit(self, epochs):
        for epoch in range(epochs):
            self.train_epoch(epoch)
            if self.stop.should_stop(*self.valid_epoch()):
                break


if __name__ == "__main__":
    dist.init_process_group("nccl")
    local_rank = dist.get_rank() % torch.cuda.device_count()
    torch.cuda.set_device(local_rank)
    Trainer(local_rank).fit(100)
    dist.destroy_process_group()
