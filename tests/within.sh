#!/bin/sh
# Runs a command that has to end within so many seconds: tests/within.sh 60 ruff check. Where it does
# not, a sentence says so.
seconds=$1
shift
# In the foreground, so that Ctrl-C reaches the command.
timeout --foreground --kill-after=20 "$seconds" "$@"
status=$?
case $status in
    124 | 137) echo "make: ended after its limit of $seconds s, or killed: $*" >&2 ;;
esac
exit $status
