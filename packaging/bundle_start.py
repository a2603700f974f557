"""Runs in a bundle before PyInstaller's own hooks, which set variables that Qt reads.

What the user has set is kept, for the programs that are started (see `bundle`).
"""

import os

for name in ("QT_PLUGIN_PATH", "QML2_IMPORT_PATH", "QML_IMPORT_PATH"):
    if name in os.environ:
        os.environ.setdefault(f"{name}_ORIG", os.environ[name])
