import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def collate_array(batch, mics=4, snr=0.05):
    mono = torch.stack([b[0] for b in batch])
    array = mono.unsqueeze(1).expand(-1, mics, -1).clone() #@
    array += snr * torch.randn(array.shape) #@
    return array, mono


class Beamformer(L.LightningModule):
    def __init__(self, mics=4):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(mics, 64, 31, padding=15), nn.PReLU(), nn.Conv1d(64, 1, 31, padding=15)
        )

    def training_step(self, batch, batch_idx):
        array, clean = batch
        return F.l1_loss(self.net(array).squeeze(1), clean)

    def validation_step(self, batch, batch_idx):
        array, clean = batch
        self.log("val_l1", F.l1_loss(self.net(array).squeeze(1), clean))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


wav = torch.randn(1200, 8000).clamp(-1, 1)
train = DataLoader(TensorDataset(wav[:1000]), batch_size=8, shuffle=True, collate_fn=collate_array) #@
val = DataLoader(TensorDataset(wav[1000:]), batch_size=8, collate_fn=collate_array) #@
L.Trainer(max_epochs=20).fit(Beamformer(), train, val)
