import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class ConvStem(nn.Module):
    """Local windows of 3, 5 and 7 residues."""

    def __init__(self, dim, p):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv1d(dim, dim, k, padding=k // 2) for k in (3, 5, 7)])
        self.mix = nn.Linear(3 * dim, dim)
        self.norm = nn.LayerNorm(dim)
        self.drop = nn.Dropout(p)

    def forward(self, h, mask):
        c = (h * mask).transpose(1, 2)
        c = torch.cat([torch.relu(conv(c)) for conv in self.convs], 1).transpose(1, 2)
        return self.norm(h + self.drop(self.mix(c)))


class SSNet(nn.Module):
    def __init__(self, n_states=3, hidden=48, layers=1, dropout=0.2):
        super().__init__()
        self.emb = nn.Embedding(21, hidden, padding_idx=0)
        self.stem = ConvStem(hidden, dropout)
        self.rnn = nn.LSTM(hidden, hidden, layers, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(dropout)
        self.out = nn.Linear(2 * hidden, n_states)

    def forward(self, x, lengths):
        mask = (x != 0).unsqueeze(-1).float()
        h = self.stem(self.emb(x), mask)
        packed = pack_padded_sequence(h, lengths.cpu(), batch_first=True, enforce_sorted=False)
        h, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True, total_length=x.size(1))
        return self.out(self.drop(h))
