# demo, serve, test, test-rest, quick, lint, messages, pictures, sbom, dist. Python 3.11 or newer and make
# are all they need.
#
#   make demo SERVE=0          fill the demo and run it once, without the web server
#   make test ARGS="-k name"   only some tests

SHELL := /bin/sh
PY := .venv/bin/python
MANAGE := $(PY) manage.py
PYTHONS := python3.11 python3.12 python3.13 python3
INSTALL := $(PY) -m pip install --quiet --disable-pip-version-check --require-hashes

# tests/tiers.py has the marks. What they choose on PostgreSQL is in these folders.
BEFORE_A_COMMIT := not (slow or fault or bench)
LATER := slow or fault or bench
ON_POSTGRESQL := both or postgres
ASKING := tests/admin tests/migrations tests/models tests/runs tests/api tests/library tests/management tests/evalsite tests/faults
QUICK := tests/engine tests/formats tests/reports tests/fixtures_app tests/test_architecture.py tests/test_messages.py
# Run tests side by side. With SECOND_TRY, what failed runs once more, alone, and is listed if it passes.
side_by_side = $(PY) -m pytest --numprocesses auto --dist worksteal $(1)$(if $(SECOND_TRY), || \
	$(PY) -m pytest --last-failed --last-failed-no-failures none --maxfail 1 --verbose $(1))
POSTGRESQL := postgresql://postgres@127.0.0.1:5432/postgres

.PHONY: demo serve test test-rest quick lint messages pictures sbom dist

demo: .venv/.runtime
	$(MANAGE) migrate --verbosity 0
	$(MANAGE) demo $(if $(filter 0,$(SERVE)),--no-serve)

serve: .venv/.runtime
	$(MANAGE) migrate --verbosity 0
	$(MANAGE) serve

# What to run before a commit: at most six minutes on two cores.
test: .venv/.tests
ifneq ($(strip $(ARGS)),)
	$(PY) -m pytest $(ARGS)
else
	$(call side_by_side,-m "$(BEFORE_A_COMMIT)")
endif

# Everything else: slow tests, killed processes, benchmarks; and on PostgreSQL what asks a database.
test-rest: .venv/.tests
	unset EVALWELL_TEST_DATABASE_URL; $(call side_by_side,-m "$(LATER)")
	@server="$${EVALWELL_TEST_DATABASE_URL:-$(POSTGRESQL)}"; \
	if $(PY) -c "import psycopg, sys; psycopg.connect(sys.argv[1], connect_timeout=3).close()" \
		"$$server" 2>/dev/null; \
	then \
		echo "On PostgreSQL, what asks a database:"; \
		export EVALWELL_TEST_DATABASE_URL="$$server"; \
		$(call side_by_side,-m "$(ON_POSTGRESQL)" $(ASKING)); \
	else \
		echo "Left out: PostgreSQL, because none lets user postgres in without a password at"; \
		echo "127.0.0.1:5432. EVALWELL_TEST_DATABASE_URL names another server."; \
	fi

# Most of the tests in under two minutes: no servers, no browsers, no database.
quick: .venv/.tests
	$(call side_by_side,-m "$(BEFORE_A_COMMIT)" $(QUICK))

# The golden file of everything that people read; look at its difference before you commit.
messages: .venv/.tests
	$(PY) -m tests.messages > tests/messages.txt

# The pictures of the guide, taken in Chromium; look at each that changed before you commit it.
pictures: .venv/.tests
	$(PY) -m tests.screenshots

lint: .venv/.tests
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m djlint templates --lint --quiet
	$(PY) -m deno fmt --check --quiet
	$(PY) -m deno lint --quiet
	$(PY) -m mypy

# What a release publishes: sdist, wheel and SBOM.
dist: .venv/.tests sbom
	$(PY) -m hatchling build

# What a release installs, and its container: an SBOM (CycloneDX), and the licence of each package.
sbom: .venv/.runtime
	rm -rf var/sbom
	$(PY) -m venv --without-pip var/sbom/runtime
	$(PY) -m venv --without-pip var/sbom/tools
	PIP_PYTHON=var/sbom/runtime $(INSTALL) -r requirements.lock
	PIP_PYTHON=var/sbom/runtime $(INSTALL) -r redis.lock
	PIP_PYTHON=var/sbom/tools $(INSTALL) -r .ci/sbom.lock
	mkdir -p dist
	var/sbom/tools/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
		--output-file dist/evalwell.cdx.json var/sbom/runtime
	var/sbom/tools/bin/pip-licenses --python var/sbom/runtime/bin/python --from mixed --with-urls \
		--format markdown --output-file dist/licences.md
	rm -rf var/sbom

# The virtual environment. Each stamp is younger than the lock file it was installed from.

.venv/.runtime: bootstrap.lock requirements.lock
	@if ! $(PY) -m pip --version >/dev/null 2>&1; then \
		for python in $(PYTHONS); do \
			if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
			then found="$$python"; break; fi; \
		done; \
		if [ -z "$$found" ]; then \
			echo "Evalwell needs Python 3.11 or newer; tried: $(PYTHONS)." >&2; exit 1; \
		fi; \
		echo "Making .venv with $$found"; \
		"$$found" -m venv --clear .venv || { \
			echo "If the venv module is missing: apt-get install python3-venv" >&2; exit 1; }; \
	fi
	$(INSTALL) -r bootstrap.lock
	$(INSTALL) -r requirements.lock
	@touch $@

.venv/.tests: tests/requirements.lock .venv/.runtime
	$(INSTALL) -r tests/requirements.lock
	@touch $@
