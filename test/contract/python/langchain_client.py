# LangChain's client for OpenAI's APIs: chat completions, and responses where it is told to use them.
import openai
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

import settings as ask


class Person(BaseModel):
    """Somebody."""

    name: str
    age: int


@tool
def get_weather(city: str) -> str:
    """The weather of a city"""
    return ask.TOOL_ANSWER


def open_model(model, use_responses_api):
    return ChatOpenAI(
        model=model, base_url=ask.BASE_URL, api_key=ask.API_KEY, use_responses_api=use_responses_api
    )


def api(use_responses_api):
    model = open_model(ask.MODEL, use_responses_api)
    answer = model.invoke(ask.QUESTION)
    pieces = [chunk.text for chunk in model.stream(ask.QUESTION) if chunk.text]
    helped = model.bind_tools([get_weather])
    asked = HumanMessage(ask.TOOL_QUESTION)
    calling = helped.invoke([asked])
    call = calling.tool_calls[0]
    told = helped.invoke([asked, calling, get_weather.invoke(call)])
    person = model.with_structured_output(Person).invoke(ask.PERSON_QUESTION)
    picture = HumanMessage(content=ask.PICTURE_MESSAGE["content"])
    seen = open_model(ask.VISION_MODEL, use_responses_api).invoke([picture])
    return {
        "text": answer.text,
        "pieces": pieces,
        "tool": {"name": call["name"], "arguments": call["args"], "answer": told.text},
        "structured": person.model_dump(),
        "vision": seen.text,
    }


def unknown_model():
    try:
        open_model("no/such", False).invoke("hi")
    except openai.NotFoundError as error:
        return error.status_code


def aborted_after():
    stream = open_model(ask.MODEL, False).stream(ask.LONG_QUESTION)
    for chunk in stream:
        if chunk.text:
            stream.close()
            return chunk.text


ask.report(
    {
        "chat": api(False),
        "responses": api(True),
        "unknownModel": unknown_model(),
        "abortedAfter": aborted_after(),
    }
)
