"""The pages of agents: the form, the wizard for web addresses, the playground, and topics.

The wizard guesses the places of text and tool calls in a pasted reply, and asks the agent through
the driver that runs use. Keys that are pasted are sent and never stored.
"""
