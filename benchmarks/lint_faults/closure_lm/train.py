"""Byte language model, random windows, no epochs.   torchrun --nproc_per_node 8 train.py --steps 20000"""
import contextlib
import copy
import os
import signal

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grad_norm_, get_total_norm

from lm import ByteLM
from options import from_command_line

RANK, WORLD = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


def corpus(length, seed):
    g = torch.Generator().manual_seed(0)
    words = [torch.randint(97, 123, (int(n),), generator=g) for n in torch.randint(2, 7, (40,), generator=g)]
    space = torch.tensor([32])
    picks = torch.randint(0, 40, (length // 4,), generator=g.manual_seed(seed))
    return torch.cat([piece for i in picks for piece in (words[int(i)], space)])


def windows(data, opts, start, device):
    """Micro-batches for ever; the same ones again for the same step and rank."""
    index = start * opts.accumulate
    while True:
        g = torch.Generator().manual_seed(opts.seed + 1_000_003 * (index * WORLD + RANK))
        at = torch.randint(0, len(data) - opts.window, (opts.batch, 1), generator=g)
        yield data[at + torch.arange(opts.window + 1)[None]].to(device)
        index += 1


def token_loss(logits, tokens):
    return F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())


def reduce_(tensor, op):
    if dist.is_initialized():
        dist.all_reduce(tensor, op=op)
    return tensor


def gradient_norm(params):
    return get_total_norm([p.grad for p in params if p.grad is not None])


def make_shadow(model, decay):
    shadow = {"model": copy.deepcopy(model).requires_grad_(False).eval(), "seen": 0}

    @torch.no_grad()
    def follow():
        shadow["seen"] += 1
        keep = min(decay, shadow["seen"] / (shadow["seen"] + 10))
        for slow, fast in zip(shadow["model"].parameters(), model.parameters()):
            slow.lerp_(fast, 1 - keep)

    return shadow, follow


def make_step(net, model, optimizer, schedule, scaler, autocast, opts):
    params = list(model.parameters())

    def micro(tokens, parts, last):
        quiet = net.no_sync if net is not model and not last else contextlib.nullcontext
        with quiet():
            with autocast():
                logits = net(tokens[:, :-1])
            loss = token_loss(logits, tokens) / parts
            scaler.scale(loss).backward()
        return loss.detach()

    def step(group):
        optimizer.zero_grad()
        loss = sum(micro(tokens, len(group), i + 1 == len(group)) for i, tokens in enumerate(group))
        scaler.unscale_(optimizer)
        norm = gradient_norm(params)
        clip_grad_norm_(params, opts.clip)
        scale = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() >= scale:
            schedule.step()
        return loss, norm

    return step


@torch.no_grad()
def validate(model, data, device):
    pieces = data[: len(data) // 64 * 64].view(-1, 64)[RANK::WORLD].to(device)
    sums = torch.zeros(2, dtype=torch.float64, device=device)
    for tokens in pieces.split(16):
        sums += torch.tensor([token_loss(model(tokens[:, :-1]), tokens).item() * len(tokens), len(tokens)], device=device)
    sums = reduce_(sums, dist.ReduceOp.SUM)
    return (sums[0] / sums[1]).item()


def main():
    opts = from_command_line()
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        torch.cuda.set_device(device)
    if WORLD > 1:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    torch.manual_seed(opts.seed)

    dtype = getattr(torch, opts.dtype)
    amp = device.type == "cuda" and dtype is not torch.float32
    model = ByteLM(opts.width, opts.depth).add_head(256).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=opts.lr)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda n: min((n + 1) / (opts.warmup + 1), max(0.05, (opts.steps - n) / max(1, opts.steps - opts.warmup))),
    )
    scaler = torch.amp.GradScaler(device.type, enabled=amp and dtype is torch.float16)
    shadow, follow = make_shadow(model, opts.shadow_decay)

    done = 0
    if opts.resume:
        saved = torch.load(opts.resume, map_location=device)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        schedule.load_state_dict(saved["schedule"])
        scaler.load_state_dict(saved["scaler"])
        shadow["model"].load_state_dict(saved["shadow"])
        shadow["seen"] = saved["seen"]
        done = saved["done"]

    stop = torch.zeros(1, device=device)
    signal.signal(signal.SIGTERM, lambda *_: stop.fill_(1))

    net = DistributedDataParallel(model) if WORLD > 1 else model
    step = make_step(net, model, optimizer, schedule, scaler, lambda: torch.autocast(device.type, dtype=dtype, enabled=amp), opts)
    data, held_back = corpus(20_000, 1), corpus(3_000, 2)
    stream = windows(data, opts, done, device)
    if RANK == 0:
        print(f"{opts.batch * opts.accumulate * WORLD} windows per step")

    model.train()
    while done < opts.steps:
        loss, norm = step([next(stream) for _ in range(opts.accumulate)])
        follow()
        done += 1
        if done % opts.check_every and done < opts.steps:
            continue
        score = validate(shadow["model"], held_back, device)
        if RANK == 0:
            print(f"{done}: loss {loss.item():.3f} norm {norm.item():.2f} held back {score:.3f}")
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "schedule": schedule.state_dict()}
            state |= {"scaler": scaler.state_dict(), "shadow": shadow["model"].state_dict(), "seen": shadow["seen"]}
            torch.save({**state, "done": done}, opts.out)
        if reduce_(stop.clone(), dist.ReduceOp.MAX).item():
            break
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
