# The commands of the README. Each sets up what it needs, is safe to repeat and does nothing twice.
BUILD := build/release
DEMO_PROMPT ?= a fox on a blue background
DEMO_PICTURE ?= demo.png

.PHONY: all setup demo demo-measure test test-python bench format clean

all: setup
	@test -f $(BUILD)/build.ninja || cmake --preset release >/dev/null
	@cmake --build --preset release

setup:
	@setup/setup.sh

demo: all
	@$(BUILD)/tessera generate --model demo --prompt "$(DEMO_PROMPT)" --out $(DEMO_PICTURE)
	@echo "the picture is in $(DEMO_PICTURE)"

demo-measure: all
	@python3 demo-model/measure.py --program $(BUILD)/tessera

test: all
	@ctest --preset release

# The full torch wheel, diffusers and the peers (several GB) in .deps/python, or TESSERA_PYTHON.
PYTHON_ENV := $(or $(TESSERA_PYTHON),.deps/python/bin/python)

test-python: all
	@setup/setup_python.sh
	@PYTHONPATH=python $(PYTHON_ENV) -m pytest -q python/tests

bench: all
	@setup/setup_python.sh
	@$(BUILD)/tessera bench attention --dtype bf16 --tier all
	@PYTHONPATH=python $(PYTHON_ENV) bench/peers.py

format:
	@git ls-files '*.h' '*.cpp' '*.cu' '*.inl' | xargs clang-format -i

clean:
	rm -rf build
