import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Utterances(Dataset):
    def __init__(self, path):
        self.items = torch.load(path)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]["phones"], self.items[i]["mel"]


def collate(items):
    longest = max(mel.shape[0] for _, mel in items)
    phones, mels, lengths = [], [], []
    for phone, mel in items:
        pad = longest - mel.shape[0]
        phones.append(F.pad(phone, (0, pad)))
        mels.append(F.pad(mel, (0, 0, 0, pad)))  #@
        lengths.append(mel.shape[0])
    return torch.stack(phones), torch.stack(mels), torch.tensor(lengths)


class Acoustic(L.LightningModule):
    def __init__(self, phones=80, width=256, mels=80):
        super().__init__()
        self.embed = nn.Embedding(phones, width, padding_idx=0)
        self.rnn = nn.LSTM(width, width, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * width, mels)

    def forward(self, phones, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embed(phones), lengths.cpu(), batch_first=True, enforce_sorted=False)
        h, _ = nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        return self.out(h)

    def training_step(self, batch, _):
        phones, mel, lengths = batch
        loss = F.l1_loss(self(phones, lengths), mel)  #@
        self.log("train_l1", loss)
        return loss

    def validation_step(self, batch, _):
        phones, mel, lengths = batch
        self.log("val_l1", F.l1_loss(self(phones, lengths), mel), prog_bar=True)  #@

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    L.seed_everything(0)
    train = DataLoader(Utterances("tts_train.pt"), 16, shuffle=True, collate_fn=collate)
    valid = DataLoader(Utterances("tts_valid.pt"), 16, collate_fn=collate)
    L.Trainer(max_epochs=100, gradient_clip_val=1.0).fit(Acoustic(), train, valid)
