"""Fine-tune a small BERT on a two-class toy task with class weights and a length-aware loss."""
import argparse

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

PAD = 0


class ParityDataset(Dataset):
    """Is the number of odd tokens in the sentence odd?"""

    def __init__(self, n, max_len, seed):
        rng = np.random.default_rng(seed)
        self.rows = [rng.integers(1, 60, size=rng.integers(4, max_len)).tolist() for _ in range(n)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        ids = self.rows[i]
        return {"input_ids": ids, "labels": sum(t % 2 for t in ids) % 2}


def collate(features):
    width = max(len(f["input_ids"]) for f in features)
    ids = torch.full((len(features), width), PAD)
    for row, feature in zip(ids, features):
        row[: len(feature["input_ids"])] = torch.tensor(feature["input_ids"])
    return {
        "input_ids": ids,
        "attention_mask": (ids != PAD).long(),
        "labels": torch.tensor([f["labels"] for f in features]),
    }


class WeightedTrainer(Trainer):
    def __init__(self, *args, class_weights=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.class_weights = class_weights

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        logits = outputs.logits
        weight = self.class_weights.to(logits.device) if self.class_weights is not None else None
        loss = F.cross_entropy(logits, labels, weight=weight)
        return (loss, outputs) if return_outputs else loss


def compute_metrics(eval_pred):
    logits, labels = eval_pred
    return {"accuracy": float((logits.argmax(-1) == labels).mean())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output_dir", default="bert-parity")
    parser.add_argument("--max_steps", type=int, default=6)
    parser.add_argument("--per_device_batch_size", type=int, default=4)
    parser.add_argument("--grad_accum", type=int, default=2)
    parser.add_argument("--learning_rate", type=float, default=5e-5)
    parser.add_argument("--warmup_steps", type=int, default=2)
    parser.add_argument("--weight_decay", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--resume_from_checkpoint", default=None)
    parser.add_argument("--bf16", action="store_true")
    args = parser.parse_args()

    config = BertConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                        intermediate_size=64, max_position_embeddings=64, num_labels=2, pad_token_id=PAD)
    model = BertForSequenceClassification(config)
    training_args = TrainingArguments(
        output_dir=args.output_dir,
        max_steps=args.max_steps,
        per_device_train_batch_size=args.per_device_batch_size,
        gradient_accumulation_steps=args.grad_accum,
        learning_rate=args.learning_rate,
        warmup_steps=args.warmup_steps,
        weight_decay=args.weight_decay,
        bf16=args.bf16,
        seed=args.seed,
        eval_strategy="steps",
        eval_steps=3,
        save_steps=3,
        logging_steps=2,
        load_best_model_at_end=True,
        metric_for_best_model="accuracy",
        report_to=[],
    )
    trainer = WeightedTrainer(
        model=model,
        args=training_args,
        train_dataset=ParityDataset(64, 20, seed=0),
        eval_dataset=ParityDataset(16, 20, seed=1),
        data_collator=collate,
        compute_metrics=compute_metrics,
        class_weights=torch.tensor([1.0, 1.2]),
    )
    trainer.train(resume_from_checkpoint=args.resume_from_checkpoint)
    print(trainer.evaluate())


if __name__ == "__main__":
    main()
