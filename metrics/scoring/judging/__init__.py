"""Judges: prompt templates, parsing of replies, and votes.

A judge is a callable `judge(messages, n)` that returns n replies to one conversation.
"""
