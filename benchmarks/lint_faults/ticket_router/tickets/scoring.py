from dataclasses import dataclass, field

import torch


@dataclass
class TagF1:
    """Micro-averaged F1 of tags whose probability passes the threshold."""

    threshold: float
    hit: int = 0
    said: int = 0
    true: int = 0

    def add(self, probs, tags):
        on = probs > self.threshold
        self.hit += int((on & tags.bool()).sum())
        self.said += int(on.sum())
        self.true += int(tags.sum())

    def value(self):
        return 2 * self.hit / max(1, self.said + self.true)


@dataclass
class Scorer:
    threshold: float
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @torch.inference_mode()
    def __call__(self, model, batches):
        model.eval()
        f1, right, seen = TagF1(self.threshold), 0, 0
        for batch in batches:
            batch = {k: v.to(self.device) for k, v in batch.items()}
            out = model(batch["words"])
            f1.add(out["tags"].sigmoid(), batch["tags"])
            right += int((out["queue"].argmax(-1) == batch["queue"]).sum())
            seen += len(batch["queue"])
        model.train()
        return {"f1": f1.value(), "accuracy": right / seen}


class Keeper:
    """Keeps the weights of the best epoch on disk."""

    def __init__(self, path, enabled=True):
        self.path, self.enabled, self.best = path, enabled, None

    def offer(self, score, model):
        if self.best is not None and score <= self.best:
            return False
        self.best = score
        if self.enabled:
            torch.save(model.state_dict(), self.path)
        return True
