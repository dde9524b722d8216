import argparse
import json
import math
import os

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader

from catalogue import Catalogue
from towers import ShopMatcher


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch_size", type=int, default=16)
    p.add_argument("--accum", type=int, default=2)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--wd", type=float, default=0.01)
    p.add_argument("--warmup", type=int, default=4)
    p.add_argument("--max_norm", type=float, default=1.0)
    p.add_argument("--align_weight", type=float, default=0.1)
    p.add_argument("--patience", type=int, default=2)
    p.add_argument("--mixed_precision", choices=["no", "fp16", "bf16"], default="no")
    p.add_argument("--log_every", type=int, default=4)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", default="out")
    p.add_argument("--resume", default=None, help="a folder written by a former run")
    return p.parse_args()


class Progress:
    """Counters that travel with the checkpoint."""

    def __init__(self):
        self.epoch, self.step, self.best, self.waited = 0, 0, 0.0, 0

    def state_dict(self):
        return dict(vars(self))

    def load_state_dict(self, state):
        vars(self).update(state)


def warmup_cosine(warmup, total):
    def factor(step):
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warmup) / max(1, total - warmup))))

    return factor


def clip_and_measure(accelerator, optimizer, params, max_norm):
    params = list(params)
    accelerator.unscale_gradients(optimizer)
    norm = torch.nn.utils.get_total_norm([p.grad for p in params if p.grad is not None])
    torch.nn.utils.clip_grads_with_norm_(params, max_norm, norm)
    return norm


def any_rank(accelerator, flag):
    return accelerator.reduce(flag.float(), reduction="sum").item() > 0


@torch.no_grad()
def recall_at_1(accelerator, model, loader):
    model.eval()
    photos, titles = [], []
    for batch in loader:
        out = model(batch["photo"], batch["title"])
        a, b = accelerator.gather_for_metrics((out["photo"], out["title"]))
        photos.append(a)
        titles.append(b)
    photos, titles = torch.cat(photos), torch.cat(titles)
    found = (photos @ titles.t()).argmax(dim=1)
    model.train()
    return (found == torch.arange(len(found), device=found.device)).float().mean().item()


def main():
    args = get_args()
    accelerator = Accelerator(gradient_accumulation_steps=args.accum, mixed_precision=args.mixed_precision)
    set_seed(args.seed, device_specific=True)

    train_loader = DataLoader(Catalogue(0, 192), batch_size=args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(Catalogue(1_000_000, 48), batch_size=args.batch_size)
    model = ShopMatcher(align_weight=args.align_weight)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.wd)
    total = args.epochs * math.ceil(len(train_loader) / args.accum)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, warmup_cosine(args.warmup, total))
    model, optimizer, scheduler, train_loader, val_loader = accelerator.prepare(
        model, optimizer, scheduler, train_loader, val_loader
    )
    progress = Progress()
    accelerator.register_for_checkpointing(progress)
    if args.resume:
        accelerator.load_state(args.resume)
        accelerator.print(f"resumed at epoch {progress.epoch}, step {progress.step}")

    for epoch in range(progress.epoch, args.epochs):
        model.train()
        running = torch.zeros((), device=accelerator.device)
        for i, batch in enumerate(train_loader):
            with accelerator.accumulate(model):
                out = model(batch["photo"], batch["title"])
                accelerator.backward(out["loss"])
                if accelerator.sync_gradients:
                    norm = clip_and_measure(accelerator, optimizer, model.parameters(), args.max_norm)
                    progress.step += 1
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            running += out["loss"].detach()
            if accelerator.sync_gradients and progress.step % args.log_every == 0:
                accelerator.print(f"step {progress.step} loss {running.item() / (i + 1):.4f} norm {norm.item():.3f}")

        if any_rank(accelerator, ~torch.isfinite(running)):
            raise FloatingPointError(f"the loss of epoch {epoch} is not finite")
        recall = recall_at_1(accelerator, model, val_loader)
        accelerator.print(f"epoch {epoch}: recall@1 {recall:.3f}")
        progress.epoch = epoch + 1
        progress.waited = 0 if recall > progress.best else progress.waited + 1
        if recall > progress.best:
            progress.best = recall
            accelerator.save_model(model, os.path.join(args.out, "best"))
        accelerator.save_state(os.path.join(args.out, "last"))
        if progress.waited >= args.patience:
            accelerator.print("recall does not grow any more")
            break

    if accelerator.is_main_process:
        with open(os.path.join(args.out, "summary.json"), "w") as f:
            json.dump({"best": progress.best, "steps": progress.step}, f)


if __name__ == "__main__":
    main()
