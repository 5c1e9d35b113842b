"""One conversation on a page: its transcript, grades, numbers and spans."""
