import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Tower(nn.Module):
    def __init__(self, inputs, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(inputs, 512), nn.GELU(), nn.Linear(512, dim))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


class ImageTextMatcher(L.LightningModule):
    def __init__(self, dim=128, lr=1e-3, text_lr=2e-4):
        super().__init__()
        self.save_hyperparameters()
        self.image = Tower(768, dim)
        self.text = Tower(384, dim)
        self.log_scale = nn.Parameter(torch.tensor(2.659))  #@

    def logits(self, image, text):
        return self.log_scale.exp().clamp(max=100) * self.image(image) @ self.text(text).T  #@

    def symmetric_loss(self, logits):
        index = torch.arange(len(logits), device=logits.device)
        return (F.cross_entropy(logits, index) + F.cross_entropy(logits.T, index)) / 2

    def training_step(self, batch, _):
        loss = self.symmetric_loss(self.logits(*batch))
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        logits = self.logits(*batch)
        index = torch.arange(len(logits), device=logits.device)
        self.log("val_recall", (logits.argmax(1) == index).float().mean(), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.AdamW([  #@
            {"params": self.image.parameters(), "lr": self.hparams.lr},
            {"params": self.text.parameters(), "lr": self.hparams.text_lr},
        ])  #@


if __name__ == "__main__":
    L.seed_everything(0)
    train = DataLoader(TensorDataset(*torch.load("coco_train.pt")), 512, shuffle=True, drop_last=True)
    valid = DataLoader(TensorDataset(*torch.load("coco_valid.pt")), 512, drop_last=True)
    L.Trainer(max_epochs=20).fit(ImageTextMatcher(), train, valid)
