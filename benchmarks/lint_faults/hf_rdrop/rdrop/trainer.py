import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, RandomSampler
from transformers import Trainer


class RDropTrainer(Trainer):
    """Token classification with two dropout samples of each sentence (R-Drop)."""

    def __init__(self, *args, rdrop_weight: float = 1.0, class_weights: torch.Tensor | None = None, **kwargs):
        super().__init__(*args, **kwargs)
        self.rdrop_weight = rdrop_weight
        self.class_weights = class_weights
        # compute_loss below returns a mean per micro batch, so the Trainer has to divide it
        self.model_accepts_loss_kwargs = False

    def get_train_dataloader(self) -> DataLoader:
        loader = DataLoader(
            self.train_dataset,
            batch_size=self._train_batch_size,
            sampler=RandomSampler(self.train_dataset),
            collate_fn=self.data_collator,
            drop_last=self.args.dataloader_drop_last,
            num_workers=self.args.dataloader_num_workers,
        )
        return self.accelerator.prepare(loader)

    def _token_logits(self, model, inputs, copies: int):
        twice = {k: torch.cat([v] * copies) for k, v in inputs.items()}
        return model(**twice).logits.float()

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs["labels"]
        features = {k: v for k, v in inputs.items() if k != "labels"}
        copies = 2 if model.training else 1
        logits = self._token_logits(model, features, copies)
        weights = self.class_weights.to(logits.device) if self.class_weights is not None else None
        loss = F.cross_entropy(logits.flatten(0, 1), labels.repeat(copies, 1).flatten(), weight=weights, ignore_index=-100)
        if copies == 2:
            loss = loss + self.rdrop_weight * self._consistency(logits, labels)
        first = logits[: len(labels)]
        return (loss, {"logits": first}) if return_outputs else loss

    @staticmethod
    def _consistency(logits, labels):
        p, q = logits.log_softmax(-1).chunk(2)
        both = F.kl_div(p, q, reduction="none", log_target=True) + F.kl_div(q, p, reduction="none", log_target=True)
        known = (labels != -100).to(both.dtype)
        return 0.5 * (both.sum(-1) * known).sum() / known.sum().clamp(min=1)
