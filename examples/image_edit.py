# Creates a picture, then edits it. Each answer has the address of the hosted file and the cost in USD.
import os

import httpx
from openai import OpenAI

router = os.environ.get("ROUTER_URL", "http://127.0.0.1:8080")
client = OpenAI(api_key=os.environ["API_KEY"], base_url=f"{router}/v1/compat")

created = client.images.generate(
    model=os.environ.get("MODEL", "sandbox/image"),
    prompt="a lighthouse at dawn",
)
print(f"created {created.data[0].url}, {created.cost} USD")

# A hosted file needs no key: the address is the secret.
picture = httpx.get(created.data[0].url).raise_for_status()
edited = client.images.edit(
    model=os.environ.get("EDIT_MODEL", "sandbox/image-edit"),
    prompt="the same at night",
    image=[("lighthouse.webp", picture.content, picture.headers["content-type"])],
)
print(f"edited {edited.data[0].url}, {edited.cost} USD")
