"""Modules that programs import but do not need on a CPU. Every name exists, and explains itself if it cannot work here."""
