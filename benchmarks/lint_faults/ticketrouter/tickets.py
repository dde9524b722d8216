"""Support tickets: which desk they go to, and which words name a product or an order."""
from dataclasses import dataclass

import torch
from torch.utils.data import Dataset

DESKS = ["billing", "shipping", "technical"]
TAGS = ["O", "PRODUCT", "ORDER"]
FILLER = "please help me with my the a is was since today again still it and i".split()
CUES = {
    "billing": "invoice charged refund card".split(),
    "shipping": "parcel late courier address".split(),
    "technical": "crash error login update".split(),
}
PRODUCTS = "router kettle headset drone lamp".split()
ORDERS = [f"#{n}" for n in range(100, 120)]
VOCAB = {w: i + 1 for i, w in enumerate([*FILLER, *sum(CUES.values(), []), *PRODUCTS, *ORDERS])}
PAD = 0


class Tickets(Dataset):
    def __init__(self, first, count):
        self.first, self.count = first, count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.first + i)

        def pick(words, k):
            return [(words[j], words) for j in torch.randint(len(words), (k,), generator=g).tolist()]

        desk = int(torch.randint(len(DESKS), (), generator=g))
        words = pick(FILLER, int(torch.randint(3, 12, (), generator=g)))
        words += pick(CUES[DESKS[desk]], 2) + pick(PRODUCTS, 1) + pick(ORDERS, int(torch.randint(0, 2, (), generator=g)))
        words = [words[j] for j in torch.randperm(len(words), generator=g).tolist()]
        tags = [1 if kind is PRODUCTS else 2 if kind is ORDERS else 0 for _, kind in words]
        return {"input_ids": [VOCAB[w] for w, _ in words], "route": desk, "tags": tags}


@dataclass
class TicketCollator:
    pad_to_multiple_of: int = 4

    def __call__(self, rows):
        longest = max(len(r["input_ids"]) for r in rows)
        longest += -longest % self.pad_to_multiple_of

        def padded(key, value):
            return torch.tensor([r[key] + [value] * (longest - len(r[key])) for r in rows])

        ids = padded("input_ids", PAD)
        return {
            "input_ids": ids,
            "attention_mask": (ids != PAD).long(),
            "route": torch.tensor([r["route"] for r in rows]),
            "tags": padded("tags", -100),
        }
