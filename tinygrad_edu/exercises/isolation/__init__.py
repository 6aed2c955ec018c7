"""What stands between a stranger's code and everything else."""
