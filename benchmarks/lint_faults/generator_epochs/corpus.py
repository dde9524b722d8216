import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset

PAD_WORD, PAD_TAG = 0, -100


class TagCorpus(Dataset):
    vocab, tags = 40, 4

    def __init__(self, n):
        g = torch.Generator().manual_seed(17)
        lengths = torch.randint(3, 12, (n,), generator=g)
        self.sentences = [torch.randint(1, self.vocab, (int(k),), generator=g) for k in lengths]

    def __len__(self):
        return len(self.sentences)

    def __getitem__(self, i):
        words = self.sentences[i]
        previous = torch.roll(words, 1)
        return words, (words + previous) % self.tags


def collate(rows):
    words, tags = zip(*rows)
    return (
        pad_sequence(words, batch_first=True, padding_value=PAD_WORD),
        pad_sequence(tags, batch_first=True, padding_value=PAD_TAG),
    )
