import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ArcFace(nn.Module):
    def __init__(self, dim, classes, scale=30.0, margin=0.3):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(classes, dim)) #@
        self.scale, self.margin = scale, margin

    def forward(self, emb, y):
        cos = F.linear(F.normalize(emb), F.normalize(self.weight)).clamp(-1 + 1e-6, 1 - 1e-6)
        target = torch.cos(torch.acos(cos) + self.margin)
        one_hot = F.one_hot(y, cos.shape[1]).bool()
        return F.cross_entropy(self.scale * torch.where(one_hot, target, cos), y)


class FaceModel(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 128))
        self.criterion = ArcFace(128, 500) #@

    def training_step(self, batch, batch_idx):
        x, y = batch
        return self.criterion(self.backbone(x), y)

    def configure_optimizers(self):
        return torch.optim.SGD(self.backbone.parameters(), lr=0.05, momentum=0.9) #@


data = TensorDataset(torch.rand(3000, 3, 64, 64), torch.randint(0, 500, (3000,)))
L.Trainer(max_epochs=20).fit(FaceModel(), DataLoader(data, batch_size=32, shuffle=True))
