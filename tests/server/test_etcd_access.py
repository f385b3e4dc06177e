"""etcd that wants to know who asks: TLS, certificates, users with passwords."""

import os
import subprocess

import pytest

import etcd as etcd_module
from coordinator import PATIENCE_S, PROGRAM, control, wait_until
from etcd import Candidate, Etcd

pytestmark = pytest.mark.skipif(
    not etcd_module.is_there(), reason="etcd-server or etcd-client is missing")

PASSWORD = "a long and secret word"


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True,
                   timeout=PATIENCE_S)


KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


class Authority:
    """Who vouches for certificates: a folder with its own and those it signed."""

    def __init__(self, folder):
        self.folder = folder
        self.ca = self.path("ca.pem")
        openssl("req", "-x509", *KEY, "-subj", "/CN=authority", "-days", "2",
                "-keyout", self.path("ca.key"), "-out", self.ca)

    def path(self, name):
        return os.path.join(self.folder, name)

    def sign(self, name, names="IP:127.0.0.1,DNS:localhost"):
        """(certificate, key)"""
        cert, key, request = (self.path(name + end)
                              for end in (".pem", ".key", ".csr"))
        openssl("req", *KEY, "-subj", f"/CN={name}", "-addext",
                f"subjectAltName={names}", "-keyout", key, "-out", request)
        extensions = self.path(name + ".ext")
        with open(extensions, "w", encoding="ascii") as f:
            f.write(f"subjectAltName={names}\n")
        openssl("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey",
                self.path("ca.key"), "-CAcreateserial", "-days", "2",
                "-extfile", extensions, "-out", cert)
        return cert, key


@pytest.fixture(name="authority", scope="module")
def _authority(tmp_path_factory):
    return Authority(str(tmp_path_factory.mktemp("ca")))


@pytest.fixture(name="safe", scope="module")
def _safe(authority):
    """etcd that speaks TLS with those alone who show a certificate."""
    cert, key = authority.sign("etcd")
    own, own_key = authority.sign("ctl")
    with Etcd(scheme="https",
              more=("--cert-file", cert, "--key-file", key, "--client-cert-auth",
                    "--trusted-ca-file", authority.ca),
              ctl_options=("--cacert", authority.ca, "--cert", own, "--key",
                           own_key)) as etcd:
        yield etcd


def works(server):
    server.wait_until_it_leads()
    client = server.client()
    client.control.KvSet(control.KvSetRequest(job_id="j", key="k", value=b"v"),
                         timeout=PATIENCE_S)
    return client.control.KvGet(control.KvGetRequest(job_id="j", key="k"),
                                timeout=PATIENCE_S).entry.value == b"v"


def says(server, text):
    """It goes on, and tells what is wrong."""
    wait_until(lambda: server.logged(text), text)
    assert server.process.poll() is None
    server.end()


def refused(*arguments, env=None):
    """What the program says when it does not even begin."""
    result = subprocess.run(
        [PROGRAM, "--listen", "127.0.0.1:0", *arguments], capture_output=True,
        text=True, timeout=PATIENCE_S, check=False,
        env=dict(os.environ, **(env or {})))
    assert result.returncode == 1, result
    return result.stderr.splitlines()[-1]


# ---- TLS ----

def test_with_a_certificate_it_is_let_in(safe, authority):
    cert, key = authority.sign("coordinator")
    assert works(safe.coordinator("--etcd-ca", authority.ca, "--etcd-cert", cert,
                                  "--etcd-key", key, "--cluster", "good"))
    name = safe.urls.replace("127.0.0.1", "localhost")
    server = Candidate("--etcd", name, "--etcd-ca", authority.ca, "--etcd-cert",
                       cert, "--etcd-key", key, "--cluster", "by-name")
    try:
        assert works(server)
    finally:
        server.end()


def test_a_large_state_goes_through(safe, authority):
    """Values of many records of TLS, there and back."""
    cert, key = authority.sign("large")
    options = ("--etcd-ca", authority.ca, "--etcd-cert", cert, "--etcd-key", key,
               "--cluster", "large")
    first = safe.coordinator(*options)
    first.wait_until_it_leads()
    value = bytes(range(256)) * 250
    for i in range(50):
        first.client().control.KvSet(control.KvSetRequest(
            job_id="j", key=f"k{i}", value=value), timeout=PATIENCE_S)
    first.kill()
    second = safe.coordinator(*options)
    second.wait_until_it_leads()
    client = second.client()
    for i in range(50):
        assert client.control.KvGet(control.KvGetRequest(
            job_id="j", key=f"k{i}"), timeout=PATIENCE_S).entry.value == value


def test_without_a_certificate_it_is_not(safe, authority):
    says(safe.coordinator("--etcd-ca", authority.ca), "certificate")


def test_who_vouches_for_etcd_is_asked_for(safe):
    says(safe.coordinator(), "certificate")


def test_the_name_must_be_in_the_certificate(authority):
    cert, key = authority.sign("number", "IP:127.0.0.1")
    with Etcd(scheme="https", more=("--cert-file", cert, "--key-file", key),
              ctl_options=("--cacert", authority.ca)) as etcd:
        url = etcd.urls.replace("127.0.0.1", "localhost")
        says(Candidate("--etcd", url, "--etcd-ca", authority.ca),
             "hostname mismatch")


def test_etcd_without_tls_is_named(authority):
    with Etcd() as etcd:
        url = etcd.urls.replace("http:", "https:")
        says(Candidate("--etcd", url, "--etcd-ca", authority.ca),
             "etcd cannot be reached: 127.0.0.1")


def test_files_that_are_wrong_are_named(authority, tmp_path):
    url = ("--etcd", "https://127.0.0.1:1")
    none = str(tmp_path / "none.pem")
    assert none in refused(*url, "--etcd-ca", none)
    cert, _ = authority.sign("one")
    _, key = authority.sign("other")
    text = refused(*url, "--etcd-ca", authority.ca, "--etcd-cert", cert,
                   "--etcd-key", key)
    assert key in text and cert in text
    text = refused("--etcd", "http://127.0.0.1:1", "--etcd-ca", authority.ca)
    assert "without TLS" in text and "https://" in text


# ---- users ----

@pytest.fixture(name="guarded", scope="module")
def _guarded():
    """etcd whose users may do what their roles say; 'roar' may use /roar/ alone."""
    with Etcd() as etcd:
        etcd.ctl("user", "add", "root:toor")
        etcd.ctl("user", "grant-role", "root", "root", check=False)
        etcd.ctl("user", "add", f"roar:{PASSWORD}")
        etcd.ctl("role", "add", "coordinators")
        etcd.ctl("role", "grant-permission", "--prefix=true", "coordinators",
                 "readwrite", "/roar/")
        etcd.ctl("user", "grant-role", "roar", "coordinators")
        etcd.ctl("user", "add", f"guest:{PASSWORD}")
        etcd.ctl("auth", "enable")
        etcd.ctl_options = ("--user", "root:toor")
        yield etcd


@pytest.fixture(name="file")
def _file(tmp_path):
    path = tmp_path / "password"
    path.write_text(PASSWORD + "\n", encoding="ascii")
    path.chmod(0o600)
    return str(path)


def test_a_user_is_let_in(guarded, file):
    first = guarded.coordinator("--cluster", "u", "--etcd-user", "roar",
                                "--etcd-password-file", file)
    assert works(first)
    second = guarded.coordinator("--cluster", "u", "--etcd-user", "roar",
                                 env={"ROAR_ETCD_PASSWORD": PASSWORD})
    wait_until(lambda: second.logged("a standby"))
    first.kill()
    assert works(second)
    for server in (first, second):
        assert not server.logged(PASSWORD)


def test_a_token_that_etcd_forgot_is_asked_for_again(guarded, file):
    """Whoever changes users or roles makes all tokens old."""
    server = guarded.coordinator("--cluster", "t", "--etcd-user", "roar",
                                 "--etcd-password-file", file)
    assert works(server)
    guarded.ctl("role", "add", "another")
    assert works(server)
    guarded.ctl("role", "delete", "another")
    assert works(server)


def test_others_are_told_why_not(guarded, file):
    says(guarded.coordinator(), "etcd does not let us in")
    says(guarded.coordinator("--etcd-user", "nobody", "--etcd-password-file",
                             file), "authentication failed")
    says(guarded.coordinator("--etcd-user", "guest", "--etcd-password-file",
                             file), "permission denied")


def test_a_password_is_private(file):
    url = ("--etcd", "http://127.0.0.1:1", "--etcd-user", "roar")
    text = refused(*url)
    assert "ROAR_ETCD_PASSWORD" in text and "--etcd-password-file" in text
    os.chmod(file, 0o644)
    text = refused(*url, "--etcd-password-file", file)
    assert "chmod 600" in text and PASSWORD not in text
