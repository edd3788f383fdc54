#!/usr/bin/env bash
# A single Apache Kafka node on loopback, from Maven artifacts: for tests, trials and faults.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: broker.sh COMMAND [OPTION...]

  fetch    get the broker's libraries (45 MB, once)
  start    format the storage where there is none, start, and wait until it serves
  stop     end it cleanly
  kill     end it as a power cut would (SIGKILL)
  freeze   stop its clock (SIGSTOP); thaw lets it go on
  thaw
  wipe     delete its storage and logs; it must not run
  status   say whether it runs; exit 0 if so

  --work DIR         storage, logs and process id    (default: build/kafka in the repository)
  --libs DIR         the libraries, shared by brokers (default: build/kafka/libs)
  --port N           where clients connect            (default: 19092)
  --controller N     the controller's port            (default: the port after it)
  --properties FILE  further lines for server.properties; they win over the script's
  --heap SIZE        the Java heap                    (default: 1g)
  --wait SECONDS     how long to wait for start and stop (default: 60)

Needs Java 17 or later, and Maven for fetch. Several brokers run beside each other with a work
folder and a port each.
TEXT
}

fail() { echo "broker.sh: $*" >&2; exit 1; }

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$HERE/../.." && pwd)
WORK=$ROOT/build/kafka
LIBS=$ROOT/build/kafka/libs
PORT=19092
CONTROLLER=
PROPERTIES=
HEAP=1g
WAIT=60

COMMAND=${1:-}
[ $# -gt 0 ] && shift
while [ $# -gt 0 ]; do
  [ $# -ge 2 ] || fail "$1 needs a value"
  case $1 in
    --work) WORK=$2 ;;
    --libs) LIBS=$2 ;;
    --port) PORT=$2 ;;
    --controller) CONTROLLER=$2 ;;
    --properties) PROPERTIES=$2 ;;
    --heap) HEAP=$2 ;;
    --wait) WAIT=$2 ;;
    *) usage >&2; fail "unknown option $1" ;;
  esac
  shift 2
done
CONTROLLER=${CONTROLLER:-$((PORT + 1))}

absolute() { mkdir -p "$1"; (cd "$1" && pwd); }

running() {
  [ -f "$WORK/pid" ] || return 1
  # The number alone may have gone to another process since.
  local command
  command=$(ps -ww -o command= -p "$(cat "$WORK/pid")" 2>/dev/null) || return 1
  [[ $command == *"$WORK/server.properties"* ]]
}

serving() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

fetch() {
  [ -f "$LIBS/complete" ] && return
  command -v mvn >/dev/null || fail "no Maven: install it (Debian: maven), or point --libs at a Kafka's libs"
  local new=$LIBS.$$
  echo "fetching Apache Kafka into $LIBS" >&2
  if ! mvn -q -B -Dstyle.color=never -f "$HERE/pom.xml" dependency:copy-dependencies \
      -DincludeScope=runtime -DoutputDirectory="$new" >&2; then
    rm -rf "$new"
    fail "Maven could not get the artifacts that pom.xml names"
  fi
  touch "$new/complete"
  # Renamed whole, so that two that fetch at once do not see each other's half.
  mv -T "$new" "$LIBS" 2>/dev/null || rm -rf "$new"
  [ -f "$LIBS/complete" ] || fail "$LIBS is there and not complete; delete it"
}

configure() {
  cat > "$WORK/server.properties" <<TEXT
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:$CONTROLLER
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:$PORT,CONTROLLER://127.0.0.1:$CONTROLLER
advertised.listeners=PLAINTEXT://127.0.0.1:$PORT
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
log.dirs=$WORK/storage
auto.create.topics.enable=false
num.partitions=1
# One node has nobody to copy to.
default.replication.factor=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=1
# A killed broker may come back once its old session has ended, 9 s later by default.
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=500
# Small and quick: no wait for further members, few threads, retention looked at every second.
group.initial.rebalance.delay.ms=0
num.network.threads=2
num.io.threads=2
log.cleaner.dedupe.buffer.size=16777216
log.retention.check.interval.ms=1000
log.segment.delete.delay.ms=100
TEXT
  [ -z "$PROPERTIES" ] || cat "$PROPERTIES" >> "$WORK/server.properties"
  cat > "$WORK/log4j2.properties" <<'TEXT'
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d %p %c{1} %m%n
rootLogger.level=INFO
rootLogger.appenderRef.console.ref=console
TEXT
}

format() {
  [ -f "$WORK/storage/meta.properties" ] && return
  local id
  id=$(head -c 16 /dev/urandom | base64 | tr '+/' '-_' | tr -d '=')
  # With the sign of equality, since an id may begin with a hyphen.
  "${JAVA[@]}" kafka.tools.StorageTool format --standalone "--cluster-id=$id" \
    --config "$WORK/server.properties" > "$WORK/format.log" 2>&1 || {
    tail -20 "$WORK/format.log" >&2
    fail "the storage could not be formatted"
  }
}

await_serving() {
  local deadline=$((SECONDS + WAIT))
  until grep -q 'Kafka Server started' "$WORK/broker.log" && serving "$PORT"; do
    # Not "running": the process may not have become Java yet.
    if ! kill -0 "$(cat "$WORK/pid")" 2>/dev/null; then
      tail -20 "$WORK/broker.log" >&2
      fail "it ended while starting; all of it is in $WORK/broker.log"
    fi
    [ $SECONDS -lt $deadline ] || fail "it does not serve after $WAIT s; see $WORK/broker.log"
    sleep 0.2
  done
}

# A process that was just killed may hold its port a moment longer than its name.
await_free() {
  local deadline=$((SECONDS + 5))
  while serving "$PORT"; do
    [ $SECONDS -lt $deadline ] || fail "port $PORT is taken; choose another with --port"
    sleep 0.1
  done
}

start() {
  if running; then echo "running already, process $(cat "$WORK/pid")"; return; fi
  command -v java >/dev/null || fail "no Java: install version 17 or later (Debian: default-jre-headless)"
  await_free
  fetch
  configure
  format
  : > "$WORK/broker.log"
  nohup "${JAVA[@]}" kafka.Kafka "$WORK/server.properties" >> "$WORK/broker.log" 2>&1 < /dev/null &
  echo $! > "$WORK/pid"
  await_serving
  echo "serving on 127.0.0.1:$PORT, process $(cat "$WORK/pid")"
}

await_end() {
  local deadline=$((SECONDS + WAIT))
  while running; do
    [ $SECONDS -lt $deadline ] || fail "it still runs after $WAIT s; end it with kill"
    sleep 0.1
  done
  rm -f "$WORK/pid"
}

signal() { running || fail "it does not run"; kill "-$1" "$(cat "$WORK/pid")"; }

case $COMMAND in -h | --help | help) usage; exit 0 ;; esac
WORK=$(absolute "$WORK")
LIBS=$(absolute "$(dirname "$LIBS")")/$(basename "$LIBS")
JAVA=(java "-Xmx$HEAP" -Xms256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djava.awt.headless=true
  "-Dlog4j2.configurationFile=$WORK/log4j2.properties" -cp "$LIBS/*")

case $COMMAND in
  fetch) fetch ;;
  start) start ;;
  # A frozen process would take the signal only once it is thawed.
  stop) running || exit 0; signal CONT; signal TERM; await_end ;;
  kill) running || exit 0; signal KILL; await_end ;;
  freeze) signal STOP ;;
  thaw) signal CONT ;;
  wipe)
    ! running || fail "it runs; stop it first"
    rm -rf "$WORK/storage" "$WORK"/*.log
    ;;
  status)
    running || { echo "stopped"; exit 1; }
    echo "running, process $(cat "$WORK/pid")"
    ;;
  *) usage >&2; exit 2 ;;
esac
