# LiteLLM as a client: its own functions, with the router as a server that speaks OpenAI's APIs.
import json
import os

# Else it fetches its list of prices from elsewhere.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
from pydantic import BaseModel

import settings as ask
from settings import say

MODEL = f"openai/{ask.MODEL}"
VISION_MODEL = f"openai/{ask.VISION_MODEL}"
ROUTER = {"api_base": ask.BASE_URL, "api_key": ask.API_KEY}


class Person(BaseModel):
    name: str
    age: int


def text_of(completion):
    return completion.choices[0].message.content


def output_of(response):
    parts = [part for item in response.output if item.type == "message" for part in item.content]
    return "".join(part.text for part in parts)


def chat():
    completion = litellm.completion(model=MODEL, messages=say(ask.QUESTION), **ROUTER)
    stream = litellm.completion(model=MODEL, messages=say(ask.QUESTION), stream=True, **ROUTER)
    pieces = [chunk.choices[0].delta.content for chunk in stream if chunk.choices[0].delta.content]
    tools = [{"type": "function", "function": ask.WEATHER}]
    asked = litellm.completion(model=MODEL, messages=say(ask.TOOL_QUESTION), tools=tools, **ROUTER)
    calling = asked.choices[0].message
    call = calling.tool_calls[0]
    result = {"role": "tool", "tool_call_id": call.id, "content": ask.TOOL_ANSWER}
    told = litellm.completion(
        model=MODEL, messages=[*say(ask.TOOL_QUESTION), calling, result], tools=tools, **ROUTER
    )
    person = litellm.completion(
        model=MODEL, messages=say(ask.PERSON_QUESTION), response_format=Person, **ROUTER
    )
    seen = litellm.completion(model=VISION_MODEL, messages=[ask.PICTURE_MESSAGE], **ROUTER)
    return {
        "text": text_of(completion),
        "pieces": pieces,
        "tool": {
            "name": call.function.name,
            "arguments": json.loads(call.function.arguments),
            "answer": text_of(told),
        },
        "structured": Person.model_validate_json(text_of(person)).model_dump(),
        "vision": text_of(seen),
    }


def responses():
    response = litellm.responses(model=MODEL, input=ask.QUESTION, **ROUTER)
    stream = litellm.responses(model=MODEL, input=ask.QUESTION, stream=True, **ROUTER)
    pieces = [event.delta for event in stream if event.type == "response.output_text.delta"]
    tools = [{"type": "function", "strict": True, **ask.WEATHER}]
    asked = litellm.responses(model=MODEL, input=ask.TOOL_QUESTION, tools=tools, **ROUTER)
    [call] = asked.output
    told = litellm.responses(
        model=MODEL,
        tools=tools,
        input=[
            *say(ask.TOOL_QUESTION),
            {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments},
            {"type": "function_call_output", "call_id": call.call_id, "output": ask.TOOL_ANSWER},
        ],
        **ROUTER,
    )
    person = litellm.responses(model=MODEL, input=ask.PERSON_QUESTION, text_format=Person, **ROUTER)
    seen = litellm.responses(model=VISION_MODEL, input=[ask.PICTURE_ITEM], **ROUTER)
    return {
        "text": output_of(response),
        "pieces": pieces,
        "tool": {"name": call.name, "arguments": json.loads(call.arguments), "answer": output_of(told)},
        "structured": Person.model_validate_json(output_of(person)).model_dump(),
        "vision": output_of(seen),
    }


def unknown_model():
    try:
        litellm.completion(model="openai/no/such", messages=say("hi"), **ROUTER)
    except litellm.NotFoundError as error:
        return error.status_code


def aborted_after():
    stream = litellm.completion(model=MODEL, messages=say(ask.LONG_QUESTION), stream=True, **ROUTER)
    for chunk in stream:
        piece = chunk.choices[0].delta.content
        if piece:
            stream.completion_stream.close()
            return piece


ask.report(
    {
        "chat": chat(),
        "responses": responses(),
        "unknownModel": unknown_model(),
        "abortedAfter": aborted_after(),
    }
)
