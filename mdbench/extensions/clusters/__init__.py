"""Jobs on more than one machine: Dask and SLURM."""
