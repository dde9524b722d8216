import lightning as L
import torch
from torch import nn

from frontend import ChannelRMSNorm, LogMel


class BirdTagger(L.LightningModule):
    def __init__(self, hp):
        super().__init__()
        self.save_hyperparameters()
        self.hp = hp
        w = hp["width"]
        self.frontend = LogMel(hp["n_fft"], hp["hop"], hp["mels"], hp["sample_rate"])
        self.body = nn.Sequential(
            nn.Conv2d(1, w, 3, padding=1), ChannelRMSNorm(w), nn.SiLU(), nn.MaxPool2d(2),
            nn.Conv2d(w, 2 * w, 3, padding=1), ChannelRMSNorm(2 * w), nn.SiLU(), nn.MaxPool2d(2),
            nn.Conv2d(2 * w, 2 * w, 3, padding=1), ChannelRMSNorm(2 * w), nn.SiLU(),
        )
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(2 * w * (hp["mels"] // 4), hp["species"]))
        self.criterion = nn.BCEWithLogitsLoss(pos_weight=torch.full((hp["species"],), hp["pos_weight"]))
        self.register_buffer("counts", torch.zeros(3, hp["species"]), persistent=False)

    def forward(self, wave):
        h = self.body(self.frontend(wave)).amax(3).flatten(1)
        return self.classifier(h)

    def training_step(self, batch, batch_idx):
        wave, labels = batch
        loss = self.criterion(self(wave), labels)
        self.log("train_loss", loss, on_step=True, on_epoch=True, prog_bar=True)
        return loss

    def on_validation_epoch_start(self):
        self.counts.zero_()

    def validation_step(self, batch, batch_idx):
        wave, labels = batch
        logits = self(wave)
        loss = self.criterion(logits, labels)
        self.log("val_loss", loss, sync_dist=True, batch_size=len(wave))
        hit = logits > 0
        true = labels > 0.5
        self.counts += torch.stack([(hit & true).sum(0), (hit & ~true).sum(0), (~hit & true).sum(0)])
        return loss

    def on_validation_epoch_end(self):
        tp, fp, fn = self.trainer.strategy.reduce(self.counts.clone(), reduce_op="sum")
        f1 = (2 * tp / (2 * tp + fp + fn).clamp(min=1)).mean()
        self.log("val_f1", f1, prog_bar=True, sync_dist=True)

    def configure_optimizers(self):
        decay = [p for p in self.parameters() if p.ndim > 1]
        rest = [p for p in self.parameters() if p.ndim <= 1]
        optimizer = torch.optim.AdamW(
            [{"params": decay, "weight_decay": self.hp["weight_decay"]}, {"params": rest, "weight_decay": 0.0}],
            lr=self.hp["lr"],
        )
        scheduler = torch.optim.lr_scheduler.OneCycleLR(
            optimizer,
            max_lr=self.hp["lr"],
            total_steps=int(self.trainer.estimated_stepping_batches),
            pct_start=self.hp["warmup_fraction"],
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}
