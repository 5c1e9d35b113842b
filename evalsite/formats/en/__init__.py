"""English, the one language of the site."""
