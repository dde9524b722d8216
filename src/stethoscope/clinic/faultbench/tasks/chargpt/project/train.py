"""
Train a character-level GPT on the lines in data/.

$ python train.py config/train_chars.py --seed 1337
$ python train.py config/train_chars.py --resume latest
"""

import argparse
import copy
import csv
import json
import math
import shutil
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import torch
from model import GPT, GPTConfig

parser = argparse.ArgumentParser()
parser.add_argument("config", nargs="?", default="config/train_chars.py")
parser.add_argument("--seed", type=int, default=1337)
parser.add_argument("--resume", default=None, help="a checkpoint, or latest")
args = parser.parse_args()
exec(Path(args.config).read_text())  # the settings become globals

out = Path(out_dir)
(out / "ckpts").mkdir(parents=True, exist_ok=True)
shutil.copy(args.config, out / Path(args.config).name)
torch.manual_seed(args.seed)
ctx = torch.autocast("cpu", dtype=torch.bfloat16) if dtype == "bfloat16" else nullcontext()

# -----------------------------------------------------------------------------
# data: one line of characters per row, filled up behind its end
PAD = 0
vocab_size = 50
arrays = {split: np.load(f"data/{split}.npz") for split in ("train", "val")}
tokens = {split: torch.from_numpy(arrays[split]["tokens"].astype(np.int64)) for split in arrays}
kinds = {split: torch.from_numpy(arrays[split]["kind"]) for split in arrays}
if max_rows:
    tokens["train"], kinds["train"] = tokens["train"][:max_rows], kinds["train"][:max_rows]
draw = torch.Generator().manual_seed(args.seed)


def split_rows(rows):
    """Inputs and what follows each of them; -1 where the line has ended."""
    x, y = rows[:, :-1], rows[:, 1:]
    return x, y.masked_fill(y == PAD, -1)


def get_batch(rows_per_batch):
    data = tokens["train"]
    if iter_num < easy_iters:
        data = data[kinds["train"] < 2]
    ix = torch.randint(len(data), (rows_per_batch,), generator=draw)
    return split_rows(data[ix])


# -----------------------------------------------------------------------------
# model, optimizer, average
model_args = dict(
    block_size=block_size,
    vocab_size=vocab_size,
    n_layer=n_layer,
    n_head=n_head,
    n_embd=n_embd,
    dropout=dropout,
    bias=bias,
)
model = GPT(GPTConfig(**model_args))
print(f"number of parameters: {sum(p.numel() for p in model.parameters()) / 1e3:.1f}k")
optimizer = model.configure_optimizers(weight_decay, learning_rate, (beta1, beta2), adam_eps)
ema = copy.deepcopy(model) if ema_decay else None
iter_num = 0
best_val_loss = 1e9

if args.resume:
    path = sorted((out / "ckpts").glob("ckpt_*.pt"))[-1] if args.resume == "latest" else Path(args.resume)
    print(f"resuming from {path}")
    checkpoint = torch.load(path, weights_only=False)
    model.load_state_dict(checkpoint["model"])
    if ema is not None:
        ema.load_state_dict(checkpoint["ema"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    iter_num = checkpoint["iter_num"]
    best_val_loss = checkpoint["best_val_loss"]
    draw.set_state(checkpoint["draw_state"])
    torch.set_rng_state(checkpoint["rng_state"])
    checkpoint = None


def save_checkpoint(path):
    checkpoint = {
        "model": model.state_dict(),
        "ema": ema.state_dict() if ema is not None else None,
        "optimizer": optimizer.state_dict(),
        "model_args": model_args,
        "iter_num": iter_num,
        "best_val_loss": best_val_loss,
        "draw_state": draw.get_state(),
        "rng_state": torch.get_rng_state(),
    }
    torch.save(checkpoint, path)


@torch.no_grad()
def update_ema():
    for average, p in zip(ema.parameters(), model.parameters()):
        average.lerp_(p, 1.0 - ema_decay)


@torch.no_grad()
def estimate_loss(net):
    """Nats per character over the same rows of each split every time."""
    net.eval()
    losses = {}
    for split in ("train", "val"):
        total, count = 0.0, 0
        for rows in tokens[split][:eval_rows].split(64):
            X, Y = split_rows(rows)
            with ctx:
                logits, loss = net(X, Y)
            n = (Y >= 0).sum().item()
            total += loss.item() * n
            count += n
        losses[split] = total / count
    net.train()
    return losses


def get_lr(it):
    # 1) linear warmup
    if it < warmup_iters:
        return learning_rate * (it + 1) / (warmup_iters + 1)
    if decay == "none":
        return learning_rate
    # 2) down to min_lr, and stay there
    min_lr = learning_rate * min_lr_frac
    if it > lr_decay_iters:
        return min_lr
    decay_ratio = (it - warmup_iters) / (lr_decay_iters - warmup_iters)
    if decay == "linear":
        return learning_rate - decay_ratio * (learning_rate - min_lr)
    coeff = 0.5 * (1.0 + math.cos(math.pi * decay_ratio))
    return min_lr + coeff * (learning_rate - min_lr)


# -----------------------------------------------------------------------------
# logging: what an iteration has to say is gathered in one row
columns = ["iter", "loss"]
columns += ["lr"] * log_lr + ["grad_norm"] * log_grad_norm + ["ms"] * log_time
columns += ["train_eval_loss", "val_loss"]
writer = None
if log_format == "tensorboard":
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(out))


def write_row(row):
    it = row["iter"]
    if log_format == "tensorboard":
        for name in columns[1:]:
            if name in row:
                tag = {"loss": "train/loss", "val_loss": "val/loss", "train_eval_loss": "train_eval/loss"}.get(name, name)
                writer.add_scalar(tag, row[name], it)
        writer.flush()
    elif log_format == "csv":
        fresh = not (out / "log.csv").exists()
        with open(out / "log.csv", "a", newline="") as f:
            table = csv.DictWriter(f, columns)
            if fresh:
                table.writeheader()
            table.writerow(row)
    elif log_format == "jsonl":
        with open(out / "log.jsonl", "a") as f:
            f.write(json.dumps(row) + "\n")
    else:
        with open(out / "train.log", "a") as f:
            f.write("\n".join(told(row)) + "\n")


def told(row):
    """The row as lines for people."""
    it = row["iter"]
    if "val_loss" in row:
        yield f"step {it}: train loss {row['train_eval_loss']:.4f}, val loss {row['val_loss']:.4f}"
    if "loss" not in row:
        return
    said = [("loss", f"{row['loss']:.4f}")]
    if log_lr:
        said.append(("lr", f"{row['lr']:.3e}"))
    if log_grad_norm:
        said.append(("grad_norm", f"{row['grad_norm']:.4f}"))
    if log_format == "bar":
        took = int(time.time() - started)
        done = "#" * (10 * it // max_iters)
        fields = ", ".join(f"{name}={value}" for name, value in said)
        share = 100 * it // max_iters
        yield f"{share:3d}%|{done:<10}| {it}/{max_iters} [{took // 60:02d}:{took % 60:02d}, {fields}]"
        return
    if log_time:
        said.append(("time", f"{row['ms']:.2f}ms"))
    yield f"iter {it}: " + ", ".join(f"{name} {value}" for name, value in said)


# -----------------------------------------------------------------------------
# training loop
micro_batch_size = batch_size // gradient_accumulation_steps
started = t0 = time.time()
model.train()
while iter_num < max_iters:
    lr = get_lr(iter_num)
    for param_group in optimizer.param_groups:
        param_group["lr"] = lr

    # forward backward update, with gradient accumulation to reach the batch size
    lossf = 0.0
    for micro_step in range(gradient_accumulation_steps):
        X, Y = get_batch(micro_batch_size)
        with ctx:
            logits, loss = model(X, Y)
        loss = loss / gradient_accumulation_steps
        loss.backward()
        lossf += loss.item()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip if grad_clip else math.inf)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    if ema is not None:
        update_ema()
    iter_num += 1

    row = {"iter": iter_num}
    if iter_num % log_interval == 0:
        t1 = time.time()
        row["loss"] = lossf
        if log_lr:
            row["lr"] = lr
        if log_grad_norm:
            row["grad_norm"] = norm.item()
        if log_time:
            row["ms"] = (t1 - t0) * 1000 / log_interval
        t0 = t1
    if iter_num % eval_interval == 0:
        losses = estimate_loss(ema if ema is not None else model)
        row["train_eval_loss"], row["val_loss"] = losses["train"], losses["val"]
        if losses["val"] < best_val_loss:
            best_val_loss = losses["val"]
            save_checkpoint(out / "best.pt")
    if len(row) > 1:
        write_row(row)
    if iter_num % ckpt_interval == 0:
        save_checkpoint(out / "ckpts" / f"ckpt_{iter_num:06d}.pt")

print(f"best val loss {best_val_loss:.4f}")
