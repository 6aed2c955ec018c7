"""Running a program again with changes: on two engines, in a training loop, with a mistake and its fixes."""
