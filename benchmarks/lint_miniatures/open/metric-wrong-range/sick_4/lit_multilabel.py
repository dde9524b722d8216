import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def f1_score(pred, target, threshold=0.5):
    hard = (pred > threshold).float()  #@
    tp = (hard * target).sum()
    return 2 * tp / (hard.sum() + target.sum()).clamp(min=1)


class TagNet(L.LightningModule):
    def __init__(self, tags=12, lr=1e-3):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, tags))

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.binary_cross_entropy_with_logits(self.net(x), y)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        logits = self.net(x)  #@
        self.log("val_loss", F.binary_cross_entropy_with_logits(logits, y))
        self.log("val_f1", f1_score(logits, y), prog_bar=True)  #@

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)


if __name__ == "__main__":
    x = torch.randn(3000, 64)
    y = (torch.rand(3000, 12) < 0.2).float()
    L.Trainer(max_epochs=10).fit(
        TagNet(),
        DataLoader(TensorDataset(x[:2500], y[:2500]), batch_size=50, shuffle=True),
        DataLoader(TensorDataset(x[2500:], y[2500:]), batch_size=500),
    )
