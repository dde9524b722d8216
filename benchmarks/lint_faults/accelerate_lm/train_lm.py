"""Causal language modelling with Accelerate on padded sequences of different length."""
import argparse
import math

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

PAD_ID = 0


class Counting(Dataset):
    """Sequences that count upwards from a random start in steps of one, two or three."""

    def __init__(self, n, vocab):
        self.n, self.vocab = n, vocab

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        length = int(torch.randint(6, 16, (), generator=g))
        start, stride = int(torch.randint(1, 10, (), generator=g)), 1 + i % 3
        return 1 + (start + stride * torch.arange(length)) % (self.vocab - 1)


def collate(rows):
    ids = pad_sequence(rows, batch_first=True, padding_value=PAD_ID)
    labels = ids.clone()
    labels[ids == PAD_ID] = -100
    return {"input_ids": ids, "labels": labels}


class GRULM(nn.Module):
    def __init__(self, vocab, dim, dropout):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=PAD_ID)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.drop(self.rnn(self.embed(ids))[0]))


def lm_loss(logits, labels):
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch_size", type=int, default=8)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=2)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--num_warmup_steps", type=int, default=2)
    parser.add_argument("--max_grad_norm", type=float, default=1.0)
    parser.add_argument("--mixed_precision", default="no", choices=["no", "fp16", "bf16"])
    parser.add_argument("--vocab", type=int, default=32)
    parser.add_argument("--dim", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--logging_steps", type=int, default=4)
    parser.add_argument("--output_dir", default="lm_out")
    parser.add_argument("--resume_from", default=None)
    return parser.parse_args()


def evaluate(model, loader, accelerator):
    model.eval()
    losses = []
    for batch in loader:
        with torch.no_grad():
            loss = lm_loss(model(batch["input_ids"]), batch["labels"])
        losses.append(accelerator.gather_for_metrics(loss.repeat(batch["input_ids"].shape[0])))
    return math.exp(torch.cat(losses).mean().item())


def main():
    args = parse_args()
    accelerator = Accelerator(
        gradient_accumulation_steps=args.gradient_accumulation_steps, mixed_precision=args.mixed_precision
    )
    set_seed(args.seed)
    train_loader = DataLoader(Counting(96, args.vocab), batch_size=args.batch_size, shuffle=True, collate_fn=collate)
    eval_loader = DataLoader(Counting(32, args.vocab), batch_size=args.batch_size, collate_fn=collate)
    model = GRULM(args.vocab, args.dim, dropout=0.1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    total_steps = args.epochs * math.ceil(len(train_loader) / args.gradient_accumulation_steps)

    def ramp(step):
        if step < args.num_warmup_steps:
            return (step + 1) / args.num_warmup_steps
        return max(0.0, (total_steps - step) / max(1, total_steps - args.num_warmup_steps))

    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, ramp)
    model, optimizer, train_loader, eval_loader, scheduler = accelerator.prepare(
        model, optimizer, train_loader, eval_loader, scheduler
    )
    start_epoch = 0
    if args.resume_from:
        accelerator.load_state(args.resume_from)
        start_epoch = int(args.resume_from.rsplit("_", 1)[-1]) + 1

    best_ppl = float("inf")
    for epoch in range(start_epoch, args.epochs):
        model.train()
        for step, batch in enumerate(train_loader):
            with accelerator.accumulate(model):
                logits = model(batch["input_ids"])
                loss = lm_loss(logits, batch["labels"])
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), args.max_grad_norm)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            if step % args.logging_steps == 0:
                accelerator.print(f"epoch {epoch} step {step} loss {loss.item():.4f}")
        ppl = evaluate(model, eval_loader, accelerator)
        accelerator.print(f"epoch {epoch}: perplexity {ppl:.2f}")
        if ppl < best_ppl:
            best_ppl = ppl
            accelerator.save_state(f"{args.output_dir}/epoch_{epoch}")


if __name__ == "__main__":
    main()
