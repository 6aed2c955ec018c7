"""The commands of `tinygrad-edu` around the lessons: open, track progress, release, build the site, run the doctor."""
