WIDTH=256
python main.py fit --config base.yaml --config long.yaml --model.init_args.width $WIDTH \
    --trainer.accelerator=cpu --trainer.max_epochs 50
