import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, TensorDataset


class LitClassifier(L.LightningModule):
    def __init__(self, ema_decay=0.999):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
        self.ema = AveragedModel(self.net, multi_avg_fn=get_ema_multi_avg_fn(ema_decay))  #@

    def forward(self, x):
        return self.net(x)  #@

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.cross_entropy(self.net(x), y)

    def on_train_batch_end(self, outputs, batch, batch_idx):
        self.ema.update_parameters(self.net)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)  #@
        self.log("val_acc_ema", (logits.argmax(1) == y).float().mean(), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.net.parameters(), lr=1e-3)


if __name__ == "__main__":
    x, y = torch.rand(3000, 1, 28, 28), torch.randint(0, 10, (3000,))
    train_dl = DataLoader(TensorDataset(x[:2500], y[:2500]), batch_size=64, shuffle=True)
    val_dl = DataLoader(TensorDataset(x[2500:], y[2500:]), batch_size=250)
    L.Trainer(max_epochs=10).fit(LitClassifier(), train_dl, val_dl)
