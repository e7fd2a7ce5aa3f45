#!/bin/sh
# One shard of an experiment per task of a Slurm job array.
#
#   sbatch --array=1-64 examples/clusters/slurm.sh experiment.toml 64 shards
#
# docs/clusters.md has the next steps.
#SBATCH --job-name=dupack
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --requeue
#SBATCH --output=%x-%A_%a.out
set -eu
file=$1 of=$2 folder=$3
# The same command continues an interrupted shard: a task may be requeued.
exec dupack run "$file" --shard "$SLURM_ARRAY_TASK_ID/$of" --out "$folder/$SLURM_ARRAY_TASK_ID" \
  --jobs "${SLURM_CPUS_PER_TASK:-1}"
