"""Settings of the site: safe by default, changed only by environment variables.

A new variable is read through `environment`, so that a bad value is refused with its name.
"""

import os
from datetime import timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

from evals_app import API_VERSION, IS_INSTALLED, PROJECT, SOURCES
from evals_app.engine.network.provider_kinds import USUAL_KEYS
from evalsite import environment
from evalsite.look import UNFOLD  # noqa: F401 - a setting
from evalsite.sign_in import variables

BASE_DIR = SOURCES
# Pages of Help, examples, templates, icons: inside a package that is installed.
FILES_DIR = SOURCES / "evalsite" / "files" if IS_INSTALLED else SOURCES
DATA_DIR = environment.folder(
    "EVALWELL_DATA_DIR", "evalwell-data" if IS_INSTALLED else "var", relative_to=PROJECT
)

# Safety

DEBUG = environment.flag("EVALWELL_DEBUG")
SECRET_KEY = environment.secret_key("EVALWELL_SECRET_KEY", kept_in=DATA_DIR / "secret_key")
# Sessions that were signed with them go on, while a new key replaces the old one.
SECRET_KEY_FALLBACKS = environment.names("EVALWELL_OLD_SECRET_KEYS")
SECURITY_CONTACT = environment.contact("EVALWELL_SECURITY_CONTACT")
ALLOWED_HOSTS = environment.names("EVALWELL_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
IS_HTTPS = environment.flag("EVALWELL_HTTPS")
SITE = environment.web_address(  # of links in commands and messages
    "EVALWELL_SITE", environment.usual_site(ALLOWED_HOSTS, is_https=IS_HTTPS)
)
CSRF_TRUSTED_ORIGINS = environment.names("EVALWELL_CSRF_TRUSTED_ORIGINS")

SECURE_CONTENT_TYPE_NOSNIFF = True
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "evalsite.errors.csrf_failure"
CSRF_COOKIE_SAMESITE = "Lax"
if IS_HTTPS:
    # A proxy in front terminates TLS; it must overwrite this header.
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 365 * 24 * 3600
    SECURE_SSL_REDIRECT = True
    # Requested by neighbouring machines, without the proxy.
    SECURE_REDIRECT_EXEMPT = ["^healthz$", "^readyz$", "^metrics$"]
    # HSTS for all names below this one, and in the lists of browsers, would bind other sites too:
    # the owner of the domain configures that in the proxy.
    SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True

# A case with 100 checks makes 1,238 inputs; Django's default refuses more than 1,000.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 10_000

# Application

INSTALLED_APPS = [
    "unfold",  # before django.contrib.admin, whose templates it replaces
    "unfold.contrib.filters",
    "unfold.contrib.forms",
    "django.forms",  # its templates, for the renderer below
    # Found and registered by evalsite/urls.py: workers and commands need no pages.
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",  # before staticfiles, whose runserver it replaces
    "django.contrib.staticfiles",
    "django_q",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_filters",
    "axes",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_otp.plugins.otp_static",
    "fixtures_app",
    "evals_app",
]
MIDDLEWARE = [
    "evalsite.request_id.RequestId",  # the first: every answer has an id
    "evalsite.access_log.AccessLog",
    "django.middleware.security.SecurityMiddleware",
    "evalsite.middleware.ContentSecurityPolicy",
    "evalsite.middleware.PrivateAnswers",
    "evalsite.middleware.VersionOfApi",
    "evalsite.middleware.Probes",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.gzip.GZipMiddleware",  # hides the length, so that compression does not leak secrets
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "evalsite.middleware.NotedActs",
    "evalsite.sign_in.proxy.ProxySignIn",
    "evalsite.middleware.PossibleIds",
    "evalsite.middleware.TimeZoneOfReader",
    "django.contrib.messages.middleware.MessageMiddleware",
    "evalsite.sign_in.idle.IdleSessions",
    "evalsite.sign_in.second_step.SecondStepFirst",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "evalsite.sign_in.limits.BrowserCookie",
    "axes.middleware.AxesMiddleware",  # must be the last for axes
]
ROOT_URLCONF = "evalsite.urls"
WSGI_APPLICATION = "evalsite.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [FILES_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "builtins": [
                "fixtures_app.editing.times",
                "fixtures_app.editing.markup",
                "evals_app.templatetags.trail",
            ],
        },
    },
]
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"  # finds our widgets in templates/
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "/admin/"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",  # the first: it refuses before a password is hashed
    "evalsite.sign_in.page.WithProfiles",
]
# How often signing in may fail; the limits are in evalsite/sign_in/limits.py.
AXES_HANDLER = "evalsite.sign_in.limits.SignInLimits"
AXES_FAILURE_LIMIT = 1  # see the handler
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"], "ip_address", "username"]
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = (
    False  # otherwise an attacker could keep a name locked
)
AXES_RESET_ON_SUCCESS = True
AXES_CLIENT_IP_CALLABLE = "evals_app.requests.throttles.address_of"
AXES_CLIENT_STR_CALLABLE = "evalsite.sign_in.limits.loggable_name"
AXES_LOCKOUT_CALLABLE = "evalsite.sign_in.limits.refuse_sign_in"
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

# The ways to sign in: evalsite/sign_in/. Groups of the company or of the proxy become roles.
PASSWORDS = environment.flag("EVALWELL_PASSWORDS", default=True)
TWO_STEPS_REQUIRED = environment.flag("EVALWELL_TWO_STEPS_REQUIRED", default=False)
IDENTITY_PROVIDER = variables.identity_provider("EVALWELL_OIDC")
PROXY_SIGN_IN = variables.trusted_headers("EVALWELL_PROXY")
GROUP_ROLES = variables.roles_of_groups("EVALWELL_GROUP_ROLES")
# Sessions: see evals_app/models/people/sessions.py.
SESSION_ENGINE = "evals_app.models.people.sessions"
IDLE = timedelta(minutes=environment.count("EVALWELL_IDLE_MINUTES", 12 * 60, least=1))
SESSION_COOKIE_AGE = 3600 * environment.count("EVALWELL_SESSION_HOURS", 14 * 24, least=1)
OTP_TOTP_ISSUER = "Evalwell"
OTP_TOTP_THROTTLE_FACTOR = OTP_STATIC_THROTTLE_FACTOR = 0  # the limits of django-axes apply
PASSWORD_RESET_TIMEOUT = 3600  # of links that people ask for who forgot their password
AXES_SENSITIVE_PARAMETERS = ["code", "state"]  # not kept with failures

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = (
    False  # in English alone; to look for translations would be a tenth of the time of a page
)
USE_TZ = True
FORMAT_MODULE_PATH = "evalsite.formats"

# Data

DATABASES = {
    "default": environment.database(
        "DATABASE_URL", default=DATA_DIR / "evalwell.sqlite3", relative_to=PROJECT
    )
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
IS_SQLITE = DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3"
if IS_SQLITE:  # how long a transaction waits for another one
    DATABASES["default"]["OPTIONS"]["timeout"] = environment.seconds(
        "EVALWELL_SQLITE_TIMEOUT_S", 30
    )

# Files, not memory: web and workers are different processes that share the statistics of django-q2
# in the cache.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.filebased.FileBasedCache",
        "LOCATION": DATA_DIR / "cache",
    },
    # Every process counts for itself: see evals_app/requests/throttles.py.
    "throttles": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "throttles",
        "OPTIONS": {"MAX_ENTRIES": 10_000},
    },
}

STATIC_URL = "/static/"
# Before those of packages: our icons, font and loader of Chart.js replace Unfold's.
_CHART_JS = Path(str(files("unfold") / "static" / "unfold" / "js" / "chart"))
STATICFILES_DIRS = [FILES_DIR / "static", ("chart", _CHART_JS)]
STATIC_ROOT = DATA_DIR / "static"
STATIC_ROOT.mkdir(exist_ok=True)  # WhiteNoise warns about a directory that is missing
WHITENOISE_USE_FINDERS = True  # files that were not collected come straight from the packages
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "evalsite.static_files.StaticFiles"},
}

# Queue. A task only wakes a process, so it is tried once and may be lost: leases return
# the work. EVALS_SHIFT_S + EVALS_EXECUTION_S < timeout < retry, or processes would be stopped early.

WORKERS = environment.count(
    "EVALWELL_WORKERS", 3 if IS_SQLITE else max(3, (os.cpu_count() or 1) + 1)
)
Q_CLUSTER: dict[str, Any] = {
    "name": "evalwell",
    "workers": WORKERS,
    "queue_limit": 1,  # a ticket that waits in memory wakes no process on another machine
    "timeout": 90_000,
    "retry": 100_000,
    "max_attempts": 1,
    "ack_failures": True,
    "bulk": 1,
    "guard_cycle": 0.5,
    "catch_up": False,
    "save_limit": 250,
    "recycle": 50,
    "max_rss": 1_500_000,
    "cpu_affinity": 0,
}
if redis_url := environment.redis_address("EVALWELL_REDIS_URL"):
    Q_CLUSTER["redis"] = redis_url
else:
    Q_CLUSTER |= {"orm": "default", "poll": 0.1 if IS_SQLITE else 0.2}

# Runs

EVALS_LEASE_S = environment.seconds("EVALS_LEASE_S", 45)
EVALS_HEARTBEAT_S = environment.seconds("EVALS_HEARTBEAT_S", 10)
EVALS_REAP_S = environment.seconds("EVALS_REAP_S", 10)
EVALS_SHIFT_S = environment.seconds("EVALS_SHIFT_S", 24 * 3600)
EVALS_EXECUTION_S = environment.seconds("EVALS_EXECUTION_S", 1500)
EVALS_PULSE_S = environment.seconds("EVALS_PULSE_S", 1.0)
EVALS_MAX_EXECUTIONS = environment.count("EVALS_MAX_EXECUTIONS", 100_000)  # of one run
# 0: transcripts are kept forever.
EVALS_KEEP_TRANSCRIPTS_DAYS = environment.count("EVALS_KEEP_TRANSCRIPTS_DAYS", 0, least=0)
# How long people can restore what was deleted.
EVALS_KEEP_DELETED_DAYS = environment.count("EVALS_KEEP_DELETED_DAYS", 30, least=1)
# How long it is known who signed in, or failed to, and from where.
EVALS_KEEP_SIGN_INS_DAYS = environment.count("EVALS_KEEP_SIGN_INS_DAYS", 90, least=1)
# How long the site keeps who did what. 0: forever.
EVALS_KEEP_ACTIVITY_DAYS = environment.count("EVALS_KEEP_ACTIVITY_DAYS", 0, least=0)
METRICS = environment.flag("EVALWELL_METRICS")  # /metrics, for holders of a token
# Where executions are exported as traces, with the names that OpenTelemetry has for it.
OTLP_ENDPOINT = environment.collector_address("OTEL_EXPORTER_OTLP_ENDPOINT")
OTLP_HEADERS = environment.header_values("OTEL_EXPORTER_OTLP_HEADERS")
OTLP_WITH_CONTENT = environment.flag("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")
EVALS_MEMORY_MB = environment.count("EVALS_MEMORY_MB", 4096)
ANSWER_CACHE = ""  # folder of answers of models; only `run_evals --cache` sets it
EVALS_JUDGE_MODEL = environment.text("EVALS_JUDGE_MODEL", "anthropic/claude-haiku-5-5")
EVALS_EMBEDDING_MODEL = environment.text("EVALS_EMBEDDING_MODEL", "")  # empty: whichever has a key
EVALS_MODEL2VEC_DIR = environment.text("EVALS_MODEL2VEC_DIR", "")
EVALS_WORDNET = environment.text("EVALS_WORDNET", "/usr/share/wordnet")  # its place in Debian

# What suites and agents may use of this machine and its network; nothing unless it is listed.
EVALS_PYTHON_MODULES = environment.names("EVALS_PYTHON_MODULES")
EVALS_PYTHON_INTERPRETERS = environment.mapping("EVALS_PYTHON_INTERPRETERS")
EVALS_COMMANDS = environment.names("EVALS_COMMANDS")
EVALS_PRIVATE_HOSTS = environment.names("EVALS_PRIVATE_HOSTS")
EVALS_HEADER_VARIABLES = environment.names("EVALS_HEADER_VARIABLES", ["AGENT_*"])
EVALS_KEY_VARIABLES = environment.names("EVALS_KEY_VARIABLES", [*USUAL_KEYS, "PROVIDER_*"])
IMPORT_FOLDERS = environment.names("EVALWELL_IMPORT_FOLDERS")  # real conversations, every day
EVALS_MCP_SERVERS = environment.mcp_servers("EVALS_MCP_SERVERS", relative_to=PROJECT)

# E-mail, to people who ask for it

_mail = environment.mail_server("EVALWELL_EMAIL_URL")
HAS_MAIL_SERVER = _mail is not None
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if _mail else 'dummy'}.EmailBackend"
if _mail:
    EMAIL_HOST, EMAIL_PORT = _mail.host, _mail.port
    EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _mail.user, _mail.password
    EMAIL_USE_TLS, EMAIL_USE_SSL = _mail.scheme == "smtp", _mail.scheme == "smtps"
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = environment.text("EVALWELL_EMAIL_FROM", "evalwell@localhost")

# REST

# How many proxies of the operator are in front: their entries in X-Forwarded-For have the client's
# address. 0: only the address of the connection counts.
PROXIES = environment.count("EVALWELL_PROXIES", 0, least=0)
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "evals_app.requests.auth.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "NUM_PROXIES": PROXIES,
    "DEFAULT_THROTTLE_RATES": {
        "callers": environment.rate("EVALWELL_REST_PER_MINUTE", 600, "min"),
        "strangers": environment.rate("EVALWELL_REST_STRANGERS_PER_MINUTE", 60, "min"),
        "uploads": environment.rate("EVALWELL_UPLOADS_PER_HOUR", 300, "hour"),
        "check_trials": environment.rate("EVALWELL_CHECK_TRIALS_PER_MINUTE", 60, "min"),
        "spans": environment.rate("EVALWELL_SPANS_PER_MINUTE", 6000, "min"),
        "connected": environment.rate("EVALWELL_CONNECTED_PER_MINUTE", 6000, "min"),
        "password_mails": environment.rate("EVALWELL_PASSWORD_MAILS_PER_HOUR", 10, "hour"),
        "agent_tests": environment.rate("EVALWELL_AGENT_TESTS_PER_HOUR", 60, "hour"),
    },
    "DEFAULT_PAGINATION_CLASS": "evals_app.requests.pagination.NewestFirst",
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    # JSON alone: the browsable pages depend on inline scripts, which the site's policy forbids.
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_METADATA_CLASS": None,  # OPTIONS would describe serializers, which we do not have
    "EXCEPTION_HANDLER": "evals_app.requests.problems.problem_response",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
API_DOCS = environment.word("EVALWELL_API_DOCS", ("people", "public", "off"))
SPECTACULAR_SETTINGS = {
    "TITLE": "Evalwell",
    "DESCRIPTION": "Evaluate LLM agents: suites, runs, conversations and reviews.",
    "VERSION": API_VERSION,
    "OAS_VERSION": "3.1.0",
    "POSTPROCESSING_HOOKS": [],  # enumerations stay where they are used
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",  # served from here, not from a CDN
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    # Of some 125 operations that are open at once it shows only the first few.
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "docExpansion": "none"},
    "REDOC_DIST": "SIDECAR",
}

# Logging

LOG_LEVEL = environment.log_level("EVALWELL_LOG_LEVEL", "INFO")
LOG_FORMAT = environment.word("EVALWELL_LOG_FORMAT", ("line", "json"))
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"()": "evalsite.logs.TextFormatter"},
        "json": {"()": "evalsite.logs.JsonFormatter"},
    },
    "filters": {
        "one_line": {"()": "evalsite.logs.OneLine"},
        "context": {"()": "evalsite.logs.ContextFilter"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": LOG_FORMAT,
            "filters": ["one_line", "context"],
        }
    },
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        "django": {"handlers": [], "level": LOG_LEVEL},
        # A line for every model call, and one for every ticket, would drown the rest.
        "httpx2": {"level": "WARNING"},
        "axes": {"level": "WARNING"},
        "django-q": {"level": "WARNING"},
        # Its errors reach us as exceptions; its own lines could quote an address with a key.
        "mcp": {"level": "CRITICAL"},
    },
}

# Misspelt variables have no effect. The last line, because all others must have been read.
UNKNOWN_VARIABLES = environment.unknown()
