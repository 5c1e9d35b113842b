"""What readers of other systems' files share."""
