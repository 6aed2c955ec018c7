"""The exercises of the course, one file a lesson. Nothing here may be loaded where a student's code is graded."""
