"""The protocol eras that tests try, and the one that shows the way where both would do the same."""

from typing import Final

import pytest

ERAS: Final = ("handshake", "per-request")
IN_SHORT: Final = ("handshake", pytest.param("per-request", marks=pytest.mark.campaign))
"""For tests of what is printed and asked, whose traffic other tests try in both eras."""
