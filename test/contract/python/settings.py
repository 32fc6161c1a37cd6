# What the clients are asked, and where the router is. `../node/settings.ts` says the same.
import json
import os

BASE_URL = os.environ["BASE_URL"]
API_KEY = os.environ["API_KEY"]
PICTURE = os.environ["PICTURE"]
LONG_QUESTION = os.environ["LONG_QUESTION"]

MODEL = "sandbox/chat"
VISION_MODEL = "sandbox/chat-vision"
QUESTION = "Is the sea blue?"
TOOL_QUESTION = "What is the weather like in Paris today?"
TOOL_ANSWER = "18 degrees and sunny"
PERSON_QUESTION = "Meet Jane, who is 54."
PICTURE_QUESTION = "What is in this picture?"

WEATHER = {
    "name": "get_weather",
    "description": "The weather of a city",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
}

PICTURE_MESSAGE = {
    "role": "user",
    "content": [
        {"type": "text", "text": PICTURE_QUESTION},
        {"type": "image_url", "image_url": {"url": PICTURE}},
    ],
}
PICTURE_ITEM = {
    "role": "user",
    "content": [
        {"type": "input_text", "text": PICTURE_QUESTION},
        {"type": "input_image", "image_url": PICTURE, "detail": "auto"},
    ],
}


def say(content):
    return [{"role": "user", "content": content}]


def report(value):
    print(json.dumps(value))
