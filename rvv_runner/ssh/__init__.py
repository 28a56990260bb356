"""Boards over SSH: paramiko reaches them, a small shell script on the board runs each job."""
