"""What is right, what is not, and which mistake it was; and how a student reads of it."""
