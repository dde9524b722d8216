import os

import torch
from torch.nn.utils import clip_grad_norm_


def attach_clearing(engine):
    @engine.on("step_done")
    def clear(e):
        e.optimizer.zero_grad(set_to_none=True)


def attach_clipping(engine, limit):
    @engine.on("gradients_ready")
    def clip(e):
        clip_grad_norm_(e.model.parameters(), limit)


def attach_schedule(engine, schedule):
    @engine.on("step_done")
    def advance(e):
        if not e.skipped:
            schedule.step()


def attach_report(engine, every):
    sums = {}

    @engine.on("step_done")
    def collect(e):
        for name, value in e.output.items():
            sums[name] = sums.get(name, 0) + value.detach()
        if e.step % every == 0:
            print(f"step {e.step} " + " ".join(f"{n} {v.item() / every:.4f}" for n, v in sums.items()))
            sums.clear()


def attach_validation(engine, loader):
    @engine.on("epoch_end")
    @torch.no_grad()
    def validate(e):
        e.model.eval()
        losses = [e.evaluate(batch.to(e.device))["loss"] for (batch,) in loader]
        e.model.train()
        print(f"epoch {e.epoch} validation {torch.stack(losses).mean().item():.4f}")


class Saver:
    def __init__(self, path, **things):
        self.path, self.things = path, things

    def attach(self, engine):
        @engine.on("epoch_end")
        def save(e):
            state = {name: thing.state_dict() for name, thing in self.things.items()}
            torch.save({**state, "epoch": e.epoch, "step": e.step}, self.path + ".tmp")
            os.replace(self.path + ".tmp", self.path)

    def restore(self, engine):
        state = torch.load(self.path, map_location=engine.device)
        for name, thing in self.things.items():
            thing.load_state_dict(state[name])
        engine.epoch, engine.step = state["epoch"], state["step"]
