"""What programs import and do not need on a CPU: each name is there, and says what it cannot do when it is asked to."""
