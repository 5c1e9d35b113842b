"""The site: settings, addresses, and what the web server loads."""
