import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

PAD = 0


class Pairs(Dataset):
    def __init__(self, path):
        self.pairs = torch.load(path)

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        return self.pairs[i]


def collate(batch):
    src, tgt = zip(*batch)
    return (pad_sequence(src, batch_first=True, padding_value=PAD),
            pad_sequence(tgt, batch_first=True, padding_value=PAD))  #@


class Translator(nn.Module):
    def __init__(self, vocab=16000, dim=256, max_len=256):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.position = nn.Embedding(max_len, dim)
        self.core = nn.Transformer(dim, 4, 3, 3, 4 * dim, dropout=0.1, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def encode(self, ids):
        return self.embed(ids) + self.position(torch.arange(ids.shape[1], device=ids.device))

    def forward(self, src, tgt):
        causal = nn.Transformer.generate_square_subsequent_mask(tgt.shape[1], device=tgt.device)
        h = self.core(self.encode(src), self.encode(tgt), tgt_mask=causal,
                      src_key_padding_mask=src == PAD, tgt_key_padding_mask=tgt == PAD,
                      memory_key_padding_mask=src == PAD)
        return self.out(h)


criterion = nn.CrossEntropyLoss(label_smoothing=0.1)  #@


def step(model, src, tgt):
    logits = model(src, tgt[:, :-1])
    return criterion(logits.reshape(-1, logits.size(-1)), tgt[:, 1:].reshape(-1))  #@


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Translator().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4, betas=(0.9, 0.98))
    train = DataLoader(Pairs("deen_train.pt"), 64, shuffle=True, collate_fn=collate)
    valid = DataLoader(Pairs("deen_valid.pt"), 64, collate_fn=collate)
    for epoch in range(12):
        model.train()
        for src, tgt in train:
            optimizer.zero_grad()
            loss = step(model, src.to(device), tgt.to(device))
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            losses = torch.stack([step(model, s.to(device), t.to(device)) for s, t in valid])
        print(epoch, losses.mean().item())


if __name__ == "__main__":
    main()
