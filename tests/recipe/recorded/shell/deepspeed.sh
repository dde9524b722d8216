cat <<EOF > ds.json
{"train_batch_size": 8, "note": "python train.py --lr 1"}
EOF
deepspeed --num_gpus=8 --master_port 29500 main.py --deepspeed ds.json --per_device_train_batch_size 4 || exit 1
