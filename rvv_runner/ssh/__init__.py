"""Boards over SSH: paramiko connects, and a small shell script on the board runs each job."""
