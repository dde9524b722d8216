#!/usr/bin/env bash
set -euo pipefail
OUT=${OUT:-runs/vae}
mkdir -p "$OUT"
python main.py --out "$OUT" --dtype fp16 --lr 1e-3 --beta 0.5 "$@" 2>&1 | tee -a "$OUT/log.txt"
