#!/usr/bin/env python3
import argparse
import logging
import os
from contextlib import suppress

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from lib.ema import ModelEma
from lib.meter import AverageMeter
from lib.scaler import NativeScaler

_logger = logging.getLogger("train")

parser = argparse.ArgumentParser(description="Training")
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--grad-accum-steps", type=int, default=2)
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--weight-decay", type=float, default=0.05)
parser.add_argument("--warmup-epochs", type=int, default=1)
parser.add_argument("--clip-grad", type=float, default=1.0)
parser.add_argument("--clip-mode", default="norm")
parser.add_argument("--smoothing", type=float, default=0.1)
parser.add_argument("--model-ema", action="store_true", default=True)
parser.add_argument("--model-ema-decay", type=float, default=0.9)
parser.add_argument("--resume", default="", help="full checkpoint to continue from")
parser.add_argument("--output", default="timm_out")
parser.add_argument("--log-interval", type=int, default=4)
parser.add_argument("--seed", type=int, default=42)


def make_set(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    basis = torch.randn(4, 3, 12, 12, generator=torch.Generator().manual_seed(0))
    return TensorDataset(basis[y] + torch.randn(n, 3, 12, 12, generator=g), y)


def make_loader(dataset, args, is_training):
    sampler = None
    if args.distributed:
        sampler = DistributedSampler(dataset, shuffle=is_training)
    return DataLoader(dataset, batch_size=args.batch_size, sampler=sampler, shuffle=sampler is None and is_training,
                      drop_last=is_training)


def make_model():
    return nn.Sequential(nn.Conv2d(3, 16, 3, stride=2), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Dropout(0.1), nn.Linear(16, 4))


def main():
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    args = parser.parse_args()
    args.distributed = int(os.environ.get("WORLD_SIZE", 1)) > 1
    if args.distributed:
        torch.distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(args.seed)

    loader_train = make_loader(make_set(96, 1), args, True)
    loader_eval = make_loader(make_set(32, 2), args, False)
    model = make_model().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)
    use_amp = device.type == "cuda"
    amp_autocast = (lambda: torch.autocast("cuda", dtype=torch.float16)) if use_amp else suppress
    loss_scaler = NativeScaler(device.type, enabled=use_amp)
    model_ema = ModelEma(model, decay=args.model_ema_decay) if args.model_ema else None
    scheduler = torch.optim.lr_scheduler.SequentialLR(
        optimizer,
        [torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=args.warmup_epochs),
         torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(1, args.epochs - args.warmup_epochs))],
        milestones=[args.warmup_epochs],
    )
    start_epoch = 0
    if args.resume:
        start_epoch = resume_checkpoint(args.resume, model, model_ema, optimizer, scheduler, loss_scaler, device)
    if args.distributed:
        model = nn.parallel.DistributedDataParallel(model)
    train_loss_fn = nn.CrossEntropyLoss(label_smoothing=args.smoothing).to(device)
    validate_loss_fn = nn.CrossEntropyLoss().to(device)
    os.makedirs(args.output, exist_ok=True)

    best_metric = 0.0
    for epoch in range(start_epoch, args.epochs):
        if hasattr(loader_train.sampler, "set_epoch"):
            loader_train.sampler.set_epoch(epoch)
        train_one_epoch(epoch, model, loader_train, optimizer, train_loss_fn, args, device,
                        amp_autocast=amp_autocast, loss_scaler=loss_scaler, model_ema=model_ema)
        eval_model = model_ema.module if model_ema is not None else model
        metric = validate(eval_model, loader_eval, validate_loss_fn, device, amp_autocast)
        scheduler.step()
        _logger.info("epoch %d top1 %.3f", epoch, metric)
        if metric > best_metric:
            best_metric = metric
            save_checkpoint(os.path.join(args.output, "best.pth.tar"), epoch, model, model_ema, optimizer, scheduler,
                            loss_scaler)


def unwrap(model):
    return model.module if isinstance(model, nn.parallel.DistributedDataParallel) else model


def save_checkpoint(path, epoch, model, model_ema, optimizer, scheduler, loss_scaler):
    state = {"epoch": epoch, "state_dict": unwrap(model).state_dict(), "optimizer": optimizer.state_dict(),
             "scheduler": scheduler.state_dict(), loss_scaler.state_dict_key: loss_scaler.state_dict()}
    if model_ema is not None:
        state["state_dict_ema"] = model_ema.module.state_dict()
    torch.save(state, path)


def resume_checkpoint(path, model, model_ema, optimizer, scheduler, loss_scaler, device):
    checkpoint = torch.load(path, map_location=device)
    model.load_state_dict(checkpoint["state_dict"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scheduler.load_state_dict(checkpoint["scheduler"])
    loss_scaler.load_state_dict(checkpoint[loss_scaler.state_dict_key])
    if model_ema is not None:
        model_ema.module.load_state_dict(checkpoint["state_dict_ema"])
    return checkpoint["epoch"] + 1


def train_one_epoch(epoch, model, loader, optimizer, loss_fn, args, device, amp_autocast=suppress, loss_scaler=None,
                    model_ema=None):
    accum_steps = args.grad_accum_steps
    losses_m = AverageMeter()
    model.train()
    optimizer.zero_grad()
    for batch_idx, (input, target) in enumerate(loader):
        need_update = (batch_idx + 1) % accum_steps == 0
        input, target = input.to(device), target.to(device)
        with amp_autocast():
            output = model(input)
            loss = loss_fn(output, target)
        if accum_steps > 1:
            loss = loss / accum_steps
        loss_scaler(loss, optimizer, clip_grad=args.clip_grad, clip_mode=args.clip_mode,
                    parameters=model.parameters(), need_update=need_update)
        losses_m.update(loss.detach() * accum_steps, input.size(0))
        if not need_update:
            continue
        optimizer.zero_grad()
        if model_ema is not None:
            model_ema.update(unwrap(model))
        if batch_idx % args.log_interval == args.log_interval - 1:
            _logger.info("Train: %d [%d/%d] loss %.4f", epoch, batch_idx, len(loader), losses_m.avg.item())


def validate(model, loader, loss_fn, device, amp_autocast=suppress):
    losses_m, top1_m = AverageMeter(), AverageMeter()
    model.eval()
    with torch.no_grad():
        for input, target in loader:
            input, target = input.to(device), target.to(device)
            with amp_autocast():
                output = model(input)
                loss = loss_fn(output, target)
            losses_m.update(loss, input.size(0))
            top1_m.update((output.argmax(1) == target).float().mean(), input.size(0))
    _logger.info("Test: loss %.4f", losses_m.avg.item())
    return top1_m.avg.item()


if __name__ == "__main__":
    main()
