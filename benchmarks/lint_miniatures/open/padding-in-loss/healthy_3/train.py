import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader


def collate(batch):
    lengths = torch.tensor([len(s) for s in batch])
    x = pad_sequence(batch, batch_first=True)
    return x, torch.arange(x.size(1))[None, :] < lengths[:, None]


class Denoiser(L.LightningModule):
    def __init__(self, dim=64):
        super().__init__()
        self.inp = nn.Linear(4, dim)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(dim, 4, 128, batch_first=True), 2)
        self.out = nn.Linear(dim, 4)

    def training_step(self, batch, batch_idx):
        x, mask = batch
        h = self.encoder(self.inp(x + 0.1 * torch.randn_like(x)), src_key_padding_mask=~mask)
        per_step = F.mse_loss(self.out(h), x, reduction="none").mean(-1)
        loss = (per_step * mask).sum() / mask.sum()
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=3e-4)


items = [torch.randn(int(k), 4) for k in torch.randint(10, 100, (2000,))]
L.Trainer(max_epochs=20).fit(Denoiser(), DataLoader(items, batch_size=32, shuffle=True, collate_fn=collate))
