for lr in 1e-3 1e-4; do
  python train.py --lr $lr --wd 0.1
done
