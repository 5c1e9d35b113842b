"""How the site writes dates; settings.FORMAT_MODULE_PATH names this package."""
