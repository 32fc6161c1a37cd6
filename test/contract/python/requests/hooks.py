# Hooks of schemathesis: real models in the place of invented ones, and a tally of the answers.
# Of the requests that generate, some have plain fields around invented text, so that many of them succeed.
import atexit
import json
import os
import random
import threading
from collections import Counter

import schemathesis

MODELS = {
    "images": ["sandbox/image", "sandbox/image-free"],
    "videos": ["sandbox/video"],
    "text": ["sandbox/chat", "sandbox/chat-vision"],
}
# Each seventh request keeps its invented fields.
INVENTED = 7

answers = Counter()
lock = threading.Lock()
draw = random.Random(7)


def kind_of(path):
    if "/images/" in path:
        return "images"
    if "/videos/" in path:
        return "videos"
    return "text" if path.endswith(("/chat/completions", "/responses")) else None


def plain(path, text):
    stream = draw.random() < 0.3
    if path.endswith("/chat/completions"):
        return {"messages": [{"role": "user", "content": text}], "stream": stream}
    if path.endswith("/responses"):
        return {"input": text or "?", "stream": stream}
    fields = {
        "prompt": text.strip() or "a fox",
        "size": draw.choice(["auto", "1280x720"]),
        "response_format": draw.choice(["url", "b64_json", "b64_ephemeral"]),
    }
    if "/videos/" in path:
        return {**fields, "seconds": draw.choice(["auto", 1, 2])}
    output_format = draw.choice(["webp", "jpeg", "png"])
    # Names of the choices only: a form has no numbers, and its values are texts.
    streamed = {"stream": "true", "partial_images": draw.choice(["0", "2"])} if stream else {"stream": "false"}
    return {**fields, "output_format": output_format, **streamed}


def texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from texts(member)
    elif isinstance(value, list):
        for member in value:
            yield from texts(member)


@schemathesis.hook
def before_load_schema(context, raw_schema):
    # OpenAPI 3.1 describes a stream of events as one text; schemathesis takes it for the schema of each event.
    for item in raw_schema["paths"].values():
        for operation in item.values():
            for answer in operation["responses"].values():
                answer.get("content", {}).get("text/event-stream", {}).pop("schema", None)


@schemathesis.hook
def before_call(context, case, kwargs):
    path = case.operation.path
    name = "MANAGEMENT_KEY" if path.startswith(("/v1/api-keys", "/v1/account")) else "API_KEY"
    case.headers = {**(case.headers or {}), "Authorization": f"Bearer {os.environ[name]}"}
    kind = kind_of(path)
    if kind is None or not isinstance(case.body, dict) or "model" not in case.body:
        return
    with lock:
        model, is_invented = draw.choice(MODELS[kind]), draw.randrange(INVENTED) == 0
        fields = plain(path, max(texts(case.body), key=len, default="")[:2000])
    if is_invented:
        case.body["model"] = model
        return
    if case.media_type == "application/json" and "stream" in fields:
        fields["stream"] = fields["stream"] in (True, "true")
        if "partial_images" in fields:
            fields["partial_images"] = int(fields["partial_images"])
    case.body = {"model": model, **fields}
    for header in ("Idempotency-Key", "x-max-cost", "Prefer"):
        case.headers.pop(header, None)


@schemathesis.hook
def after_call(context, case, response):
    operation = f"{case.operation.method.upper()} {case.operation.path}"
    with lock:
        answers[f"{case.method.upper()} {operation} {response.status_code}"] += 1


@atexit.register
def write():
    with open(os.environ["TALLY"], "w", encoding="utf-8") as file:
        json.dump(dict(sorted(answers.items())), file)
