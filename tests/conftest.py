"""What holds for every test: Ctrl-C works, also where the tests were started in the background.

A shell without job control starts background commands with SIGINT ignored, and Python then leaves
it so: tests that interrupt themselves would wait for ever.
"""

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
