"""What gunicorn loads."""

import os

from django.core.wsgi import get_wsgi_application

os.umask(0o077)  # caches, uploads: what we write is for this user alone
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")

application = get_wsgi_application()
