//! Commands whose answer was wrong or missing.

use super::{Case, Seen};

pub(super) static ALL: &[Case] = &[
    Case {
        name: "one-post",
        what: "`run URL -m POST -b BODY -n 1`",
        right: "one request and those of the probe are sent, and the result counts them",
        seen: Seen::Printed {
            needs: &["python3"],
            script: "counting 'ok(client)'
                say run $url/orders -m POST -b '{\"x\":1}' -n 1
                echo counted $(($(cat count) <= 4))",
            has: &["counted 1", "4 requests in all: 3 by the probe, 0 as warm-up, 1 in the window, 0 after it"],
            lacks: &["panicked"],
        },
    },
    Case {
        name: "a-body-is-posted",
        what: "`run URL -b @file` without `-m`",
        right: "the method is POST",
        seen: Seen::Printed {
            needs: &["python3"],
            script: "counting 'open(\"method\", \"wb\").write(request.split()[0]); ok(client)'
                echo hello >body; say run $url/ -b @body -n 5; cat method",
            has: &["exit", "POST"],
            lacks: &["GET"],
        },
    },
    Case {
        name: "milliseconds",
        what: "`run URL -n 50` on a static file",
        right: "no limiter and no rule of the machine is told of some milliseconds",
        seen: Seen::Printed {
            needs: &["nginx"],
            script: "nginx 'server { listen 127.0.0.1:8080; return 200 ok; }'; say run $url/ -n 50",
            has: &["53 requests in all: 3 by the probe, 0 as warm-up, 50 in the window, 0 after it"],
            lacks: &["disk-limited", "CL-01", "SV-09", "-d 13"],
        },
    },
    Case {
        name: "many-connections",
        what: "`run URL -c 2000` on nginx with one worker that is full",
        right: "drops of an interface are not the limit of a full worker",
        seen: Seen::Printed {
            needs: &["nginx"],
            script: "ulimit -n 20000; head -c 6000 /dev/urandom | base64 >page.html
                CPUS=0,1 nginx \"server { listen 127.0.0.1:8080 backlog=4096; root $PWD; gzip on; gzip_comp_level 9; }\" 1 8000
                say run $url/page.html -H 'Accept-Encoding: gzip' -c 2000 -d 6s",
            has: &["limiter"],
            lacks: &["network-limited", "retransmissions cause"],
        },
    },
    Case {
        name: "ordinary-user",
        what: "a user without root measures nginx of root",
        right: "the server is no other program, and what cannot be seen is told once with the way out",
        seen: Seen::Printed {
            needs: &["nginx"],
            script: "nginx 'server { listen 127.0.0.1:8080; return 200 ok; }'; mkdir -m 777 user; chmod a+x .; cp \"$PLIMSOLL\" user/plimsoll
                cd user; PLIMSOLL=$PWD/plimsoll
                say() { setpriv --reuid 65533 --regid 65533 --clear-groups ./plimsoll \"$@\" 2>&1; }
                say run $url/ -c 4 -d 6s",
            has: &["note:", "nginx"],
            lacks: &["of the CPUs (nginx", "of the server's CPUs (nginx", "9.00 s of 9.00 s"],
        },
    },
    Case {
        name: "no-zero",
        what: "CPU per request below the resolution of the clock",
        right: "what was not measured is none, never 0 ns",
        seen: Seen::Printed {
            needs: &["python3"],
            script: "counting 'ok(client)'; say run $url/ -n 3 --json | tee record; say run $url/ -n 3",
            has: &["\"server_cpu_ns_per_request\": null"],
            lacks: &["0 ns of the server"],
        },
    },
    Case {
        name: "reset-connections",
        what: "a server that resets every second new connection",
        right: "they are counted and told",
        seen: Seen::Printed {
            needs: &["python3"],
            script: "resetting
                say run $url/ -c 16 -d 5s",
            has: &["ER-17"],
            lacks: &["all validity checks"],
        },
    },
    Case {
        name: "reset-half-of-the-requests",
        what: "the same with `--no-keepalive`",
        right: "the share of failures is measured, rather than nothing",
        seen: Seen::Printed {
            needs: &["python3"],
            script: "resetting
                say run $url/ -c 4 -d 5s --no-keepalive",
            has: &["ER-01", "50 %"],
            lacks: &["exit 3"],
        },
    },
    Case {
        name: "two-plimsolls",
        what: "another plimsoll measures beside it",
        right: "it is told as another plimsoll, and nobody is asked to observe it",
        seen: Seen::Printed {
            needs: &["nginx"],
            script: "nginx 'server { listen 127.0.0.1:8080; return 200 ok; }'
                \"$PLIMSOLL\" run $url/ -c 4 -d 12s -q -o other >/dev/null 2>&1 &
                sleep 1; say run $url/ -c 4 -d 6s -v",
            has: &["another plimsoll"],
            lacks: &["--observe plimsoll"],
        },
    },
    Case {
        name: "inline-password",
        what: "`--auth basic:joe:secret`",
        right: "the refusal has the shortest way",
        seen: Seen::Printed {
            needs: &[],
            script: "say run $url/ --auth basic:joe:secret",
            has: &["printf", "exit 2"],
            lacks: &["panicked"],
        },
    },
    Case {
        name: "abstract-socket",
        what: "`--unix-socket @name`",
        right: "the abstract socket is measured",
        seen: Seen::Printed {
            needs: &["python3"],
            script: "cat >app.py <<'END'
import socket, threading
def serve(client):
    while client.recv(65536): client.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok')
listener = socket.socket(socket.AF_UNIX)
listener.bind('\\0name28'); listener.listen(64)
while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
END
                in_background /usr/bin/python3 app.py; sleep 1
                say run http://localhost/ --unix-socket @name28 -c 2 -d 5s",
            has: &["goodput"],
            lacks: &["no such socket"],
        },
    },
    Case {
        name: "check-without-a-burst",
        what: "`check URL --no-burst`",
        right: "some twenty requests at most are sent to a site that serves people",
        seen: Seen::Printed {
            needs: &["python3"],
            script: "counting 'ok(client, b\"<html>\" + b\"hello \" * 2000, b\"Content-Type: text/html\\r\\n\")'
                say check $url/ --no-burst; echo counted $(($(cat count) <= 20))",
            has: &["counted 1", "compression"],
            lacks: &["panicked"],
        },
    },
    Case {
        name: "lost-agent",
        what: "an agent of two is killed, and the other carries on",
        right: "a finding of its own says so, with the goodput before and after, and no rule blames arrivals or turbo",
        seen: Seen::Test("a_loss_is_a_bound_with_both_levels_and_no_rule_blames_anything_else"),
    },
    Case {
        name: "reason-of-a-loss",
        what: "the process of an agent is killed while ssh is well",
        right: "the reason is the signal, not the connection",
        seen: Seen::Test("a_killed_agent_or_ssh_ends_the_load_and_leaves_nothing"),
    },
    Case {
        name: "full-link",
        what: "a link of 10 Mbit/s between two machines at rest, without `--probe-bandwidth`",
        right: "the path may be the limit, and `--probe-bandwidth` would tell",
        seen: Seen::Test("a_path_between_two_machines_at_rest_may_be_the_limit"),
    },
    Case {
        name: "figures-of-agents",
        what: "the lines of agents beside those of the whole load",
        right: "they count the window, as all other lines do",
        seen: Seen::Test("what_agents_have_sent_is_counted"),
    },
    Case {
        name: "unlike-agents",
        what: "one agent 20 ms away, another one beside the server",
        right: "a note says that the agents see different servers, with both figures",
        seen: Seen::Test("agents_at_different_distances_are_noted_with_both_figures"),
    },
    Case {
        name: "machines-of-agents",
        what: "the machine of one agent is busy with something else",
        right: "it is observed and judged as the coordinator's is",
        seen: Seen::Test("the_machine_of_each_agent_is_looked_at_and_the_worst_is_named"),
    },
    Case {
        name: "two-stories",
        what: "php-fpm's workers are occupied, as they wait for a CPU",
        right: "no finding says that the pool limits goodput, beside a limiter that says the CPUs do",
        seen: Seen::Test("workers_that_wait_for_a_cpu_are_said_to_and_are_no_claim"),
    },
    Case {
        name: "programs-behind-the-server",
        what: "nginx, php-fpm and a database without `--observe`",
        right: "they are followed by their sockets and counted in the CPU time of a request",
        seen: Seen::Test("a_backend_is_followed_by_its_sockets_and_a_program_beside_it_is_not"),
    },
    Case {
        name: "stored-renders",
        what: "`render -o DIR`",
        right: "the result is stored, has a page and is compared",
        seen: Seen::Test("a_result_is_stored_shown_again_and_compared_with_another"),
    },
    Case {
        name: "time-for-a-quantile",
        what: "the remedy of a run without p99",
        right: "it names the time for p99, not for a rarer one",
        seen: Seen::Test("the_remedy_names_the_time_of_the_least_rare_quantile_that_is_missing"),
    },
];
