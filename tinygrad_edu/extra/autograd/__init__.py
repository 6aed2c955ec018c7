"""What few programs ask of autograd."""
