# Sourced by run.sh: brings every client into $cache. A client that can't be installed fails the run.

cache="${MORTISE_CACHE:-$HOME/.cache/mortise}"
mkdir -p "$cache"

install_kcat() {
  command -v kcat >/dev/null && return
  apt-get install -y -qq kcat >"$work/apt.log" 2>&1 || {
    apt-get update -qq && apt-get install -y -qq kcat
  } >"$work/apt.log" 2>&1
}

install_java() { "$here/oracle/kafka.sh" lib >/dev/null; }

install_python() {
  local venv="$cache/python"
  [[ -e "$venv/complete" ]] && return
  python3 -m venv "$venv" && "$venv/bin/pip" install -q --disable-pip-version-check confluent-kafka==2.16.1 && touch "$venv/complete"
}

install_node() {
  local dir="$cache/node"
  [[ -e "$dir/complete" ]] && return
  mkdir -p "$dir" && npm install --silent --no-audit --no-fund --prefix "$dir" kafkajs@2.2.4 && touch "$dir/complete"
}

install_go() { (cd "$here/clients/go" && go build -o "$work/goclients" .); }

install_javac() {
  mkdir -p "$work/classes"
  javac -cp "$cache/kafka-4.4.0/lib/*" -d "$work/classes" "$here"/clients/java/*.java
}
