import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LitCLIP(L.LightningModule):
    def __init__(self, dim=32):
        super().__init__()
        self.image_tower = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, dim))
        self.text_tower = nn.Sequential(nn.Linear(48, 128), nn.ReLU(), nn.Linear(128, dim)) #@
        self.logit_scale = nn.Parameter(torch.tensor(2.6592))

    def training_step(self, batch, batch_idx):
        image, text = batch
        a = nn.functional.normalize(self.image_tower(image), dim=-1)
        b = nn.functional.normalize(self.text_tower(text), dim=-1)
        logits = self.logit_scale.exp() * a @ b.t()
        labels = torch.arange(len(image), device=self.device)
        loss = (nn.functional.cross_entropy(logits, labels) + nn.functional.cross_entropy(logits.t(), labels)) / 2
        self.log("loss", loss)
        return loss

    def configure_optimizers(self): #@
        groups = [ #@
            {"params": self.image_tower.parameters(), "weight_decay": 0.1}, #@
            {"params": [self.logit_scale], "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=5e-4) #@


if __name__ == "__main__":
    ds = TensorDataset(torch.randn(2000, 64), torch.randn(2000, 48))
    L.Trainer(max_epochs=10).fit(LitCLIP(), DataLoader(ds, batch_size=100, shuffle=True))
