# What a person or a CI runs.  Every target sets up what it needs: a virtual
# environment in .venv, and (as root, on Debian) the tools that are missing.
PREFIX  ?= /usr/local
DESTDIR ?=
VENV    := .venv
PY      := $(VENV)/bin/python
STAMP   := $(VENV)/.homi-installed
LIB     := $(PREFIX)/lib/homi
PYTEST  := $(PY) -m pytest

.PHONY: demo test check test-clients soak bench lint install uninstall clean

# Without an sshd the demo leaves out its second device, and says so.
demo: $(STAMP)
	@sh tests/setup.sh tools ssh sshd || true
	$(PY) -m tests.demo

lint: $(STAMP)
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

test: $(STAMP)
	sh tests/setup.sh tools mandoc ssh sshd tmux
	$(PYTEST) -n 2 --dist worksteal -m "not soak and not clients"

check: lint test demo

test-clients: $(STAMP)
	sh tests/setup.sh tools npm tmux unshare nsenter ip ssh sshd
	$(PYTEST) -n 0 -m clients tests/clients

soak: $(STAMP)
	$(PYTEST) -n 0 -m soak --timeout 14400

bench: $(STAMP)
	sh tests/setup.sh tools cc
	$(PY) tests/bench/run.py

# A folder of its own with all dependencies, a script that names the interpreter
# (a shim in front of it would cost each send 80 ms), and the pages.
install: $(STAMP)
	$(PY) -m pip install -q --upgrade --target "$(DESTDIR)$(LIB)" ".[mcp]"
	mkdir -p "$(DESTDIR)$(PREFIX)/bin"
	$(PY) tests/launcher.py "$(LIB)" > "$(DESTDIR)$(PREFIX)/bin/homi"
	chmod 755 "$(DESTDIR)$(PREFIX)/bin/homi"
	for page in man/*.[1-8]; do \
	  to="$(DESTDIR)$(PREFIX)/share/man/man$${page##*.}"; \
	  mkdir -p "$$to" && install -m 644 "$$page" "$$to/" || exit 1; done
	mkdir -p "$(DESTDIR)$(PREFIX)/share/homi"
	cp -R contrib/completions/. "$(DESTDIR)$(PREFIX)/share/"
	cp -RL contrib "$(DESTDIR)$(PREFIX)/share/homi/"

# What install wrote, and no mail.
uninstall:
	rm -rf "$(DESTDIR)$(LIB)" "$(DESTDIR)$(PREFIX)/share/homi"
	rm -f "$(DESTDIR)$(PREFIX)/bin/homi"
	for page in man/*.[1-8]; do \
	  rm -f "$(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page#man/}"; done
	cd contrib/completions && find . -type f | while read -r file; do \
	  rm -f "$(DESTDIR)$(PREFIX)/share/$$file"; done
	@echo "mail stays, yours in $${HOMI_HOME:-$${XDG_STATE_HOME:-$$HOME/.local/state}/homi}"

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache

$(STAMP): pyproject.toml tests/setup.sh
	sh tests/setup.sh venv $(VENV)
	touch $@
