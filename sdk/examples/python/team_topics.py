#!/usr/bin/env python3
"""Lets every principal use the topics and groups that begin with its name and a dot:
User:billing may use billing.invoices. About everything else it has no opinion."""
import mortise_plugin as mortise

TOPIC, GROUP = 2, 3
OPERATIONS = range(3, 16)  # those that a client can do


@mortise.authorizer("teams", version="1.0.0")
def teams(client, action):
    """Topics and groups belong to the principal whose name they begin with."""
    known = action.resource in (TOPIC, GROUP) and action.operation in OPERATIONS
    if known and action.name.startswith(client.principal_name + "."):
        return mortise.ALLOW, 60
    return mortise.ABSTAIN, 5


mortise.main()
