import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class BaseClassifier(L.LightningModule):
    def __init__(self, backbone, lr):
        super().__init__()
        self.backbone = backbone
        self.lr = lr

    def predict_proba(self, x):
        return torch.softmax(self.backbone(x), dim=-1) #@

    def training_step(self, batch, batch_idx):
        x, y = batch
        out = self(x)
        loss = F.cross_entropy(out, y) #@
        self.log("train_loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr)


class TabularClassifier(BaseClassifier):
    def __init__(self, features=30, classes=5, lr=1e-3):
        super().__init__(nn.Sequential(nn.Linear(features, 64), nn.ReLU(), nn.Linear(64, classes)), lr)

    def forward(self, x):
        return self.predict_proba(x) #@


data = TensorDataset(torch.randn(4000, 30), torch.randint(0, 5, (4000,)))
L.Trainer(max_epochs=20).fit(TabularClassifier(), DataLoader(data, batch_size=64, shuffle=True))
