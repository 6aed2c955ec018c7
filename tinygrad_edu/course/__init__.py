"""The commands of `tinygrad-edu` around the lessons: open them, track progress, release them, build the site, check the installation."""
