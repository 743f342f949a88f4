"""Chat completions by a model, in the ways of real servers."""

import base64
import io
import json
import threading
from dataclasses import dataclass, field
from typing import Any

import torch
from PIL import Image

from tests.evaluators.scripted_server import json_response


@dataclass
class ModelServer:
    """Chat completions by a model; the fields are what real servers differ in."""

    model: Any
    processor: Any
    continues: str = "field"
    """A last assistant message: "field" as vLLM with continue_final_message, "always"; "behind" puts it behind the
    generation prompt without the template's blank and returns it with the reply, as llama.cpp does."""
    refuses_fields: bool = False
    """Answers 422 to fields that OpenAI does not document, as `transformers serve` does."""

    serves: str | None = None
    """The name under which it answers; None is that asked for, with a revision, as `transformers serve` has it."""
    owner: str = ""
    """The name with which the server signs its list of models, as vLLM and llama.cpp do; "" for no list."""
    tokenizes: str | None = None
    """Whose form `/tokenize` has: "vllm", "llama.cpp"; None refuses it."""

    asked: list[dict[str, Any]] = field(default_factory=list)
    lock: Any = field(default_factory=threading.Lock)

    def respond(self, request):
        body = json.loads(request.data)
        unknown = {"continue_final_message", "add_generation_prompt"} & body.keys()
        if self.refuses_fields and unknown:
            return json_response({"detail": f"Unexpected fields in the request: {unknown}"}, 422)
        with self.lock, torch.no_grad():
            self.asked.append(body)
            return json_response(self._complete(body))

    def models(self, request):
        served = [{"id": "tiny", "object": "model", "owned_by": self.owner}]
        return json_response({"object": "list", "data": served}) if self.owner else json_response({}, 404)

    def tokenize(self, request):
        body = json.loads(request.data)

        tokens = self.processor.tokenizer.tokenize(body["content" if self.tokenizes == "llama.cpp" else "prompt"])
        if self.tokenizes == "vllm":
            return json_response({"count": len(tokens), "tokens": list(range(len(tokens))), "token_strs": tokens})
        if self.tokenizes == "llama.cpp":
            return json_response({"tokens": [{"id": 1, "piece": token.replace("\u0120", " ")} for token in tokens]})
        return json_response({"detail": "Not Found"}, 404)

    def _complete(self, body):
        inputs = self._inputs(body)
        temperature = body.get("temperature")
        sampled = {"do_sample": True, "temperature": temperature, "top_k": 0} if temperature else {}
        count = body.get("n", 1)
        output = self.model.generate(
            **inputs,
            **(sampled or {"do_sample": False}),
            num_return_sequences=count if sampled else 1,
            max_new_tokens=body.get("max_tokens") or body["max_completion_tokens"],
            return_dict_in_generate=True,
            output_logits=True,
        )
        new = output.sequences[:, inputs["input_ids"].shape[1] :].tolist()
        choices = [self._choice(tokens, output.logits, row, body) for row, tokens in enumerate(new)]
        if self.continues == "behind" and body["messages"][-1]["role"] == "assistant":
            for choice in choices:
                choice["message"]["content"] = body["messages"][-1]["content"] + choice["message"]["content"]
        prompt = inputs["input_ids"].shape[1]
        usage = {"prompt_tokens": prompt, "completion_tokens": sum(map(len, new)), "total_tokens": 0}
        answer = {"choices": choices if sampled else choices * count, "usage": usage}
        if body.get("prompt_logprobs") is not None:
            answer["prompt_logprobs"] = self._prompt_logprobs(inputs)
        return {**answer, "model": self.serves or f"{body['model']}@main"}

    def _inputs(self, body):
        messages, images = [], []
        for message in body["messages"]:
            parts = message["content"]
            parts = [{"type": "text", "text": parts}] if isinstance(parts, str) else parts
            for part in parts:
                if part["type"] == "image_url":
                    data = base64.b64decode(part["image_url"]["url"].partition(";base64,")[2], validate=True)
                    images.append(Image.open(io.BytesIO(data)).convert("RGB"))
            kinds = {"text": "text", "image_url": "image"}
            content = [{"type": kinds[part["type"]], "text": part.get("text")} for part in parts]
            messages.append({"role": message["role"], "content": content})
        text = self.processor.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        if messages[-1]["role"] == "assistant" and self.continues == "behind":
            text = text.replace("ASSISTANT: ", "ASSISTANT:")
        continues = self.continues in ("always", "behind") or body.get("continue_final_message")
        if messages[-1]["role"] == "assistant" and not continues:
            text += "</s>ASSISTANT:"
        return self.processor(text=text, images=images or None, return_tensors="pt")

    def _prompt_logprobs(self, inputs):
        """As vLLM returns them: none for the first token, then the token itself."""
        logprobs = torch.log_softmax(self.model(**inputs).logits[0].float(), dim=-1)
        ids = inputs["input_ids"][0].tolist()
        return [None, *({str(id): {"logprob": logprobs[index, id].item()}} for index, id in enumerate(ids[1:]))]

    def _choice(self, tokens, logits, row, body):
        decode = self.processor.tokenizer.decode
        message = {"role": "assistant", "content": decode(tokens, skip_special_tokens=True)}
        choice = {"index": row, "message": message, "finish_reason": "stop"}
        if body.get("logprobs"):
            content = []
            for index, token in enumerate(tokens):
                logprobs = torch.log_softmax(logits[index][row].float(), dim=-1)
                top = logprobs.topk(body["top_logprobs"])
                pairs = zip(top.indices.tolist(), top.values.tolist(), strict=True)
                likeliest = [{"token": decode([i]), "logprob": value, "bytes": None} for i, value in pairs]
                chosen = {"token": decode([token]), "logprob": logprobs[token].item(), "bytes": None}
                content.append({**chosen, "top_logprobs": likeliest})
            choice["logprobs"] = {"content": content}
        return choice
