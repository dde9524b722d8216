import torch
from datasets import Dataset
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    Trainer,
    TrainingArguments,
)

MODEL = "gpt2"


def load_model(name):
    return AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16) #@


def main():
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    tokenizer.pad_token = tokenizer.eos_token
    raw = Dataset.from_dict({"text": [f"record {i} has value {i * i}" for i in range(2000)]})
    train_ds = raw.map(lambda b: tokenizer(b["text"], truncation=True, max_length=64), batched=True, remove_columns=["text"])
    args = TrainingArguments(
        output_dir="out",
        per_device_train_batch_size=16,
        learning_rate=1e-5, #@
        num_train_epochs=3,
        warmup_ratio=0.05,
        logging_steps=20,
    )
    collator = DataCollatorForLanguageModeling(tokenizer, mlm=False)
    model = load_model(MODEL) #@
    Trainer(model=model, args=args, train_dataset=train_ds, data_collator=collator).train() #@


if __name__ == "__main__":
    main()
