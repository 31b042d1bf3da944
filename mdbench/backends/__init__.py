"""Where jobs run: on this machine, on a Dask cluster, or on SLURM."""
