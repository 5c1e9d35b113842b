"""Metrics made of many small verdicts: RAG metrics and G-Eval."""
