"""Where keys come from: every source hands out keys that the test server verifies."""

import hashlib
import http.server
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import signature
from project import Project
from server import KEY_ID, SECRET, Server
from signature import Credential

KEYS = {"AccessKeyId": KEY_ID, "SecretAccessKey": SECRET, "Token": "",
        "Expiration": "2099-01-01T00:00:00Z", "Code": "Success"}


class Sources(http.server.BaseHTTPRequestHandler):
    """STS, SSO, the container service and EC2 metadata in one."""

    protocol_version = "HTTP/1.1"
    asked: list[str] = []
    forms: list[dict[str, list[str]]] = []
    fails = 0  # the next so many requests get 503
    credentials: dict[str, Credential] = {}
    token = "session-token"

    def log_message(self, *args: object) -> None:
        pass

    def reply(self, body: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def fail(self) -> bool:
        if not Sources.fails:
            return False
        Sources.fails -= 1
        self.reply("", 503)
        return True

    def do_PUT(self) -> None:
        self.asked.append("PUT " + self.path)
        good = self.headers.get("X-aws-ec2-metadata-token-ttl-seconds")
        self.reply("the-token" if good else "", 200 if good else 400)

    def do_GET(self) -> None:
        self.asked.append("GET " + self.path)
        if self.fail():
            return
        path = urlsplit(self.path).path
        if path.startswith("/latest/meta-data/"):
            self.metadata(path)
        elif path == "/container":
            good = self.headers.get("Authorization") == "container-token"
            self.reply(json.dumps(KEYS) if good else "no",
                       200 if good else 401)
        elif path == "/federation/credentials":
            good = self.headers.get("x-amz-sso_bearer_token") == "sso-token"
            self.reply(json.dumps({"roleCredentials": {
                "accessKeyId": KEY_ID, "secretAccessKey": SECRET,
                "sessionToken": "", "expiration": 4_000_000_000_000}})
                if good else "{}", 200 if good else 401)
        else:
            self.reply("", 404)

    def metadata(self, path: str) -> None:
        if self.headers.get("X-aws-ec2-metadata-token") != "the-token":
            self.reply("", 401)
        elif path.endswith("/security-credentials/"):
            self.reply("the role\n")
        elif path.endswith("/the%20role"):
            self.reply(json.dumps(KEYS))
        else:
            self.reply("", 404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        form = parse_qs(body)
        action = form["Action"][0]
        self.asked.append(action)
        self.forms.append(form)
        if self.fail():
            return
        if action == "AssumeRole" and not self.is_signed(body):
            self.reply("<ErrorResponse><Error><Code>SignatureDoesNotMatch"
                       "</Code><Message>no</Message></Error></ErrorResponse>",
                       403)
            return
        self.reply(
            f"<{action}Response><{action}Result><Credentials>"
            f"<AccessKeyId>{KEY_ID}</AccessKeyId>"
            f"<SecretAccessKey>{SECRET}</SecretAccessKey>"
            f"<SessionToken>{self.token}</SessionToken>"
            "<Expiration>2099-01-01T00:00:00Z</Expiration>"
            f"</Credentials></{action}Result></{action}Response>")

    def is_signed(self, body: str) -> bool:
        """STS signs like S3, with the digest of the form as payload."""
        digest = hashlib.sha256(body.encode()).hexdigest()
        fields = list(self.headers.items())
        claim = signature.claim_of_header(
            [*fields, ("x-amz-content-sha256", digest)],
            self.headers["Authorization"])
        key = signature.signing_key(SECRET, *claim.scope[:3])
        canonical = signature.canonical_request(
            "POST", "/", fields, claim.names, digest)
        return claim.scope[2] == "sts" and claim.signature == \
            signature.mac_hex(key, signature.string_to_sign(
                claim.date, "/".join(claim.scope), canonical))


@pytest.fixture
def sources() -> Iterator[str]:
    Sources.asked, Sources.forms, Sources.fails = [], [], 0
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sources)
    web.daemon_threads = True
    threading.Thread(target=web.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{web.server_address[1]}"
    web.shutdown()


@pytest.fixture
def bare(project: Project) -> Project:
    """A project without keys in its environment."""
    del project.env["AWS_ACCESS_KEY_ID"], project.env["AWS_SECRET_ACCESS_KEY"]
    project.write("f", b"x")
    (project.home / ".aws").mkdir()
    return project


def put(project: Project, server: Server, token: str = "") -> None:
    """An upload works, with keys that the server has checked."""
    if token:
        server.credentials[KEY_ID] = Credential(SECRET, token)
    project.roar("put", "f", "s3://data/f", "-m", "m")
    assert server.buckets["data"].find("f").data == b"x"


def config(project: Project, text: str) -> None:
    (project.home / ".aws/config").write_text(text)


def test_the_shared_file(bare: Project, server: Server) -> None:
    (bare.home / ".aws/credentials").write_text(
        f"[default]\naws_access_key_id = wrong\n[work]\n"
        f"aws_access_key_id = {KEY_ID}\naws_secret_access_key = {SECRET}\n")
    bare.env["AWS_PROFILE"] = "work"
    put(bare, server)


def test_a_program(bare: Project, server: Server) -> None:
    keys = json.dumps({"Version": 1, "AccessKeyId": KEY_ID,
                       "SecretAccessKey": SECRET})
    config(bare, f"[default]\ncredential_process = echo '{keys}'\n")
    put(bare, server)


def test_a_role_of_another_profile(bare: Project, server: Server,
                                   sources: str) -> None:
    config(bare, "[profile role]\nrole_arn = arn:aws:iam::1:role/r\n"
                 "source_profile = base\nexternal_id = a&b\n"
                 f"[profile base]\naws_access_key_id = {KEY_ID}\n"
                 f"aws_secret_access_key = {SECRET}\n")
    bare.env |= {"AWS_PROFILE": "role", "AWS_ENDPOINT_URL_STS": sources}
    Sources.fails = 1
    put(bare, server, Sources.token)
    assert Sources.asked == ["AssumeRole", "AssumeRole"]
    assert Sources.forms[0]["RoleArn"] == ["arn:aws:iam::1:role/r"]
    assert Sources.forms[0]["ExternalId"] == ["a&b"]


def test_a_web_identity(bare: Project, server: Server, sources: str) -> None:
    token = bare.root.parent / "token"
    token.write_text("jwt.of.the+pod\n")
    bare.env |= {"AWS_WEB_IDENTITY_TOKEN_FILE": str(token),
                 "AWS_ROLE_ARN": "arn:aws:iam::1:role/pod",
                 "AWS_ENDPOINT_URL_STS": sources}
    put(bare, server, Sources.token)
    assert Sources.forms[0]["WebIdentityToken"] == ["jwt.of.the+pod"]


def test_a_container(bare: Project, server: Server, sources: str) -> None:
    bare.env |= {
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": sources + "/container",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN": "container-token"}
    put(bare, server)
    token = bare.root.parent / "token"
    token.write_text("container-token\n")
    bare.env["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = str(token)
    bare.env["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "wrong"
    put(bare, server)


def test_a_container_elsewhere_gets_no_token(bare: Project) -> None:
    bare.env |= {
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://192.0.2.1/container",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN": "container-token"}
    done = bare.roar("put", "f", "s3://data/f", "-m", "m", status=1)
    assert "neither https nor an address of this machine" in done.stderr


def test_a_machine_of_ec2(bare: Project, server: Server, sources: str) -> None:
    bare.env["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = sources + "/"
    del bare.env["AWS_EC2_METADATA_DISABLED"]
    put(bare, server)
    assert Sources.asked[0] == "PUT /latest/api/token"
    assert len(Sources.asked) == 3


def write_sso(project: Project, seconds: float) -> None:
    folder = project.home / ".aws/sso/cache"
    folder.mkdir(parents=True, exist_ok=True)
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ",
                         time.gmtime(time.time() + seconds))
    name = hashlib.sha1(b"corp").hexdigest()
    (folder / f"{name}.json").write_text(
        json.dumps({"accessToken": "sso-token", "expiresAt": when}))


def test_a_login_of_sso(bare: Project, server: Server, sources: str) -> None:
    config(bare, "[profile sso]\nsso_session = corp\nsso_account_id = 123\n"
                 "sso_role_name = Dev\n[sso-session corp]\n"
                 "sso_start_url = https://corp\nsso_region = eu-west-1\n")
    bare.env |= {"AWS_PROFILE": "sso", "AWS_ENDPOINT_URL_SSO": sources}
    write_sso(bare, 600)
    put(bare, server)
    assert Sources.asked == [
        "GET /federation/credentials?role_name=Dev&account_id=123"]
    write_sso(bare, -1)
    done = bare.roar("put", "f", "s3://data/f", "-m", "m", status=1)
    assert "aws sso login --profile sso" in done.stderr


def test_keys_are_asked_for_once(bare: Project, server: Server,
                                 sources: str) -> None:
    for i in range(100):
        bare.write(f"many/{i}", b"x")
    bare.env |= {
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": sources + "/container",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN": "container-token"}
    bare.roar("put", "many", "s3://data/many", "-m", "m")
    assert len(server.seen("put")) == 100
    assert len(Sources.asked) == 1


def test_no_secret_is_printed(bare: Project, tmp_path: Path) -> None:
    (bare.home / ".aws/credentials").write_text(
        "[default]\naws_access_key_id = AKIAX\naws_secret_access_key = "
        "very-secret\n")
    done = bare.roar("put", "f", "s3://data/f", "-m", "m", status=1)
    assert "InvalidAccessKeyId" in done.stderr
    assert "very-secret" not in done.stderr + done.stdout


def test_without_keys_the_remedy_is_named(bare: Project) -> None:
    done = bare.roar("put", "f", "s3://data/f", "-m", "m", status=1)
    assert "AWS_ACCESS_KEY_ID" in done.stderr
