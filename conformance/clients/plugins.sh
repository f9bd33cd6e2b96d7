# Sourced by run.sh: plugins in Python, by the tests of the package and by the examples that Go starts too.

install_plugins() {
  local venv="$cache/plugins-grpcio-1.85.1"
  if [[ ! -e "$venv/complete" ]]; then
    python3 -m venv "$venv" &&
      "$venv/bin/pip" install -q --disable-pip-version-check grpcio==1.85.1 protobuf==7.36.2 cryptography==50.0.2 setuptools wheel &&
      touch "$venv/complete"
  fi
  # The package itself, as its users install it: from a copy, because building it leaves files.
  rm -rf "$work/python-sdk" && cp -r "$here/../sdk/python" "$work/python-sdk" &&
    "$venv/bin/pip" install -q --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall "$work/python-sdk"
}

plugin_python_tests() {
  cd "$work/python-sdk" && rm -rf mortise_plugin && "$cache/plugins-grpcio-1.85.1/bin/python" -m unittest discover -s tests -t .
}

plugin_examples() {
  cd "$here/.." && MORTISE_TEST_PYTHON="$cache/plugins-grpcio-1.85.1/bin/python" go test -count=1 -v ./sdk/examples
}

# What needs no Python of it `go test ./...` has done.
plugin_walkthrough() {
  cd "$here/.." && export MORTISE_TEST_PYTHON="$cache/plugins-grpcio-1.85.1/bin/python" &&
    go test -count=1 -v ./sdk/skeleton -run Python && go test -count=1 -v ./cmd/mortise -run TestSDKReadmeInPython
}

plugin_builtins() {
  cd "$here/.." && KIT_PROGRAMS=all go test -count=1 -v ./cmd/mortise -run TestBuiltinsKeepTheirContracts
}

plugins_steps() {
  must install-plugins install_plugins
  step plugins-python plugin_python_tests
  step plugins-examples plugin_examples
  step plugins-builtins plugin_builtins
  step plugins-walkthrough plugin_walkthrough
}
