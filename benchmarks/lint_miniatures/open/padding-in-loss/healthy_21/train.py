import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset


class Tracks(Dataset):
    def __init__(self, path):
        self.tracks = torch.load(path)

    def __len__(self):
        return len(self.tracks)

    def __getitem__(self, i):
        return self.tracks[i]


def collate(tracks):
    lengths = torch.tensor([len(t) - 1 for t in tracks])
    return pad_sequence(tracks, batch_first=True), lengths


def masked_mse(pred, target, lengths):
    steps = torch.arange(pred.shape[1], device=pred.device)
    mask = (steps[None] < lengths[:, None]).unsqueeze(-1).float()
    error = F.mse_loss(pred, target, reduction="none")
    return (error * mask).sum() / (mask.sum() * pred.shape[-1])


class Predictor(nn.Module):
    def __init__(self, dim=4, width=128):
        super().__init__()
        self.rnn = nn.GRU(dim, width, batch_first=True)
        self.head = nn.Linear(width, dim)

    def forward(self, x):
        return x + self.head(self.rnn(x)[0])


class Experiment:
    def __init__(self, device):
        self.device = device
        self.model = Predictor().to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)

    def loss(self, batch):
        tracks, lengths = (t.to(self.device) for t in batch)
        return masked_mse(self.model(tracks[:, :-1]), tracks[:, 1:], lengths)

    def run(self, train, valid, epochs):
        for epoch in range(epochs):
            self.model.train()
            for batch in train:
                self.optimizer.zero_grad()
                self.loss(batch).backward()
                self.optimizer.step()
            self.model.eval()
            with torch.no_grad():
                losses = torch.stack([self.loss(batch) for batch in valid])
            print(epoch, losses.mean().item())


if __name__ == "__main__":
    torch.manual_seed(0)
    exp = Experiment("cuda" if torch.cuda.is_available() else "cpu")
    exp.run(DataLoader(Tracks("ais_train.pt"), 32, shuffle=True, collate_fn=collate),
            DataLoader(Tracks("ais_valid.pt"), 64, collate_fn=collate), epochs=30)
