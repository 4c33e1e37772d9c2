"""What holds for every test.

Hypothesis has no deadlines: machines are shared, and a slow one is no failure. SIGINT is heard even if the tests were
started in the background of a script, where a shell has it ignored and every program that is started inherits that.
"""

from __future__ import annotations

import signal

from hypothesis import settings

settings.register_profile("llmc", deadline=None)
settings.load_profile("llmc")
signal.signal(signal.SIGINT, signal.default_int_handler)
