import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


class Trainer:
    def __init__(self, cfg, model, train_set, loss_fn):
        self.cfg, self.loss_fn = cfg, loss_fn
        self.rank = dist.get_rank()
        self.device = torch.device("cuda", self.rank % torch.cuda.device_count())
        self.model = DDP(model.to(self.device), device_ids=[self.device.index])
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=cfg["lr"])
        self.loader = self._loader(train_set)

    def _loader(self, dataset):
        sampler = DistributedSampler(dataset, seed=self.cfg["seed"])  #@
        return DataLoader(dataset, self.cfg["batch_size"], sampler=sampler, drop_last=True)

    def _batches(self):
        while True:
            for batch in self.loader:  #@
                yield [t.to(self.device) for t in batch]

    def run(self):
        self.model.train()
        batches = self._batches()  #@
        for step in range(1, self.cfg["steps"] + 1):
            self.optimizer.zero_grad(set_to_none=True)
            loss = self.loss_fn(self.model, next(batches))
            loss.backward()
            self.optimizer.step()
            if step % self.cfg["save_every"] == 0 and self.rank == 0:
                torch.save(self.model.module.state_dict(), f"sasrec_{step}.pt")
