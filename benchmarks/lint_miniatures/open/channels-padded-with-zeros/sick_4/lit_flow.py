import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, Dataset


class Fields(Dataset):
    def __init__(self, data, channels):
        self.data, self.channels = data, channels

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        field = self.data[i]
        out = field.new_zeros(2, self.channels, *field.shape[2:])  #@
        out[:, :field.shape[1]] = field  #@
        return out[0], out[1]


class Surrogate(L.LightningModule):
    def __init__(self, channels=6):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(channels, 48, 5, padding=2), nn.GELU(), nn.Conv2d(48, channels, 5, padding=2))

    def rel_l2(self, batch):
        now, nxt = batch
        pred = now + self.net(now)
        return F.l1_loss(pred, nxt)  #@

    def training_step(self, batch, batch_idx):
        return self.rel_l2(batch)

    def validation_step(self, batch, batch_idx):
        self.log("val_l1", self.rel_l2(batch), prog_bar=True)  #@

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=5e-4)


if __name__ == "__main__":
    euler, ns, heat = torch.randn(300, 2, 6, 32, 32), torch.randn(300, 2, 4, 32, 32), torch.randn(300, 2, 1, 32, 32)
    train = ConcatDataset([Fields(d[:260], 6) for d in (euler, ns, heat)])
    val = ConcatDataset([Fields(d[260:], 6) for d in (euler, ns, heat)])
    L.Trainer(max_epochs=20).fit(Surrogate(), DataLoader(train, batch_size=20, shuffle=True), DataLoader(val, batch_size=40))
