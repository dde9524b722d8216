import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LitManual(L.LightningModule):
    def __init__(self, accum=4):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.net = nn.Sequential(nn.Linear(18, 72), nn.ReLU(), nn.Linear(72, 3))

    def training_step(self, batch, batch_idx):
        x, y = batch
        opt = self.optimizers()
        loss = nn.functional.cross_entropy(self.net(x), y) #@
        self.manual_backward(loss) #@
        if (batch_idx + 1) % self.hparams.accum == 0: #@
            opt.step()
            opt.zero_grad()
        self.log("train_loss", loss)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.02, momentum=0.9)


if __name__ == "__main__":
    ds = TensorDataset(torch.randn(1600, 18), torch.randint(0, 3, (1600,)))
    L.Trainer(max_epochs=10).fit(LitManual(), DataLoader(ds, batch_size=20, shuffle=True))
