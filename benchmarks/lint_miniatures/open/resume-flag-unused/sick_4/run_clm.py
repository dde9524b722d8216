from dataclasses import dataclass, field
from typing import Optional

from datasets import load_dataset
from transformers import (AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, HfArgumentParser,
                          Trainer, TrainingArguments)


@dataclass
class ScriptArguments:
    model_name: str = field(default="gpt2")
    max_length: int = field(default=256)
    resume_checkpoint: Optional[str] = field(default=None)  #@


def main():
    script_args, training_args = HfArgumentParser((ScriptArguments, TrainingArguments)).parse_args_into_dataclasses()
    tok = AutoTokenizer.from_pretrained(script_args.model_name)
    tok.pad_token = tok.eos_token
    raw = load_dataset("wikitext", "wikitext-2-raw-v1").filter(lambda r: len(r["text"]) > 20)
    ds = raw.map(lambda b: tok(b["text"], truncation=True, max_length=script_args.max_length),
                 batched=True, remove_columns=["text"])
    trainer = Trainer(
        model=AutoModelForCausalLM.from_pretrained(script_args.model_name),
        args=training_args,
        train_dataset=ds["train"],
        eval_dataset=ds["validation"],
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
    )
    trainer.train()  #@
    print(trainer.evaluate())
    trainer.save_model()


if __name__ == "__main__":
    main()
