"""Checking images: one of ours is sound, and one that was tampered with is told."""

import dataclasses
import io
import uuid

import pytest

from execgym.sandbox.images import ImageError, check_images, checking, docker_client, image_states


def found(findings):
    return {finding.what: finding.passed for finding in findings}


def test_an_image_of_ours_is_sound(base_image):
    findings = check_images(("base",))
    assert len(findings) == 7
    assert all(finding.passed for finding in findings), findings


def test_an_image_that_is_not_here_says_how_to_make_it(base_image, monkeypatch):
    states = [state for state in image_states() if state.record is None]
    if not states:
        pytest.fail("every image is here, which this test cannot use")
    (finding,) = check_images((states[0].template.name,))
    assert not finding.passed
    assert f"execgym images build {states[0].template.name}" in finding.detail


def test_an_unknown_name_is_refused():
    with pytest.raises(ImageError, match="'nothing' is not one of"):
        check_images(("nothing",))


def test_an_image_that_was_tampered_with_is_told(base_image, monkeypatch):
    tag = f"execgym-test:{uuid.uuid4().hex}"
    dockerfile = (
        f"FROM {base_image}\n"
        "RUN cp /bin/ls /bin/own && chmod u+s /bin/own\n"
        "RUN rm -r /usr/lib/python3*/sqlite3 /bin/sh\n"
        'RUN ["python3", "-c", "import re; path = \'/var/lib/dpkg/status\'; '
        "text = open(path).read(); "
        "open(path, 'w').write(re.sub('Version: ', 'Version: 9', text, count=1))\"]\n"
    )
    real = image_states
    with docker_client() as client:
        image, _ = client.images.build(fileobj=io.BytesIO(dockerfile.encode()), tag=tag, rm=True)

        def tampered():
            states = real()
            record = dataclasses.replace(states[0].record, digest=str(image.id))
            return (dataclasses.replace(states[0], record=record, current=False), *states[1:])

        monkeypatch.setattr(checking, "image_states", tampered)
        try:
            passed = found(check_images(("base",)))
        finally:
            client.images.remove(tag, force=True)
    assert passed == {
        "inputs": False,
        "record": False,
        "python": True,
        "modules": False,
        "programs": False,
        "privileges": False,
        "sandbox": False,
    }
