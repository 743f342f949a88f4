"""Answers of servers that several families of the list need."""

from werkzeug import Response

GOOD = {"choices": [{"message": {"content": " B. "}}], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}


def body(content, status=200):
    return Response(content, status, content_type="application/json")


def scored(*likeliest):
    top = [{"token": token, "logprob": value} for token, value in likeliest]
    return {"choices": [{"message": {"content": ""}, "logprobs": {"content": [{**top[0], "top_logprobs": top}]}}]}
