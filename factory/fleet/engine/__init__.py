"""Queues jobs on DBOS, which is used as a queue only; no other room knows it.

A job is a DBOS workflow without steps: what a dead worker had begun is begun again, and replays
from git and from the replies on record. DBOS gives the queue's claims, their fencing (each claim
has a token, and the outcome of a former owner is discarded), turns between plans, and cancelling.
"""
