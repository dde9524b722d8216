from dataclasses import dataclass, field

from datasets import load_dataset
from transformers import (AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding,
                          HfArgumentParser, Trainer, TrainingArguments)


@dataclass
class DataArgs:
    dataset: str = field(default="imdb")
    max_length: int = field(default=512)


def setup(training_args):
    training_args.learning_rate = 2e-5  #@
    training_args.num_train_epochs = 3  #@
    training_args.logging_steps = 50
    return training_args


def main():
    data_args, training_args = HfArgumentParser((DataArgs, TrainingArguments)).parse_args_into_dataclasses()
    training_args = setup(training_args)  #@
    tok = AutoTokenizer.from_pretrained("distilbert-base-uncased")
    ds = load_dataset(data_args.dataset).map(
        lambda b: tok(b["text"], truncation=True, max_length=data_args.max_length), batched=True)
    trainer = Trainer(
        model=AutoModelForSequenceClassification.from_pretrained("distilbert-base-uncased", num_labels=2),
        args=training_args,
        train_dataset=ds["train"],
        eval_dataset=ds["test"],
        data_collator=DataCollatorWithPadding(tok),
    )
    trainer.train()
    print(trainer.evaluate())


if __name__ == "__main__":
    main()
