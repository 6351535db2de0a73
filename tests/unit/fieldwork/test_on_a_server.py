"""The texts of docs/server.md: each is run where its program is installed."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from builders import run_cli, seconds
from collecting import SURVEY, Collecting, message, until

pytest.importorskip("sqlalchemy")
pytest.importorskip("uvicorn")
PAGE = (Path(__file__).parents[3] / "docs" / "server.md").read_text(encoding="utf-8")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the page is for POSIX")


def text_of(language: str) -> str:
    """The text in a language on the page."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def replaced(text: str, *pairs: tuple[str, str]) -> str:
    """A text with other words for some that must be there."""
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def free_port() -> int:
    """A port that nobody listens to."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


needs = {
    name: pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not installed")
    for name in ("systemd-analyze", "nginx", "caddy")
}


@needs["systemd-analyze"]
def test_systemd_accepts_the_unit(tmp_path):
    unit = tmp_path / "survey.service"
    unit.write_text(replaced(text_of("ini"), ("/opt/survey/bin/ldpopt", sys.executable)))
    done = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False
    )
    assert str(unit) not in done.stderr + done.stdout
    assert done.returncode == 0


def test_the_command_of_the_unit_is_one_of_the_package(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = re.search(r"^ExecStart=(.*)$", text_of("ini"), re.MULTILINE)[1]
    require_command(shlex.split(line)[1:], "/etc/survey.json", tmp_path)


def require_command(words, survey, folder):
    """Run a command that would collect, but for a port that is taken."""
    SURVEY.save(folder / "survey.json")
    place = words.index("--to") + 1
    assert words[place].startswith("sqlite:////")
    words = [*words[:place], f"sqlite:///{folder}/reports.db", *words[place + 1 :]]
    words = [str(folder / "survey.json") if word == survey else word for word in words]
    host = words[words.index("--host") + 1] if "--host" in words else "127.0.0.1"
    with socket.create_server((host, 0)) as taken:
        done = run_cli(*words, "--port", taken.getsockname()[1])
    assert done.exit_code == 2
    assert "--port" in done.stderr


@contextmanager
def running(command, log, **options):
    """A program that runs until the block ends."""
    with open(log, "w+") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=stream, **options)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(seconds(30))


def require_proxy(collector, port, log):
    """A report goes through a proxy, nothing of it is logged, and its page is where it should."""

    def answers():
        try:
            return asked("GET", "/s/")[0] == 200
        except OSError:
            return False

    def asked(method, path, body=None):
        direct = collector.port
        collector.port = port
        try:
            return collector.ask(method, path, body)
        finally:
            collector.port = direct

    until(answers)
    assert b"<html" in asked("GET", "/s/")[1]
    assert asked("POST", "/s/reports", message()) == (200, b'{"kept":true}')
    assert asked("GET", "/s")[0] == 308
    assert asked("GET", "/s/health") == (200, b'{"ok":true}')
    for _ in range(10):
        assert asked("POST", "/s/reports", message())[0] == 200
    assert "127.0.0.1" not in log.read_text()


@needs["nginx"]
def test_nginx_passes_reports_on(tmp_path):
    port = free_port()
    log = tmp_path / "log"
    with Collecting(tmp_path) as collector:
        server = replaced(
            text_of("nginx"),
            ("listen 443 ssl;", f"listen 127.0.0.1:{port};"),
            ("127.0.0.1:8000", f"127.0.0.1:{collector.port}"),
        )
        server = re.sub(r"(?m)^ *ssl_.*\n", "", server)
        places = "".join(
            f"{name}_temp_path {tmp_path}/{name};"
            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        user = "user root;" if hasattr(os, "getuid") and os.getuid() == 0 else ""
        conf = tmp_path / "nginx.conf"
        conf.write_text(
            f"{user} daemon off; pid {tmp_path}/pid; error_log stderr; events {{}} "
            f"http {{ {places} access_log {tmp_path}/requests;\n{server} }}"
        )
        with running([shutil.which("nginx"), "-p", tmp_path, "-c", conf], log):
            require_proxy(collector, port, log)
        requests = tmp_path / "requests"
        assert not requests.exists() or requests.read_text() == ""
        assert collector.end()[1].startswith("ldpopt: stopped; 11 reports")


@needs["caddy"]
def test_caddy_passes_reports_on(tmp_path):
    port = free_port()
    log = tmp_path / "log"
    with Collecting(tmp_path) as collector:
        text = replaced(
            text_of("caddy"),
            ("survey.example.org {", f"http://127.0.0.1:{port} {{"),
            ("127.0.0.1:8000", f"127.0.0.1:{collector.port}"),
            ("    log {", "    admin off\n    log {"),
        )
        (tmp_path / "Caddyfile").write_text(text)
        command = [shutil.which("caddy"), "run", "--config", "Caddyfile", "--adapter", "caddyfile"]
        home = {**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
        with running(command, log, cwd=tmp_path, env=home):
            require_proxy(collector, port, log)
            assert collector.end()[1].startswith("ldpopt: stopped; 11 reports")


def test_the_commands_of_the_container_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = text_of("dockerfile")
    for name in ("FROM", "RUN", "COPY", "USER", "VOLUME", "EXPOSE"):
        assert re.search(rf"(?m)^{name} ", text)
    command, check = (
        json.loads(re.search(rf"(?m)^{name}(\[.*\])$", text)[1])
        for name in ("CMD ", "HEALTHCHECK CMD ")
    )
    require_command(command[1:], "/survey.json", tmp_path)
    with Collecting(tmp_path) as collector:
        words = [sys.executable, *check[1:-1]]
        words.append(replaced(check[-1], (":8000/", f":{collector.port}/")))
        assert subprocess.run(words, capture_output=True, check=False).returncode == 0
        collector.path.rename(tmp_path / "away")
        assert subprocess.run(words, capture_output=True, check=False).returncode == 1
