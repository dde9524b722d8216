#!/bin/sh
# ./run.sh [--seed 1] [--resume latest]
exec python train.py --config configs/shapes.yaml "$@"
