#!/bin/bash
#SBATCH --gres=gpu:4 --time=24:00:00
torchrun --standalone --nproc_per_node 4 pretrain.py --settings settings.toml \
    --set optim.total_steps=200000 optim.warmup_steps=2000 curriculum.ramp_steps=50000 \
          data.batch_size=64 report.log_every=50 report.eval_every=1000 \
    "$@"
