import sys

try:
    from digitwise.cli import main

    sys.exit(main())
finally:
    # Python keeps in mind a Ctrl-C that came inside exec, as when dataclasses are made during an import, and started
    # with -m it would die by it in the end although it was handled. The next exec makes it forget.
    exec("")
