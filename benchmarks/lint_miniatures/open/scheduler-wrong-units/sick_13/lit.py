import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from transformers import get_linear_schedule_with_warmup


class TextClassifier(L.LightningModule):
    def __init__(self, lr=5e-4, warmup_ratio=0.1):
        super().__init__()
        self.save_hyperparameters()
        self.embed = nn.EmbeddingBag(10000, 128)
        self.fc = nn.Linear(128, 4)

    def training_step(self, batch, batch_idx):
        ids, y = batch
        loss = nn.functional.cross_entropy(self.fc(self.embed(ids)), y)
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        total = self.trainer.estimated_stepping_batches
        scheduler = get_linear_schedule_with_warmup(optimizer, int(self.hparams.warmup_ratio * total), total) #@
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "epoch"}} #@


data = TensorDataset(torch.randint(0, 10000, (20000, 40)), torch.randint(0, 4, (20000,)))
loader = DataLoader(data, batch_size=64, shuffle=True)
L.Trainer(max_epochs=5).fit(TextClassifier(), loader)
