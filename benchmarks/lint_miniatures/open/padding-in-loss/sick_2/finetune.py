from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments, default_data_collator

tokenizer = AutoTokenizer.from_pretrained("gpt2")
tokenizer.add_special_tokens({"pad_token": "<pad>"})
model = AutoModelForCausalLM.from_pretrained("gpt2")
model.resize_token_embeddings(len(tokenizer))


def preprocess(examples):
    texts = [p + " " + c + tokenizer.eos_token for p, c in zip(examples["prompt"], examples["completion"])]
    enc = tokenizer(texts, truncation=True, padding="max_length", max_length=128)
    enc["labels"] = [ids.copy() for ids in enc["input_ids"]] #@
    return enc


raw = Dataset.from_dict({
    "prompt": [f"Square of {i}?" for i in range(3000)],
    "completion": [f"It is {i * i}." for i in range(3000)],
})
train_ds = raw.map(preprocess, batched=True, remove_columns=raw.column_names) #@
args = TrainingArguments(
    output_dir="gpt2-squares",
    per_device_train_batch_size=16,
    learning_rate=5e-5,
    num_train_epochs=3,
    logging_steps=25,
)
trainer = Trainer(model=model, args=args, train_dataset=train_ds, data_collator=default_data_collator) #@
trainer.train()
