#!/usr/bin/env bash
# day-ahead load forecasts for one grid area
#   ./run.sh            fresh run
#   ./run.sh --resume   go on where the last run stopped
set -euo pipefail

AREA=${AREA:-north}
OUT=runs/${AREA}
RESUME=()
if [[ "${1:-}" == "--resume" ]]; then
    RESUME=(--resume "${OUT}/last.pt")
fi

python forecast.py \
    --area "${AREA}" \
    --out "${OUT}" \
    --epochs 20 \
    --batch-size 256 \
    --lr 2e-3 \
    --weight-decay 1e-4 \
    --clip 1.0 \
    --patience 5 \
    --amp \
    "${RESUME[@]}"
