"""What `viz.magic` asks of IPython's core."""
