import torch
from torch.utils.data import IterableDataset


class TokenStream(IterableDataset):
    """Endless windows of a synthetic corpus; every rank draws its own."""

    def __init__(self, vocab, seq_len, seed, rank):
        self.vocab, self.seq_len = vocab, seq_len
        self.generator = torch.Generator().manual_seed(seed + 7919 * rank)

    def __iter__(self):
        while True:
            start = torch.randint(0, self.vocab, (1,), generator=self.generator)
            stride = torch.randint(1, 4, (1,), generator=self.generator)
            yield (start + stride * torch.arange(self.seq_len + 1)) % self.vocab

    def state_dict(self):
        return {"generator": self.generator.get_state()}

    def load_state_dict(self, state):
        self.generator.set_state(state["generator"])
