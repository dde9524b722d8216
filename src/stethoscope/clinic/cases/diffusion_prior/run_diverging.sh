#!/usr/bin/env bash
# The training of run.sh in 1,600 steps, at a learning rate that it does not survive: bash run_diverging.sh
set -euo pipefail

OUTPUT_DIR="results/prior"

# Optimisation
MAX_STEPS="1600"
LEARNING_RATE="7e-3"
BATCH_SIZE="4"                 # what fits next to the optimizer's state
GRAD_ACCUM="4"                 # effective batch = 16
GRADIENT_CLIP="1.0"
LR_SCHEDULER="cosine"
WARMUP_STEPS="80"
MIXED_PRECISION="bf16"

# Network
MODEL_CHANNELS="16"
NUM_BLOCKS="2"
DROPOUT="0.1"

# How often
LOG_FREQUENCY="20"
VAL_FREQUENCY="160"
SAVE_FREQUENCY="800"

# Go on from the last checkpoint where there is one.
RESUME=""
if [ -f "$OUTPUT_DIR/checkpoints/latest.pth" ]; then
    RESUME="--resume_checkpoint $OUTPUT_DIR/checkpoints/latest.pth"
fi

mkdir -p "$OUTPUT_DIR"
python train_prior.py \
    --output_dir "$OUTPUT_DIR" \
    --max_steps "$MAX_STEPS" \
    --learning_rate "$LEARNING_RATE" \
    --batch_size "$BATCH_SIZE" \
    --gradient_accumulation_steps "$GRAD_ACCUM" \
    --gradient_clip_norm "$GRADIENT_CLIP" \
    --lr_scheduler "$LR_SCHEDULER" \
    --warmup_steps "$WARMUP_STEPS" \
    --mixed_precision "$MIXED_PRECISION" \
    --model_channels "$MODEL_CHANNELS" \
    --num_blocks "$NUM_BLOCKS" \
    --dropout "$DROPOUT" \
    --log_frequency "$LOG_FREQUENCY" \
    --val_frequency "$VAL_FREQUENCY" \
    --save_frequency "$SAVE_FREQUENCY" \
    $RESUME 2>&1 | tee "$OUTPUT_DIR/training.log"
