import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader

N_MELS = 80


def collate(batch):
    longest = max(m.shape[0] for m in batch)
    mels = torch.stack([F.pad(m, (0, 0, 0, longest - m.shape[0]), value=-11.5) for m in batch]) #@
    lengths = torch.tensor([m.shape[0] for m in batch])
    return mels, lengths


class MelAutoencoder(L.LightningModule):
    def __init__(self, dim=256):
        super().__init__()
        self.rnn = nn.GRU(N_MELS, dim, batch_first=True)
        self.out = nn.Linear(dim, N_MELS)

    def forward(self, mels, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(mels, lengths.cpu(), batch_first=True, enforce_sorted=False)
        h, _ = nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        return self.out(h)

    def training_step(self, batch, batch_idx):
        mels, lengths = batch
        pred = self(mels[:, :-1], lengths - 1)
        loss = F.l1_loss(pred, mels[:, 1:]) #@
        self.log("train_l1", loss, batch_size=len(mels))
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=5e-4)


clips = [torch.randn(int(n), N_MELS) for n in torch.randint(50, 600, (2000,))]
L.Trainer(max_epochs=20).fit(MelAutoencoder(), DataLoader(clips, 16, shuffle=True, collate_fn=collate))
