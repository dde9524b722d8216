from collections import defaultdict

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader
from transformers import Trainer


class TicketTrainer(Trainer):
    """Two losses, a higher learning rate for the heads, and the parts of the loss in the log."""

    def __init__(self, *args, tag_weight, head_lr_factor, **kwargs):
        super().__init__(*args, **kwargs)
        self.tag_weight = tag_weight
        self.head_lr_factor = head_lr_factor
        self._parts = defaultdict(list)

    def create_optimizer(self, model=None):
        if self.optimizer is None:
            encoder, heads = [], []
            for name, p in self.model.named_parameters():
                if not p.requires_grad:
                    continue
                (encoder if name.startswith("encoder.") else heads).append(p)
            lr, decay = self.args.learning_rate, self.args.weight_decay
            self.optimizer = torch.optim.AdamW(
                [
                    {"params": encoder, "lr": lr, "weight_decay": decay},
                    {"params": heads, "lr": lr * self.head_lr_factor, "weight_decay": 0.0},
                ]
            )
        return self.optimizer

    def get_train_dataloader(self):
        loader = DataLoader(
            self.train_dataset,
            batch_size=self._train_batch_size,
            shuffle=True,
            collate_fn=self.data_collator,
            num_workers=self.args.dataloader_num_workers,
            pin_memory=self.args.dataloader_pin_memory,
        )
        return self.accelerator.prepare(loader)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        route, tags = inputs["route"], inputs["tags"]
        out = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
        route_loss = F.cross_entropy(out["route_logits"], route)
        tag_loss = F.cross_entropy(out["tag_logits"].flatten(0, 1).float(), tags.flatten())
        loss = route_loss + self.tag_weight * tag_loss
        if model.training:
            self._parts["route"].append(route_loss.detach())
            self._parts["tags"].append(tag_loss.detach())
        return (loss, {"loss": loss, **out}) if return_outputs else loss

    def log(self, logs, *args, **kwargs):
        if "loss" in logs:
            for name, values in self._parts.items():
                logs[f"{name}_loss"] = round(torch.stack(values).mean().item(), 4)
            self._parts.clear()
        super().log(logs, *args, **kwargs)
