import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, DistributedSampler

ALPHABET = "ACDEFGHIKLMNPQRSTVWY"
PAD, MASK, CLS, EOS = 0, 1, 2, 3
OFFSET = 4
VOCAB = OFFSET + len(ALPHABET)
IGNORE = -100


def random_protein(seed: int, max_len: int) -> str:
    """Repeats of short motifs, so that a masked residue can be guessed from its context."""
    g = torch.Generator().manual_seed(seed)
    motif = torch.randint(len(ALPHABET), (4,), generator=g).tolist()
    length = int(torch.randint(12, max_len - 2, (), generator=g))
    return "".join(ALPHABET[motif[i % 4]] for i in range(length))


class ProteinDataset(Dataset):
    def __init__(self, n: int, max_len: int, first_seed: int):
        self.sequences = [random_protein(first_seed + i, max_len) for i in range(n)]

    def __len__(self):
        return len(self.sequences)

    def __getitem__(self, i):
        body = [OFFSET + ALPHABET.index(c) for c in self.sequences[i]]
        return torch.tensor([CLS, *body, EOS])


class MLMCollator:
    """BERT masking: 80 % mask token, 10 % random residue, 10 % unchanged."""

    def __init__(self, mask_prob: float, seed: int | None = None):
        self.mask_prob = mask_prob
        self.seed = seed

    def __call__(self, rows):
        g = None if self.seed is None else torch.Generator().manual_seed(self.seed)
        ids = pad_sequence(rows, batch_first=True, padding_value=PAD)
        attention = ids != PAD
        chosen = (torch.rand(ids.shape, generator=g) < self.mask_prob) & (ids >= OFFSET)
        chosen[:, 1] = True
        labels = torch.where(chosen, ids, IGNORE)
        action = torch.rand(ids.shape, generator=g)
        noise = torch.randint(OFFSET, VOCAB, ids.shape, generator=g)
        inputs = torch.where(chosen & (action < 0.8), MASK, ids)
        inputs = torch.where(chosen & (action >= 0.9), noise, inputs)
        return {"input_ids": inputs, "attention_mask": attention, "labels": labels}


def make_loaders(cfg, dist_env):
    train = ProteinDataset(64, cfg.model.max_len, first_seed=0)
    valid = ProteinDataset(24, cfg.model.max_len, first_seed=50_000)
    sampler = DistributedSampler(
        train, num_replicas=dist_env.world_size, rank=dist_env.rank, shuffle=True, seed=cfg.seed, drop_last=True
    )
    valid_sampler = DistributedSampler(
        valid, num_replicas=dist_env.world_size, rank=dist_env.rank, shuffle=False
    )
    train_loader = DataLoader(
        train, batch_size=cfg.batch_size, sampler=sampler, collate_fn=MLMCollator(cfg.mask_prob), drop_last=True
    )
    valid_loader = DataLoader(
        valid, batch_size=cfg.batch_size, sampler=valid_sampler, collate_fn=MLMCollator(cfg.mask_prob, seed=0)
    )
    return train_loader, valid_loader
