PYTHON ?= python3
BIN = .venv/bin

.PHONY: demo test lowest wheel lint format docs clean

demo: .venv/installed
	$(BIN)/python examples/01_train_and_compile.py build/demo
	$(BIN)/python examples/02_refine_imported_tree.py
	$(BIN)/python examples/03_score_on_spark.py

test: .venv/installed
	$(BIN)/pytest -q -n 2

# What reads, learns, renders and answers, on the lowest releases that pyproject.toml allows.
LOWEST = test_checkpoint.py test_estimator.py test_extras.py cli/test_report.py \
    emitters/onnx/test_onnx.py emitters/onnx/test_onnx_model.py emitters/sql/test_sql.py \
    emitters/sql/test_sql_dialects.py emitters/sql/test_sql_names.py tables/test_schema.py \
    tables/test_table.py

lowest: build/lowest/installed
	PYTHONPATH=$(CURDIR) build/lowest/bin/pytest -q -n 2 $(LOWEST:%=tests/%)

build/lowest/installed: pyproject.toml constraints.txt .ci/lowest.py
	$(PYTHON) -m venv --clear build/lowest
	$(PYTHON) .ci/lowest.py > build/lowest/requirements.txt
	build/lowest/bin/pip install -qq --disable-pip-version-check -r build/lowest/requirements.txt
	touch $@

# The wheel, installed without what only tests need; other Pythons where they are installed.
wheel: .venv/installed
	$(BIN)/python .ci/install.py python3.12 python3.13 python3.14

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The variable stills an announcement of other people's products.
docs: .venv/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo build/docs/index.html

.venv/installed-docs: .venv/installed
	$(BIN)/pip install -qq --disable-pip-version-check -c constraints.txt -e '.[docs]'
	touch $@

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -qq --disable-pip-version-check -c constraints.txt -e '.[test]'
	touch $@

clean:
	rm -rf .venv build dist *.egg-info
