#!/usr/bin/env bash
set -euo pipefail
torchrun --standalone --nproc_per_node="${GPUS:-4}" main.py --epochs 30 --batch-size 256 --lr 5e-4 \
    --warmup-epochs 2 --workers 8 --output runs/pair_base "$@"
