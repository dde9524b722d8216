#!/bin/bash
# two GPUs of one node
set -e
accelerate launch --num_processes 2 --multi_gpu train_matcher.py \
    --epochs 20 \
    --batch_size 64 \
    --accum 2 \
    --mixed_precision fp16 \
    --out runs/shop "$@"
