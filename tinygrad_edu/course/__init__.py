"""What the command `tinygrad-edu` does around the lessons: open them, track progress, release them, write the site, look at the installation."""
