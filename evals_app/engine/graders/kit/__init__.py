"""What families of graders share."""
