# LiteLLM as a client for images: one that it generates, and an edit of it.
import base64
import io
import os

# Else it fetches its list of prices from elsewhere.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm

import settings as ask

ROUTER = {"api_base": ask.BASE_URL, "api_key": ask.API_KEY}

image = litellm.image_generation(model="openai/sandbox/image", prompt="a fox", response_format="b64_json", **ROUTER)
picture = base64.b64decode(image.data[0].b64_json)
file = io.BytesIO(picture)
file.name = "fox.webp"
edit = litellm.image_edit(
    model="openai/sandbox/image-edit", prompt="at night", image=file, response_format="b64_json", **ROUTER
)
edited = base64.b64decode(edit.data[0].b64_json)
ask.report({"formats": [bytes[8:12].decode() for bytes in (picture, edited)]})
