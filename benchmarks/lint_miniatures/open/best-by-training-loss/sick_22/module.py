import lightning as L
import torch
import torch.nn.functional as F
from torch import nn


class SpeechCommandNet(L.LightningModule):
    def __init__(self, n_mels=64, classes=35, lr=5e-4):
        super().__init__()
        self.save_hyperparameters()
        self.body = nn.Sequential(
            nn.Conv1d(n_mels, 128, 5, padding=2), nn.BatchNorm1d(128), nn.ReLU(),
            nn.Conv1d(128, 128, 5, padding=2), nn.BatchNorm1d(128), nn.ReLU(),
        )
        self.head = nn.Linear(128, classes)

    def forward(self, mel):
        return self.head(self.body(mel).mean(-1))

    def training_step(self, batch, batch_idx):
        mel, label = batch
        loss = F.cross_entropy(self(mel), label)
        self.log("loss/train", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        mel, label = batch
        logits = self(mel)
        self.log("loss/valid", F.cross_entropy(logits, label), prog_bar=True)
        self.log("acc/valid", (logits.argmax(1) == label).float().mean(), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
