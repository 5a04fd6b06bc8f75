# What the injections are written in: sourced before each of them, in a directory and a network of its own.
set -euo pipefail
ip link set lo up
url=http://127.0.0.1:8080
group=

# Ends what was started here, by its number.
finish() {
    kill $(jobs -p) 2>/dev/null || :
    wait
    # A keeper ends its server before itself, and then nothing is left in the group.
    for _ in $(seq 100); do
        if [ -z "$group" ] || rmdir "$group" 2>/dev/null; then return; fi
        sleep 0.05
    done
}
trap finish EXIT

# listening: waits until the server just started in the background says that it listens.
listening() {
    server=$!
    until [ -s listening ]; do
        kill -0 $server
        sleep 0.02
    done
}

# target FLAGS: the built-in target, on CPU 0.
target() {
    "$PLIMSOLL" target --die-with-parent --listen 127.0.0.1:8080 --cpus 0 "$@" >listening &
    listening
}

# recording HOST...: a recording (HAR) of a page with a request to each of these hosts; the first has sent the page itself.
recording() {
    local host separator= type=text/html
    printf '{"log": {"entries": ['
    for host in "$@"; do
        printf '%s{"request": {"method": "GET", "url": "http://%s/bytes/100"},' "$separator" "$host"
        printf ' "response": {"status": 200, "content": {"mimeType": "%s"}}}' "$type"
        separator=, type=text/css
    done
    printf ']}}'
}

# serve SERVER FLAGS: another server, on CPU 0.
serve() {
    "$PLIMSOLL" serve "$@" --port 8080 --cpus 0 >listening &
    listening
}

# halves nagle|nodelay: a server that writes head and body apart, on CPU 0.
halves() {
    setpriv --pdeathsig KILL taskset -c 0 python3 - "$1" >listening <<'END' &
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = sys.argv[1] == "nodelay"
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "100")
        self.end_headers()
        self.wfile.write(b"x" * 100)
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 8080), Handler)
print("listening", flush=True)
server.serve_forever()
END
    listening
}

# site PHP: a folder with that page, for a server of another user.
site() {
    mkdir -m 777 site
    chmod 755 .
    echo "<?php $1" >site/index.php
}

# database MAX: a MariaDB with so many connections, and a site that waits for it for 100 ms. Both are nobody, so that one reaches
# the socket of the other.
database() {
    "$PLIMSOLL" serve mariadb --user nobody --set "max_connections=$1" >listening &
    listening
    socket=$(grep -o '/[^"]*\.sock' listening | head -n 1)
    site "mysqli_report(MYSQLI_REPORT_OFF);
        while (!(\$db = @mysqli_connect(null, 'root', '', null, null, '$socket'))) usleep(50000);
        echo mysqli_query(\$db, 'SELECT SLEEP(0.1)')->num_rows;"
}

# measure ARGUMENTS: plimsoll itself. Without a record, as when it refuses to begin, its exit code is that of the script.
measure() {
    local code=0
    "$PLIMSOLL" "$@" --json -q >record.json || code=$?
    if [ ! -s record.json ]; then exit $code; fi
}

# load TIME PATH FLAGS: a run from CPU 1.
load() { measure run "$url$2" -d "$1" --warmup 0s -t 1 --cpus 1 "${@:3}"; }

# curve PATH FLAGS: a short sweep from CPU 1.
curve() { measure sweep "$url$1" -d 1s --warmup 200ms --iterations 1 -t 1 --cpus 1 "${@:2}"; }

# rates PATH FROM TO: a short sweep of four rates from CPU 1.
rates() {
    measure sweep "$url$1" --over rate --from "$2" --to "$3" --points 4 -d ${LONGER}s --warmup 200ms --iterations 1 -t 1 --cpus 1
}

# repeats N: a sweep over a pool, of two loads, that measures each so often; of 800 ms enough is left where a few slices are disturbed.
repeats() {
    measure sweep "$url/pool" --to 2 --points 2 -d $((800 * LONGER))ms --warmup 100ms --iterations "$1" -t 1 --cpus 1
}

# half_way: waits until half of the iterations of `repeats 6` are over.
half_way() { until compgen -G 'plimsoll-runs/*-sweep/points/*-4' >half; do sleep 0.05; done; }

# underway: waits until a load in this directory is being measured.
underway() { until grep -qs '"event":"tick"' plimsoll-runs/*/events.jsonl; do sleep 0.05; done; }

# ours NAME: numbers of the processes of that name in this network, oldest first.
ours() { pgrep --ns $$ --nslist net -x "$1"; }

# hog CPU: another program that keeps it busy.
hog() { setpriv --pdeathsig KILL taskset -c "$1" bash -c 'while :; do :; done' & }

# brief CPU: other programs that keep it busy, each for some milliseconds. Their parent does not get their times.
brief() {
    setpriv --pdeathsig KILL taskset -c "$1" perl -e \
        '$SIG{CHLD} = "IGNORE"; while (1) { if (fork) { wait; next } $i++ while $i < 100000; exit }' &
}

# stop_for TIME PID: it stands still for so long.
stop_for() {
    kill -STOP "$2"
    sleep "$1"
    kill -CONT "$2"
}

# stutter TIME JOB: the program of a load in the background stands still for so long, again and again, until it ends.
stutter() {
    local client
    client=$(pgrep -P "$2" -x plimsoll)
    while kill -STOP "$client" 2>/dev/null; do
        sleep "$1"
        # One that was about to end is gone.
        kill -CONT "$client" 2>/dev/null || break
        sleep "$1"
    done
}

# quota PERCENT: makes a control group that has so much of one CPU, of version 1 or 2.
quota() {
    local v1=/sys/fs/cgroup/cpu v2=/sys/fs/cgroup
    if [ -w $v1/cgroup.procs ] && mkdir $v1/plimsoll-$$; then
        group=$v1/plimsoll-$$
        echo 100000 >$group/cpu.cfs_period_us
        echo "$1"000 >$group/cpu.cfs_quota_us
    elif grep -qsw cpu $v2/cgroup.subtree_control && mkdir $v2/plimsoll-$$; then
        group=$v2/plimsoll-$$
        echo "$1"000 100000 >$group/cpu.max
    else
        impossible "no control group for CPU time can be made here"
    fi
}

# within COMMAND: runs it in that group, and whatever it leaves in the background.
within() {
    echo $$ >$group/cgroup.procs
    "$@"
    echo $$ >$group/../cgroup.procs
}

# impossible REASON: this machine cannot have this fault.
impossible() {
    echo "$1" >&2
    exit 77
}
