#!/bin/sh
# ./launch.sh lr=0.0005 epochs=50
set -e
accelerate launch --multi_gpu --num_processes "${GPUS:-4}" forecast.py settings.json "$@"
