# The official client for Python: chat completions, responses, their helpers for tools and structured output.
import json

import openai
from pydantic import BaseModel

import settings as ask
from settings import MODEL, say

client = openai.OpenAI(base_url=ask.BASE_URL, api_key=ask.API_KEY)


class Person(BaseModel):
    name: str
    age: int


def chat():
    completion = client.chat.completions.create(model=MODEL, messages=say(ask.QUESTION))
    stream = client.chat.completions.create(model=MODEL, messages=say(ask.QUESTION), stream=True)
    pieces = [chunk.choices[0].delta.content for chunk in stream if chunk.choices and chunk.choices[0].delta.content]
    tools = [{"type": "function", "function": ask.WEATHER}]
    asked = client.chat.completions.create(model=MODEL, messages=say(ask.TOOL_QUESTION), tools=tools)
    calling = asked.choices[0].message
    call = calling.tool_calls[0]
    result = {"role": "tool", "tool_call_id": call.id, "content": ask.TOOL_ANSWER}
    told = client.chat.completions.create(
        model=MODEL, messages=[*say(ask.TOOL_QUESTION), calling, result], tools=tools
    )
    parsed = client.chat.completions.parse(
        model=MODEL, messages=say(ask.PERSON_QUESTION), response_format=Person
    )
    seen = client.chat.completions.create(model=ask.VISION_MODEL, messages=[ask.PICTURE_MESSAGE])
    return {
        "text": completion.choices[0].message.content,
        "pieces": pieces,
        "tool": {
            "name": call.function.name,
            "arguments": json.loads(call.function.arguments),
            "answer": told.choices[0].message.content,
        },
        "structured": parsed.choices[0].message.parsed.model_dump(),
        "vision": seen.choices[0].message.content,
    }


def responses():
    response = client.responses.create(model=MODEL, input=ask.QUESTION)
    stream = client.responses.create(model=MODEL, input=ask.QUESTION, stream=True)
    pieces = [event.delta for event in stream if event.type == "response.output_text.delta"]
    tools = [{"type": "function", "strict": True, **ask.WEATHER}]
    asked = client.responses.create(model=MODEL, input=ask.TOOL_QUESTION, tools=tools)
    [call] = asked.output
    output = {"type": "function_call_output", "call_id": call.call_id, "output": ask.TOOL_ANSWER}
    told = client.responses.create(model=MODEL, input=[*say(ask.TOOL_QUESTION), call, output], tools=tools)
    parsed = client.responses.parse(model=MODEL, input=ask.PERSON_QUESTION, text_format=Person)
    seen = client.responses.create(model=ask.VISION_MODEL, input=[ask.PICTURE_ITEM])
    return {
        "text": response.output_text,
        "pieces": pieces,
        "tool": {"name": call.name, "arguments": json.loads(call.arguments), "answer": told.output_text},
        "structured": parsed.output_parsed.model_dump(),
        "vision": seen.output_text,
    }


def unknown_model():
    try:
        client.chat.completions.create(model="no/such", messages=say("hi"))
    except openai.NotFoundError as error:
        return error.status_code


def aborted_after():
    with client.chat.completions.create(model=MODEL, messages=say(ask.LONG_QUESTION), stream=True) as stream:
        for chunk in stream:
            if chunk.choices[0].delta.content:
                return chunk.choices[0].delta.content


ask.report(
    {
        "chat": chat(),
        "responses": responses(),
        "unknownModel": unknown_model(),
        "abortedAfter": aborted_after(),
    }
)
