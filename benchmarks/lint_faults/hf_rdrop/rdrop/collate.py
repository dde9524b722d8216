from dataclasses import dataclass

import torch


@dataclass
class LabelCollator:
    """Pads token ids and tags of a batch to the same length."""

    pad_id: int = 0
    label_pad_id: int = -100

    def __call__(self, rows: list[dict]) -> dict[str, torch.Tensor]:
        longest = max(len(r["input_ids"]) for r in rows)

        def fill(key: str, value: int) -> torch.Tensor:
            return torch.tensor([list(r[key]) + [value] * (longest - len(r[key])) for r in rows])

        ids = fill("input_ids", self.pad_id)
        return {
            "input_ids": ids,
            "attention_mask": (ids != self.pad_id).long(),
            "labels": fill("labels", self.label_pad_id),
        }
