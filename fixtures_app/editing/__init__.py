"""The form kit of the whole site: what every editing page is made of."""
