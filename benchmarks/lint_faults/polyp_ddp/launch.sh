#!/usr/bin/env bash
# usage: ./launch.sh 4 [more arguments of train.py]
set -euo pipefail
GPUS=${1:-1}
shift || true
torchrun --standalone --nproc_per_node="$GPUS" train.py --config config.json "$@"
