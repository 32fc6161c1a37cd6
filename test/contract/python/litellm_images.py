# LiteLLM as a client for images: one that it generates, and an edit of it. It sends no response_format to models that it
# does not know, so the answers have addresses.
import io
import os
import urllib.request

# Else it fetches its list of prices from elsewhere.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm

import settings as ask

ROUTER = {"api_base": ask.BASE_URL, "api_key": ask.API_KEY}


def fetched(answer):
    with urllib.request.urlopen(answer.data[0].url) as file:
        return file.read()


picture = fetched(litellm.image_generation(model="openai/sandbox/image", prompt="a fox", **ROUTER))
file = io.BytesIO(picture)
file.name = "fox.webp"
edited = fetched(litellm.image_edit(model="openai/sandbox/image-edit", prompt="at night", image=file, **ROUTER))
ask.report({"formats": [bytes[8:12].decode() for bytes in (picture, edited)]})
