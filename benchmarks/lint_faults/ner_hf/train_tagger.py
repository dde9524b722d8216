#!/usr/bin/env python
"""python train_tagger.py args.json   or   python train_tagger.py --output_dir ... --learning_rate ..."""
import sys
from dataclasses import dataclass, field

import numpy as np
from transformers import EarlyStoppingCallback, HfArgumentParser, TrainingArguments, set_seed

from tagger.data import IGNORE, TAGS, Addresses, TagCollator
from tagger.modeling import FieldTagger
from tagger.trainer import ProbeCallback, TaggerTrainer


@dataclass
class ModelArguments:
    hidden: int = field(default=32)
    layers: int = field(default=2)
    dropout: float = field(default=0.1)


@dataclass
class TaskArguments:
    train_size: int = field(default=96)
    eval_size: int = field(default=32)
    pair_weight: float = field(default=0.2, metadata={"help": "weight of the pairwise loss"})
    head_lr_scale: float = field(default=5.0)
    patience: int = field(default=3)


def token_f1(prediction):
    logits = prediction.predictions[0] if isinstance(prediction.predictions, tuple) else prediction.predictions
    guess, truth = logits.argmax(-1), prediction.label_ids
    keep = truth != IGNORE
    guess, truth = guess[keep], truth[keep]
    scores = []
    for tag in range(1, len(TAGS)):
        hit = np.sum((guess == tag) & (truth == tag))
        scores.append(2 * hit / max(1, np.sum(guess == tag) + np.sum(truth == tag)))
    return {"f1": float(np.mean(scores)), "accuracy": float(np.mean(guess == truth))}


def main():
    parser = HfArgumentParser((ModelArguments, TaskArguments, TrainingArguments))
    if len(sys.argv) == 2 and sys.argv[1].endswith(".json"):
        model_args, task_args, training_args = parser.parse_json_file(sys.argv[1])
    else:
        model_args, task_args, training_args = parser.parse_args_into_dataclasses()
    set_seed(training_args.seed)

    train_set = Addresses(task_args.train_size, seed=11)
    eval_set = Addresses(task_args.eval_size, seed=12)
    collator = TagCollator()
    model = FieldTagger(hidden=model_args.hidden, layers=model_args.layers, dropout=model_args.dropout)
    trainer = TaggerTrainer(
        model=model,
        args=training_args,
        train_dataset=train_set,
        eval_dataset=eval_set,
        data_collator=collator,
        compute_metrics=token_f1,
        callbacks=[
            EarlyStoppingCallback(task_args.patience),
            ProbeCallback(collator([eval_set[0]]), TAGS),
        ],
        pair_weight=task_args.pair_weight,
        head_lr_scale=task_args.head_lr_scale,
    )
    trainer.train(resume_from_checkpoint=training_args.resume_from_checkpoint)
    trainer.save_model()
    print(trainer.evaluate())


if __name__ == "__main__":
    main()
