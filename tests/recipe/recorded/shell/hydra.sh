#SBATCH --nodes=2
#SBATCH --gres=gpu:8
#SBATCH -J long
SEED=7
for seed in 7; do
srun -N 2 python -m project.train +experiment=long seed=$seed optim.lr=1e-3 'data.paths=[a,b]' \
   hydra.run.dir="out/${SEED}" ~scheduler trainer.devices=8 &
done
wait
