import math
import os
import time

import torch
import torch.distributed as dist

from titanette.checkpoint import Checkpointer
from titanette.data import DocumentStream, validation_batches
from titanette.job_config import JobConfig, parse
from titanette.loss import IGNORE_INDEX, token_loss
from titanette.model import Transformer
from titanette.parallel import apply_fsdp, init_distributed, maybe_autocast, reduced


class Trainer:
    def __init__(self, config: JobConfig):
        self.config = config
        self.rank, self.world = init_distributed()
        self.device = torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")
        torch.manual_seed(config.training.seed)

        tr = config.training
        per_micro = tr.local_batch_size * self.world
        if tr.global_batch_size % per_micro:
            raise ValueError("global_batch_size must be a multiple of local_batch_size times the ranks")
        self.accumulation_steps = tr.global_batch_size // per_micro
        self.param_dtype = getattr(torch, tr.mixed_precision_param)
        if self.param_dtype is torch.float16:
            raise ValueError("float16 needs loss scaling, which this trainer does not have")

        self.model = Transformer(config.model, tr.seq_len).to(self.device)
        self.model.init_weights()
        if self.world > 1:
            self.model = apply_fsdp(self.model, self.param_dtype)
        self.optimizer = self.build_optimizer()
        self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, self.lr_factor)
        self.stream = DocumentStream(config, self.rank, self.world)
        self.checkpointer = Checkpointer(os.path.join(config.job.dump_folder, "checkpoint"), self.rank)
        self.step = 0
        if config.checkpoint.load_path:
            self.checkpointer.load(config.checkpoint.load_path, self)

    def build_optimizer(self):
        o = self.config.optimizer
        matrices = [p for p in self.model.parameters() if p.ndim >= 2]
        vectors = [p for p in self.model.parameters() if p.ndim < 2]
        groups = [{"params": matrices, "weight_decay": o.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
        return torch.optim.AdamW(groups, lr=o.lr, eps=o.eps, betas=(0.9, 0.95))

    def lr_factor(self, step):
        s, total = self.config.lr_scheduler, self.config.training.steps
        if step < s.warmup_steps:
            return (step + 1) / s.warmup_steps
        done = min(1.0, (step - s.warmup_steps) / max(1, total - s.warmup_steps))
        return s.min_lr_factor + (1 - s.min_lr_factor) * 0.5 * (1 + math.cos(math.pi * done))

    def forward_loss(self, tokens, labels, z_weight):
        with maybe_autocast(self.device, self.param_dtype, self.world > 1):
            logits = self.model(tokens)
        return token_loss(logits, labels, z_weight)

    def train_step(self):
        self.optimizer.zero_grad()
        micro = [self.stream.next_batch() for _ in range(self.accumulation_steps)]
        valid = sum((labels != IGNORE_INDEX).sum().item() for _, labels in micro)
        valid = reduced(valid, self.device)
        total = torch.zeros((), device=self.device)
        for tokens, labels in micro:
            loss = self.forward_loss(tokens.to(self.device), labels.to(self.device), self.config.training.z_loss)
            # gradients are averaged over the ranks, tokens are counted over all of them
            (loss * self.world / valid).backward()
            total += loss.detach() / valid
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.training.max_norm)
        self.optimizer.step()
        self.lr_scheduler.step()
        return total, norm

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        sums = torch.zeros(2, device=self.device)
        for tokens, labels in validation_batches(self.config, self.rank, self.world):
            sums[0] += self.forward_loss(tokens.to(self.device), labels.to(self.device), 0.0)
            sums[1] += (labels != IGNORE_INDEX).sum()
        if dist.is_initialized():
            dist.all_reduce(sums)
        self.model.train()
        return (sums[0] / sums[1]).item()

    def out_of_time(self, started):
        late = time.monotonic() - started > 60 * self.config.training.time_limit_minutes
        return reduced(float(late), self.device, op=dist.ReduceOp.MAX).item() > 0

    def log(self, text):
        if self.rank == 0:
            print(text, flush=True)

    def train(self):
        c, started = self.config, time.monotonic()
        self.log(c.job.description)
        self.model.train()
        while self.step < c.training.steps:
            loss, norm = self.train_step()
            self.step += 1
            if self.step % c.metrics.log_freq == 0:
                norm = norm.full_tensor() if hasattr(norm, "full_tensor") else norm
                mean = reduced(loss, self.device).item()
                if not math.isfinite(mean):
                    raise FloatingPointError(f"loss is {mean} at step {self.step}")
                self.log(f"step {self.step} loss {mean:.4f} norm {norm.item():.3f} lr {self.lr_scheduler.get_last_lr()[0]:.2e}")
            if self.step % c.validation.freq == 0:
                self.log(f"step {self.step} validation loss {self.validate():.4f}")
            if self.step % c.checkpoint.interval == 0 or self.step == c.training.steps:
                self.checkpointer.save(self)
            if self.step % c.metrics.log_freq == 0 and self.out_of_time(started):
                self.log("time is up")
                self.checkpointer.save(self)
                break


if __name__ == "__main__":
    trainer = Trainer(parse())
    trainer.train()
    if dist.is_initialized():
        dist.destroy_process_group()
