import sys
from dataclasses import dataclass, field

import numpy as np
from transformers import HfArgumentParser, TrainingArguments, set_seed

from model import TicketModel
from tickets import TicketCollator, Tickets
from trainer import TicketTrainer


@dataclass
class TaskArguments:
    hidden: int = field(default=64, metadata={"help": "width of the encoder"})
    layers: int = field(default=2)
    dropout: float = field(default=0.1)
    tag_weight: float = field(default=1.0, metadata={"help": "weight of the tagging loss"})
    head_lr_factor: float = field(default=1.0)
    train_tickets: int = field(default=1000)
    eval_tickets: int = field(default=200)


def keep_argmax(logits, labels):
    route, tags = logits
    return route.argmax(-1), tags.argmax(-1)


def metrics(pred):
    route_pred, tag_pred = pred.predictions
    route, tags = pred.label_ids
    real = tags != -100
    named = real & (tags > 0)
    return {
        "route_accuracy": float(np.mean(route_pred == route)),
        "tag_accuracy": float(np.mean(tag_pred[real] == tags[real])),
        "entity_recall": float(np.mean(tag_pred[named] == tags[named])),
    }


def main():
    parser = HfArgumentParser((TaskArguments, TrainingArguments))
    if len(sys.argv) == 2 and sys.argv[1].endswith(".json"):
        task, train_args = parser.parse_json_file(json_file=sys.argv[1])
    else:
        task, train_args = parser.parse_args_into_dataclasses()
    set_seed(train_args.seed)

    trainer = TicketTrainer(
        model=TicketModel(task.hidden, task.layers, task.dropout),
        args=train_args,
        train_dataset=Tickets(0, task.train_tickets),
        eval_dataset=Tickets(100_000, task.eval_tickets),
        data_collator=TicketCollator(),
        compute_metrics=metrics,
        preprocess_logits_for_metrics=keep_argmax,
        tag_weight=task.tag_weight,
        head_lr_factor=task.head_lr_factor,
    )
    trainer.train(resume_from_checkpoint=train_args.resume_from_checkpoint)
    trainer.save_model()
    trainer.log_metrics("eval", trainer.evaluate())


if __name__ == "__main__":
    main()
