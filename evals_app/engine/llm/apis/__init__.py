"""The APIs of models: their SDKs, and their requests and replies as plain data."""
