import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LitModel(L.LightningModule):
    def __init__(self, max_steps):
        super().__init__()
        self.automatic_optimization = False
        self.max_steps = max_steps
        self.net = nn.Sequential(nn.Linear(21, 42), nn.ReLU(), nn.Linear(42, 7))

    def training_step(self, batch, batch_idx):
        x, y = batch
        opt = self.optimizers()
        sch = self.lr_schedulers()
        loss = nn.functional.cross_entropy(self.net(x), y)
        opt.zero_grad()
        self.manual_backward(loss)
        sch.step() #@
        opt.step() #@
        self.log("train_loss", loss)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=3e-4)
        sch = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=3e-3, total_steps=self.max_steps)
        return [opt], [sch]


if __name__ == "__main__":
    ds = TensorDataset(torch.randn(2100, 21), torch.randint(0, 7, (2100,)))
    loader = DataLoader(ds, batch_size=70, shuffle=True)
    L.Trainer(max_epochs=10).fit(LitModel(max_steps=10 * len(loader)), loader)
