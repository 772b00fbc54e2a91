import sys

from digitwise.cli import main

sys.exit(main())
