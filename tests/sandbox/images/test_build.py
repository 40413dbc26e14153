"""Building: once for each set of inputs, with a record, and with clear words where it fails."""

import pytest

from execgym.sandbox.images import ImageError, build_images, image_states


def test_an_image_is_not_built_again_from_the_same_inputs(base_image):
    state = image_states()[0]
    (image,) = build_images(("base",), base=state.record.base)
    assert not image.built
    assert image.record == state.record


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(ImageError, match="'nothing' is not one of base, data, network"):
        build_images(("nothing",))
