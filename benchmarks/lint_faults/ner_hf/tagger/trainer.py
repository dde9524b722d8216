import torch
import torch.nn.functional as F
from transformers import Trainer, TrainerCallback

from .data import IGNORE


class TaggerTrainer(Trainer):
    def __init__(self, *args, pair_weight=0.2, head_lr_scale=5.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.pair_weight = pair_weight
        self.head_lr_scale = head_lr_scale
        self.recent = []

    def create_optimizer(self, model=None):
        if self.optimizer is not None:
            return self.optimizer
        model = self.model if model is None else model
        heads = [*model.tag_head.parameters(), *model.pairs.parameters()]
        groups = [
            {"params": list(model.encoder.parameters()), "lr": self.args.learning_rate},
            {"params": heads, "lr": self.args.learning_rate * self.head_lr_scale},
        ]
        self.optimizer = torch.optim.AdamW(groups, weight_decay=self.args.weight_decay)
        return self.optimizer

    def pair_loss(self, scores, labels):
        known = labels != IGNORE
        valid = known[:, :, None] & known[:, None, :]
        same = (labels[:, :, None] == labels[:, None, :]).float()
        return F.binary_cross_entropy_with_logits(scores[valid], same[valid])

    def tag_loss(self, logits, labels):
        return F.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE,
            label_smoothing=self.args.label_smoothing_factor,
        )

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs["labels"]
        outputs = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
        tags = self.tag_loss(outputs["logits"], labels)
        pairs = self.pair_loss(outputs["pair_scores"], labels)
        loss = tags + self.pair_weight * pairs
        if model.training:
            self.recent.append((tags.detach(), pairs.detach()))
        return (loss, outputs) if return_outputs else loss

    def log(self, logs, *args, **kwargs):
        if self.recent:
            tags, pairs = (torch.stack(column).mean().item() for column in zip(*self.recent))
            logs = {**logs, "tag_loss": round(tags, 4), "pair_loss": round(pairs, 4)}
            self.recent.clear()
        super().log(logs, *args, **kwargs)


class ProbeCallback(TrainerCallback):
    """Prints the tags of one fixed address after every epoch."""

    def __init__(self, batch, names):
        self.batch, self.names = batch, names

    def on_epoch_end(self, args, state, control, model=None, **kwargs):
        was_training = model.training
        model.eval()
        with torch.no_grad():
            out = model(**{k: self.batch[k].to(args.device) for k in ("input_ids", "attention_mask")})
        model.train(was_training)
        print(state.global_step, [self.names[i] for i in out["logits"][0].argmax(-1).tolist()])
