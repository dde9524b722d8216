from dataclasses import dataclass, field

from datasets import load_dataset
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
)


@dataclass
class ScriptArguments:
    model_name: str = "distilbert-base-uncased"
    resume: str | None = field(default=None, metadata={"help": "checkpoint folder"})


def main():
    args, training_args = HfArgumentParser((ScriptArguments, TrainingArguments)).parse_args_into_dataclasses()
    tok = AutoTokenizer.from_pretrained(args.model_name)
    ds = load_dataset("glue", "sst2")
    ds = ds.map(lambda b: tok(b["sentence"], truncation=True), batched=True)
    model = AutoModelForSequenceClassification.from_pretrained(args.model_name, num_labels=2)
    trainer = Trainer(
        model=model,
        args=training_args,
        train_dataset=ds["train"],
        eval_dataset=ds["validation"],
        data_collator=DataCollatorWithPadding(tok),
    )
    trainer.train(resume_from_checkpoint=args.resume)
    trainer.save_model()


if __name__ == "__main__":
    main()
