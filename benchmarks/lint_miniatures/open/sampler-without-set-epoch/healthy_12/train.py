import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Module(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8))

    def train_dataloader(self):
        data = TensorDataset(torch.randn(4096, 32), torch.randint(0, 8, (4096,)))
        sampler = DistributedSampler(data, num_replicas=self.trainer.world_size, rank=self.trainer.global_rank)
        return DataLoader(data, batch_size=64, sampler=sampler)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return nn.functional.cross_entropy(self.net(x), y)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


if __name__ == "__main__":
    L.seed_everything(1)
    trainer = L.Trainer(max_epochs=12, accelerator="gpu", devices=4, strategy="ddp", use_distributed_sampler=False)
    trainer.fit(Module())
