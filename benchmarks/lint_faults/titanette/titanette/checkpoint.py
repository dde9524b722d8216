import os

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)


class Checkpointer:
    def __init__(self, folder, rank):
        self.folder, self.rank = folder, rank

    def save(self, trainer):
        options = StateDictOptions(full_state_dict=True, cpu_offload=True)
        state = {
            "model": get_model_state_dict(trainer.model, options=options),
            "optimizer": get_optimizer_state_dict(trainer.model, trainer.optimizer, options=options),
            "lr_scheduler": trainer.lr_scheduler.state_dict(),
            "cursor": trainer.stream.cursor,
            "step": trainer.step,
        }
        if self.rank == 0:
            os.makedirs(self.folder, exist_ok=True)
            torch.save(state, os.path.join(self.folder, f"step-{trainer.step}.pt"))
        if dist.is_initialized():
            dist.barrier()

    def load(self, path, trainer):
        state = torch.load(path, map_location="cpu", weights_only=False)
        options = StateDictOptions(full_state_dict=True)
        set_model_state_dict(trainer.model, state["model"], options=options)
        set_optimizer_state_dict(trainer.model, trainer.optimizer, state["optimizer"], options=options)
        trainer.lr_scheduler.load_state_dict(state["lr_scheduler"])
        trainer.stream.cursor = state["cursor"]
        trainer.step = state["step"]
