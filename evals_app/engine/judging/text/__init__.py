"""Texts as judges read and quote them: transcripts, blocks, words and languages."""
