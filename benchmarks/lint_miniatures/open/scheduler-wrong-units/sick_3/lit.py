import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LitRegressor(L.LightningModule):
    def __init__(self, lr=1e-3):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(nn.Linear(10, 100), nn.ReLU(), nn.Linear(100, 1))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.mse_loss(self.net(x), y)
        self.log("train_loss", loss)
        return loss

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.lr)
        sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=self.trainer.max_epochs) #@
        return {
            "optimizer": opt,
            "lr_scheduler": {"scheduler": sched, "interval": "step"}, #@
        }


if __name__ == "__main__":
    ds = TensorDataset(torch.randn(5000, 10), torch.randn(5000, 1))
    trainer = L.Trainer(max_epochs=30)
    trainer.fit(LitRegressor(), DataLoader(ds, batch_size=50, shuffle=True))
