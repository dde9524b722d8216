"""Fine-tunes a small BERT on gazetteer-style named entities.

    python run_ner.py args.json
"""
import random
import sys
from dataclasses import dataclass, field

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForTokenClassification, EarlyStoppingCallback, HfArgumentParser, TrainingArguments, set_seed

from rdrop import LabelCollator, RDropTrainer

TAGS = ["O", "PER", "LOC"]


@dataclass
class NerArguments:
    vocab: int = field(default=120, metadata={"help": "number of word ids; 0 is padding"})
    hidden: int = 32
    layers: int = 2
    dropout: float = 0.1
    rdrop_weight: float = field(default=0.5, metadata={"help": "weight of the divergence between the two samples"})
    entity_weight: float = field(default=2.0, metadata={"help": "weight of PER and LOC in the loss"})
    train_sentences: int = 128
    eval_sentences: int = 48
    patience: int = 3


class Sentences(Dataset):
    """Words 1-20 name persons and 21-40 places, unless the word before is a negation (41)."""

    def __init__(self, n, vocab, seed):
        rng = random.Random(seed)
        self.rows = []
        for _ in range(n):
            ids = [rng.choice([41, rng.randint(1, 40), rng.randint(42, vocab - 1)]) for _ in range(rng.randint(5, 16))]
            tags = [0 if w > 40 or (i and ids[i - 1] == 41) else 1 + (w > 20) for i, w in enumerate(ids)]
            self.rows.append({"input_ids": ids, "labels": tags})

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def entity_f1(prediction):
    guess, gold = np.argmax(prediction.predictions, -1), prediction.label_ids
    known = gold != -100
    guess, gold = guess[known], gold[known]
    tp = ((guess == gold) & (gold > 0)).sum()
    precision, recall = tp / max(1, (guess > 0).sum()), tp / max(1, (gold > 0).sum())
    return {"f1": float(2 * precision * recall / max(1e-9, precision + recall)), "accuracy": float((guess == gold).mean())}


def main():
    parser = HfArgumentParser((NerArguments, TrainingArguments))
    ner, training = parser.parse_json_file(sys.argv[1])
    set_seed(training.seed)
    config = BertConfig(
        vocab_size=ner.vocab, hidden_size=ner.hidden, num_hidden_layers=ner.layers, num_attention_heads=4,
        intermediate_size=2 * ner.hidden, max_position_embeddings=64, num_labels=len(TAGS),
        hidden_dropout_prob=ner.dropout, attention_probs_dropout_prob=ner.dropout,
    )
    model = BertForTokenClassification(config)
    weights = torch.tensor([1.0] + [ner.entity_weight] * (len(TAGS) - 1))
    trainer = RDropTrainer(
        model=model,
        args=training,
        train_dataset=Sentences(ner.train_sentences, ner.vocab, seed=1),
        eval_dataset=Sentences(ner.eval_sentences, ner.vocab, seed=2),
        data_collator=LabelCollator(),
        compute_metrics=entity_f1,
        callbacks=[EarlyStoppingCallback(early_stopping_patience=ner.patience)],
        rdrop_weight=ner.rdrop_weight,
        class_weights=weights,
    )
    trainer.train(resume_from_checkpoint=training.resume_from_checkpoint)
    trainer.save_model()
    print(trainer.evaluate())


if __name__ == "__main__":
    main()
