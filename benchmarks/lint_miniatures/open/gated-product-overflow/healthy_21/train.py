import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class GatedConv(nn.Module):
    def __init__(self, channels, dilation):
        super().__init__()
        self.conv = nn.Conv1d(channels, 2 * channels, 3, padding=dilation, dilation=dilation)

    def forward(self, x):
        filt, gate = self.conv(x).chunk(2, dim=1)
        return x + torch.tanh(filt) * torch.sigmoid(gate)


class SqueezeExcite(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(channels, channels // 4), nn.ReLU(),
                                nn.Linear(channels // 4, channels), nn.Sigmoid())

    def forward(self, x):
        return x * self.fc(x.mean(-1)).unsqueeze(-1)


class WaveTagger(L.LightningModule):
    def __init__(self, channels=64, classes=50):
        super().__init__()
        self.stem = nn.Conv1d(1, channels, 16, stride=8)
        self.blocks = nn.Sequential(*[GatedConv(channels, 2 ** i) for i in range(6)])
        self.se = SqueezeExcite(channels)
        self.head = nn.Linear(channels, classes)

    def forward(self, wav):
        return self.head(self.se(self.blocks(self.stem(wav))).mean(-1))

    def training_step(self, batch, _):
        wav, label = batch
        return F.cross_entropy(self(wav), label)

    def validation_step(self, batch, _):
        wav, label = batch
        self.log("val_acc", (self(wav).argmax(1) == label).float().mean(), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    L.seed_everything(2)
    train = DataLoader(TensorDataset(*torch.load("esc_train.pt")), 32, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("esc_valid.pt")), 64)
    trainer = L.Trainer(max_epochs=50, precision="16-mixed", accelerator="gpu", devices=1)
    trainer.fit(WaveTagger(), train, valid)
