import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Lit(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(32, 10)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.cross_entropy(self.net(x), y)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Data(L.LightningDataModule):
    def setup(self, stage):
        g = torch.Generator().manual_seed(0)
        self.ds = TensorDataset(torch.randn(10000, 32, generator=g), torch.randint(0, 10, (10000,), generator=g))

    def train_dataloader(self):
        sampler = DistributedSampler(self.ds, num_replicas=self.trainer.world_size, rank=self.trainer.global_rank)
        return DataLoader(self.ds, batch_size=64, sampler=sampler)


if __name__ == "__main__":
    L.Trainer(max_epochs=10, strategy="ddp", devices=2, use_distributed_sampler=False).fit(Lit(), datamodule=Data())
