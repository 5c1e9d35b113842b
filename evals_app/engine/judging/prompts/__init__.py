"""The questions that judges are asked."""
