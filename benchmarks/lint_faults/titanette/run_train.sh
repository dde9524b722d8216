#!/usr/bin/bash
# NGPU=8 ./run_train.sh [--training.steps 1000 ...]
set -ex
NGPU=${NGPU:-"8"}
CONFIG_FILE=${CONFIG_FILE:-"./train_configs/debug.toml"}
torchrun --nproc_per_node=${NGPU} --rdzv_backend c10d --rdzv_endpoint="localhost:0" \
    train.py --config "${CONFIG_FILE}" "$@"
