"""The way to other servers: checked addresses, bounded replies, and kinds of providers.

`checked_transport` is the only way out, for agents and tools over HTTP and for the SDKs of model
APIs. It looks a name up once, refuses every address that is neither public nor permitted, connects
to exactly the address that it checked, and limits what comes back.
"""
