export MODEL_NAME="runwayml/stable-diffusion"
accelerate launch --config_file acc.yaml --mixed_precision="bf16" --num_processes 2 --multi_gpu train_dreambooth.py \
  --pretrained_model_name_or_path=$MODEL_NAME  \
  --train_batch_size=1 \
  --gradient_accumulation_steps=4 --gradient_checkpointing \
  --learning_rate=5e-6 \
  --lr_scheduler="constant" --lr_warmup_steps=0 \
  --max_train_steps=400
