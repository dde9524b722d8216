import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def soft_dice(probs, target, smooth=1.0):
    inter = (probs * target).sum(dim=(1, 2, 3))
    denom = probs.sum(dim=(1, 2, 3)) + target.sum(dim=(1, 2, 3))
    return ((2 * inter + smooth) / (denom + smooth)).mean()


class Segmenter(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 1, 3, padding=1))
        self.bce = nn.BCEWithLogitsLoss()

    def training_step(self, batch, batch_idx):
        x, mask = batch
        logits = self.net(x)
        loss = self.bce(logits, mask) + soft_dice(logits.sigmoid(), mask) #@
        self.log("train_loss", loss)
        return loss #@

    def validation_step(self, batch, batch_idx):
        x, mask = batch
        self.log("val_dice", soft_dice((self.net(x) > 0).float(), mask))

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


x = torch.rand(900, 1, 64, 64)
data = TensorDataset(x, (x > 0.7).float())
train, val = torch.utils.data.random_split(data, [800, 100])
L.Trainer(max_epochs=20).fit(Segmenter(), DataLoader(train, 16, shuffle=True), DataLoader(val, 20))
