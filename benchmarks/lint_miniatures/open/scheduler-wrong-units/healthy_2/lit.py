import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LitNet(L.LightningModule):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(nn.Linear(15, 60), nn.ReLU(), nn.Linear(60, 3))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.log("train_loss", loss)
        return loss

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.lr)
        total = self.trainer.estimated_stepping_batches
        sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=total)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "step"}}


if __name__ == "__main__":
    ds = TensorDataset(torch.randn(1500, 15), torch.randint(0, 3, (1500,)))
    L.Trainer(max_epochs=20).fit(LitNet(), DataLoader(ds, batch_size=50, shuffle=True))
