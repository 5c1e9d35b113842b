"""A save of everything that an account has in OpenAI Evals; knows no database."""
