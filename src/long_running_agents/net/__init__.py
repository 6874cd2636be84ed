"""Addresses that may be reached, the proxy that checks them, and sockets that listen."""
