import os

from datasets import load_dataset
from transformers import (AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding,
                          HfArgumentParser, Trainer, TrainingArguments)
from transformers.trainer_utils import get_last_checkpoint


def main():
    (training_args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    tok = AutoTokenizer.from_pretrained("bert-base-uncased")
    ds = load_dataset("glue", "sst2").map(lambda b: tok(b["sentence"], truncation=True), batched=True)
    checkpoint = training_args.resume_from_checkpoint
    if checkpoint is None and os.path.isdir(training_args.output_dir):
        checkpoint = get_last_checkpoint(training_args.output_dir)
    trainer = Trainer(
        model=AutoModelForSequenceClassification.from_pretrained("bert-base-uncased"),
        args=training_args,
        train_dataset=ds["train"],
        eval_dataset=ds["validation"],
        data_collator=DataCollatorWithPadding(tok),
    )
    trainer.train(resume_from_checkpoint=checkpoint)
    trainer.save_model()


if __name__ == "__main__":
    main()
