"""The way to other servers: checked addresses, bounded replies, and kinds of providers."""
