import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class AttentionPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Linear(dim, 1)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x):
        return (self.softmax(self.score(x)) * x).sum(1)


class SequenceClassifier(L.LightningModule):
    def __init__(self, features=12, dim=64, classes=5):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(features, dim), nn.ReLU())
        self.pool = AttentionPool(dim)
        self.head = nn.Sequential(nn.Linear(dim, classes), nn.LogSoftmax(dim=-1))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.nll_loss(self.head(self.pool(self.embed(x))), y)
        self.log("train_loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


data = TensorDataset(torch.randn(4000, 25, 12), torch.randint(0, 5, (4000,)))
L.Trainer(max_epochs=20).fit(SequenceClassifier(), DataLoader(data, batch_size=64, shuffle=True))
