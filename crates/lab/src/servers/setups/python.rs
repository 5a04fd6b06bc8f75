//! Python: servers of the standard library and of PyPI.

use super::super::setup::{Pages, Setup};
use crate::install::Origin::{Here, PyPi};

const WSGI: (&str, &str) = ("wsgi.py", include_str!("../apps/wsgi.py"));
const ASGI: (&str, &str) = ("asgi.py", include_str!("../apps/asgi.py"));

#[rustfmt::skip]
pub(super) static SETUPS: [Setup; 18] = [
    Setup::new("http.server", "Python, threads", Here, "python3 -m http.server --bind 127.0.0.1 --directory {site} {port} 2>/dev/null").pages(Pages::Files),
    Setup::new("wsgiref", "Python, one at a time", Here, "python3 server.py {port}")
        .files(&[WSGI, ("server.py", include_str!("../apps/wsgiref_server.py"))]).pages(Pages::ProgramWithoutChunks),
    Setup::new("gunicorn", "Python, processes", PyPi(&["gunicorn"]), "{python}/gunicorn --bind 127.0.0.1:{port} --log-level error wsgi:app").files(&[WSGI]),
    Setup::new("gunicorn-gthread", "Python, threads", PyPi(&["gunicorn"]), "{python}/gunicorn -k gthread --threads 4 --bind 127.0.0.1:{port} --log-level error wsgi:app").files(&[WSGI]),
    Setup::new("gunicorn-gevent", "Python, events", PyPi(&["gunicorn", "gevent", "packaging"]), "{python}/gunicorn -k gevent --bind 127.0.0.1:{port} --log-level error wsgi:app").files(&[WSGI]),
    Setup::new("waitress", "Python, threads", PyPi(&["waitress"]), "{python}/waitress-serve --host 127.0.0.1 --port {port} wsgi:app 2>/dev/null").files(&[WSGI]),
    Setup::new("granian-wsgi", "Rust and Python", PyPi(&["granian"]), "{python}/granian --interface wsgi --host 127.0.0.1 --port {port} --no-access-log wsgi:app").files(&[WSGI]),
    Setup::new("cheroot", "Python, threads", PyPi(&["cheroot"]), "PYTHONPATH=. {python}/cheroot --bind 127.0.0.1:{port} wsgi:app").files(&[WSGI]),
    Setup::new("werkzeug", "Python, threads", PyPi(&["werkzeug"]), "{python}/python -c 'import wsgi; from werkzeug.serving import run_simple; run_simple(\"127.0.0.1\", {port}, wsgi.app, threaded=True)' 2>/dev/null")
        .files(&[WSGI]).pages(Pages::ProgramWithoutChunks),
    Setup::new("uwsgi", "C and Python", PyPi(&["uwsgi"]), "{python}/uwsgi --disable-logging --die-on-term --http-keepalive --http 127.0.0.1:{port} --wsgi-file wsgi.py --callable app 2>/dev/null")
        .files(&[WSGI]).pages(Pages::ProgramWithoutChunks),
    Setup::new("uvicorn", "Python, events", PyPi(&["uvicorn"]), "{python}/uvicorn --no-access-log --log-level error --host 127.0.0.1 --port {port} asgi:app").files(&[ASGI]),
    Setup::new("uvicorn-httptools", "Python and C, events", PyPi(&["uvicorn[standard]"]), "{python}/uvicorn --loop uvloop --http httptools --no-access-log --log-level error --host 127.0.0.1 --port {port} asgi:app").files(&[ASGI]),
    Setup::new("hypercorn", "Python, events", PyPi(&["hypercorn"]), "{python}/hypercorn --bind 127.0.0.1:{port} asgi:app 2>/dev/null").files(&[ASGI]),
    Setup::new("daphne", "Python, Twisted", PyPi(&["daphne"]), "{python}/daphne -b 127.0.0.1 -p {port} --access-log /dev/null asgi:app 2>/dev/null").files(&[ASGI]),
    Setup::new("granian", "Rust and Python", PyPi(&["granian"]), "{python}/granian --interface asgi --host 127.0.0.1 --port {port} --no-access-log asgi:app").files(&[ASGI]),
    Setup::new("aiohttp", "Python, events", PyPi(&["aiohttp"]), "{python}/python server.py {port}").files(&[("server.py", include_str!("../apps/aiohttp_server.py"))]),
    Setup::new("tornado", "Python, events", PyPi(&["tornado"]), "{python}/python server.py {port}").files(&[("server.py", include_str!("../apps/tornado_server.py"))]),
    Setup::new("twisted", "Python, events", PyPi(&["twisted"]), "{python}/twist web --path {site} --listen tcp:{port}:interface=127.0.0.1 > /dev/null").pages(Pages::Files),
];
