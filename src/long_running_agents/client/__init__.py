"""The client: what a running server offers, as Python. It opens no home and loads no model."""

from long_running_agents.client.client import Client as Client
from long_running_agents.client.link import Address as Address

__all__ = ["Address", "Client"]
