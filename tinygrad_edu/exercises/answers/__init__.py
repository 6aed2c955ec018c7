"""The exercises of the course, one file for each lesson. A process that grades a student's code must not load them."""
