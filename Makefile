# The front door. CMake presets (CMakePresets.json) do the work; everything is built in build/<preset>.
#   make demo      a job that is killed and comes back, in front of your eyes
#   make test      the whole suite: sanitizers first, then everything on the release build
#   make torture   the same promises for hours: more seeds, more kills
#   make bench     what jobs cost, beside a bare loop that does the same (bench/README.md)
#   make tidy      clang's warnings, thread-safety analysis and clang-tidy
#   make format    clang-format over our sources
JOBS ?= $(shell nproc)
CTEST := ctest --output-on-failure --no-tests=error

.PHONY: demo test torture bench release asan tsan kafka tidy format clean

demo:
	@setup/install_packages build
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target weir --parallel $(JOBS)
	@build/release/bin/weir demo

# The full suite comes last: its summary is the last thing that is seen.
test: asan tsan release kafka
	$(CTEST) --test-dir build/release --parallel 2 -LE torture

release:
	@setup/install_packages build test
	@cmake --preset release >/dev/null
	cmake --build --preset release --parallel $(JOBS)

# Memory and undefined behaviour: everything that needs no server.
asan:
	@setup/install_packages build test
	@cmake --preset asan >/dev/null
	cmake --build --preset asan --parallel $(JOBS) --target weir_tests_unit weir_tests_threaded weir_tests_simulation
	$(CTEST) --test-dir build/asan --parallel 2 -L 'unit|threaded|simulation'

# Races: the programs whose code runs on several threads. setarch: the sanitizer needs addresses where it expects them.
tsan:
	@setup/install_packages build test
	@cmake --preset tsan >/dev/null
	cmake --build --preset tsan --parallel $(JOBS) --target weir_tests_threaded
	setarch -R $(CTEST) --test-dir build/tsan --parallel 2 -L threaded

kafka:
	@setup/copy_kafka_jars

torture: release kafka
	WEIR_TORTURE=1 $(CTEST) --test-dir build/release --parallel 1 -L torture

bench: kafka
	@setup/install_packages build test
	@cmake --preset release >/dev/null
	cmake --build --preset release --target weir job_bench kafka_floor --parallel $(JOBS)
	build/release/bin/job_bench

tidy:
	@setup/install_packages build test clang
	@cmake --preset tidy >/dev/null
	cmake --build --preset tidy --parallel $(JOBS)

format:
	@setup/install_packages clang
	git ls-files '*.h' '*.cc' | xargs clang-format-19 -i

clean:
	rm -rf build
