# Streams a chat completion. The last chunk has the usage and the cost in USD.
import os

from openai import OpenAI

router = os.environ.get("ROUTER_URL", "http://127.0.0.1:8080")
client = OpenAI(api_key=os.environ["API_KEY"], base_url=f"{router}/v1/compat")

stream = client.chat.completions.create(
    model=os.environ.get("MODEL", "sandbox/chat"),
    messages=[{"role": "user", "content": "Describe a lighthouse at dawn."}],
    stream=True,
)
for chunk in stream:
    if chunk.choices and chunk.choices[0].delta.content:
        print(chunk.choices[0].delta.content, end="", flush=True)
    if chunk.usage:
        print(f"\n{chunk.usage.total_tokens} tokens, {chunk.usage.cost} USD")
