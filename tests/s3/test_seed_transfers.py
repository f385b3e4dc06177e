"""`roar put` and `roar get` as roar-cli's page types them."""

from project import Project
from server import KEY_ID, SECRET, Server


def test_what_the_page_types(project: Project, server: Server) -> None:
    server.add_bucket("bucket")
    project.env |= {"GS_ACCESS_KEY_ID": KEY_ID, "GS_SECRET_ACCESS_KEY": SECRET,
                    "GS_ENDPOINT_URL": server.endpoint}
    project.roar("run", "-q", "sh", "-c", "echo 1 > model.pt")
    project.roar("run", "-q", "sh", "-c", "cat model.pt > report")
    project.write("checkpoints/a", b"a")
    project.write("checkpoints/b/c", b"c")

    model, message = "s3://bucket/models/model.pt", ("-m", "Final model")
    project.roar("put", "model.pt", "s3://bucket/models/", *message, "--dry-run")
    project.roar("put", "model.pt", "s3://bucket/models/", *message)
    project.roar("put", "./checkpoints/", "s3://bucket/checkpoints/", "-m",
                 "All checkpoints", "--no-tag")
    project.roar("put", "./checkpoints/", "gs://bucket/run-42/", "-m",
                 "All checkpoints")
    project.roar("put", "@2", "s3://bucket/outputs/", "-m", "Step 2 outputs")
    project.roar("put", "s3://bucket/all/", "-m", "all outputs of the session")
    project.roar("put", "model.pt", "s3://bucket/models/", status=2)

    digest = project.blake3("model.pt")
    project.roar("get", model, "./local/", "-m", "again", "--hash", digest)
    project.roar("get", model, "./local/", status=1)
    project.roar("get", model, "./local/", "--force", "--dry-run")
    project.roar("get", model, "./local/", "--force")
    project.roar("get", model, "other", "--hash", "0" * 64, status=1)
    project.roar("get", "s3://bucket/checkpoints/", "./there/")
    project.roar("get", "gs://bucket/run-42/a")
    assert (project.root / "a").read_bytes() == b"a"
    assert (project.root / "there" / "b" / "c").read_bytes() == b"c"
    assert (project.root / "local" / "model.pt").read_text() == "1\n"
    shown = project.roar("show", model).stdout
    assert digest[:12] in shown
