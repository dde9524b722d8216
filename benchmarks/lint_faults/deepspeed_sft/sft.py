"""deepspeed sft.py --model gpt2 --data instructions.jsonl"""
import argparse
import json
import os

import deepspeed
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler
from transformers import AutoModelForCausalLM, AutoTokenizer

IGNORE_INDEX = -100


class Instructions(Dataset):
    def __init__(self, path, tokenizer, max_length):
        with open(path) as f:
            self.rows = [json.loads(line) for line in f]
        self.tokenizer, self.max_length = tokenizer, max_length

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        prompt = self.tokenizer(row["prompt"])["input_ids"]
        answer = self.tokenizer(row["answer"])["input_ids"] + [self.tokenizer.eos_token_id]
        ids = (prompt + answer)[: self.max_length]
        labels = ([IGNORE_INDEX] * len(prompt) + answer)[: self.max_length]
        return {"input_ids": ids, "labels": labels}


def make_collate(pad_id):
    def collate(rows):
        width = max(len(r["input_ids"]) for r in rows)
        ids = torch.tensor([r["input_ids"] + [pad_id] * (width - len(r["input_ids"])) for r in rows])
        labels = torch.tensor([r["labels"] + [IGNORE_INDEX] * (width - len(r["labels"])) for r in rows])
        mask = torch.tensor([[1] * len(r["input_ids"]) + [0] * (width - len(r["input_ids"])) for r in rows])
        return {"input_ids": ids, "labels": labels, "attention_mask": mask}

    return collate


def evaluate(engine, loader):
    engine.eval()
    total = torch.zeros(2, device=engine.device)
    with torch.no_grad():
        for batch in loader:
            batch = {k: v.to(engine.device) for k, v in batch.items()}
            tokens = (batch["labels"][:, 1:] != IGNORE_INDEX).sum()
            total += torch.stack([engine(**batch).loss * tokens, tokens.float()])
    dist.all_reduce(total)
    engine.train()
    return (total[0] / total[1]).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="gpt2")
    parser.add_argument("--data", required=True)
    parser.add_argument("--valid", required=True)
    parser.add_argument("--max_length", type=int, default=512)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch_size", type=int, default=4)
    parser.add_argument("--log_every", type=int, default=20)
    parser.add_argument("--save_dir", default="sft")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--local_rank", type=int, default=-1, help="set by the launcher")
    parser.add_argument("--deepspeed_config", default="ds_config.json")
    args = parser.parse_args()

    deepspeed.init_distributed()
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", max(0, args.local_rank))))
    torch.manual_seed(args.seed)
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    model = AutoModelForCausalLM.from_pretrained(args.model)
    collate = make_collate(tokenizer.pad_token_id)
    train_set = Instructions(args.data, tokenizer, args.max_length)
    valid_set = Instructions(args.valid, tokenizer, args.max_length)
    sampler = DistributedSampler(train_set, shuffle=True, seed=args.seed)
    train_loader = DataLoader(train_set, args.batch_size, sampler=sampler, collate_fn=collate)
    valid_loader = DataLoader(valid_set, args.batch_size, sampler=DistributedSampler(valid_set, shuffle=False),
                              collate_fn=collate)
    engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(),
                                           config=args.deepspeed_config)

    start_epoch = 0
    if args.resume:
        _, client_state = engine.load_checkpoint(args.save_dir)
        start_epoch = client_state["epoch"] + 1

    for epoch in range(start_epoch, args.epochs):
        sampler.set_epoch(epoch)
        engine.train()
        for step, batch in enumerate(train_loader):
            batch = {k: v.to(engine.device) for k, v in batch.items()}
            loss = engine(**batch).loss
            engine.backward(loss)
            engine.step()
            if step % args.log_every == 0 and dist.get_rank() == 0:
                print(f"epoch {epoch} step {step} loss {loss.item():.4f}")
        valid_loss = evaluate(engine, valid_loader)
        if dist.get_rank() == 0:
            print(f"epoch {epoch} valid {valid_loss:.4f}")
        engine.save_checkpoint(args.save_dir, client_state={"epoch": epoch})


if __name__ == "__main__":
    main()
