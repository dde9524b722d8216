#!/usr/bin/env bash
torchrun --nproc_per_node 2 run_clm.py --output_dir out --learning_rate 5e-5 \
  --num_train_epochs 3 --eval_strategy epoch \
  --resume_checkpoint out/checkpoint-2000  #@
