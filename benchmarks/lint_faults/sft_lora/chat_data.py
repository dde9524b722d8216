import torch
from torch.utils.data import DataLoader, Dataset

PAD, BOS, SEP, EOS = 0, 1, 2, 3
IGNORE = -100


class ReverseChat(Dataset):
    """Prompt: some symbols. Answer: the same backwards."""

    def __init__(self, n, seed, vocab):
        self.n, self.seed, self.vocab = n, seed, vocab

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed + i)
        length = int(torch.randint(3, 12, (), generator=g))
        body = torch.randint(4, self.vocab, (length,), generator=g).tolist()
        prompt, answer = [BOS, *body, SEP], [*body[::-1], EOS]
        return {"ids": prompt + answer, "labels": [IGNORE] * len(prompt) + answer}


def collate(rows):
    longest = max(len(r["ids"]) for r in rows)
    ids = torch.full((len(rows), longest), PAD)
    labels = torch.full((len(rows), longest), IGNORE)
    for k, r in enumerate(rows):
        ids[k, : len(r["ids"])] = torch.tensor(r["ids"])
        labels[k, : len(r["labels"])] = torch.tensor(r["labels"])
    return {"ids": ids, "labels": labels}


def get_loader(n, seed, vocab, batch_size, train):
    return DataLoader(ReverseChat(n, seed, vocab), batch_size, shuffle=train, collate_fn=collate)
