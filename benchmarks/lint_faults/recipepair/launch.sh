#!/bin/sh
# one node; GPUS=4 ./launch.sh --epochs 40
GPUS=${GPUS:-2}
exec torchrun --standalone --nproc_per_node="$GPUS" main.py \
    --epochs 30 \
    --batch_size 64 \
    --lr 1e-3 \
    --align_weight 0.2 \
    --patience 4 \
    "$@"
