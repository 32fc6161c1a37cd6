# Calls each operation through the client that openapi-python-client generates, and prints what each answered as one
# line of JSON: the type of the answer, and some of its fields.
import io
import json
import os
import time

from router_client import AuthenticatedClient, Client, models, types
from router_client.api.billing import get_v1_activity, get_v1_credits
from router_client.api.catalog import (
    get_v1_compat_models,
    get_v1_compat_models_path,
    get_v1_models,
    get_v1_models_path,
)
from router_client.api.keys import (
    delete_v1_api_keys_id,
    get_v1_api_keys,
    get_v1_budgets,
    patch_v1_budgets_id,
    post_v1_api_keys,
    post_v1_auth_test,
    post_v1_budgets,
)
from router_client.api.media_generation import (
    delete_v1_account_webhooks_receivers_id,
    delete_v1_compat_videos_id,
    delete_v1_generations_id,
    get_media_name,
    get_v1_account_webhooks_deliveries,
    get_v1_account_webhooks_receivers,
    get_v1_account_webhooks_secrets,
    get_v1_compat_videos,
    get_v1_compat_videos_id,
    get_v1_compat_videos_id_content,
    get_v1_generations,
    get_v1_generations_id,
    get_v1_generations_id_text,
    get_v1_webhooks_deliveries,
    post_v1_account_webhooks_deliveries_id_redeliver,
    post_v1_account_webhooks_receivers,
    post_v1_account_webhooks_secrets,
    post_v1_compat_images_edits,
    post_v1_compat_images_generations,
    post_v1_compat_videos,
    post_v1_compat_videos_generations,
    post_v1_quote_images_edits,
    post_v1_quote_images_generations,
    post_v1_quote_videos,
    post_v1_quote_videos_generations,
    post_v1_webhooks_deliveries_id_redeliver,
)
from router_client.api.text_proxy import (
    post_v1_compat_chat_completions,
    post_v1_compat_responses,
    post_v1_quote_chat_completions,
    post_v1_quote_responses,
)

URL = os.environ["BASE_URL"]
client = AuthenticatedClient(base_url=URL, token=os.environ["API_KEY"], raise_on_unexpected_status=True, timeout=120)
manager = AuthenticatedClient(base_url=URL, token=os.environ["MANAGEMENT_KEY"], raise_on_unexpected_status=True)
stranger = Client(base_url=URL, raise_on_unexpected_status=True)
answers = {}


def call(operation, *args, who=client, **options):
    answer = operation.sync_detailed(*args, client=who, **options)
    name = operation.__name__.rsplit(".", 1)[-1]
    answers[name] = {"status": int(answer.status_code), "type": type(answer.parsed).__name__}
    return answer.parsed if answer.parsed is not None else answer.content


def body(kind, operation, fields):
    return getattr(models, f"{operation}{kind}Body").from_dict(fields)


CHAT = {"model": "sandbox/chat", "messages": [{"role": "user", "content": "Is the sea blue?"}]}
RESPONSE = {"model": "sandbox/chat", "input": "Is the sea blue?"}
IMAGE = {"model": "sandbox/image", "prompt": "a fox", "output_format": "png"}
VIDEO = {"model": "sandbox/video", "prompt": "a fox", "seconds": 1}

chat = call(post_v1_compat_chat_completions, body=body("", "PostV1CompatChatCompletions", CHAT))
response = call(post_v1_compat_responses, body=body("", "PostV1CompatResponses", RESPONSE))
call(post_v1_quote_chat_completions, body=body("", "PostV1QuoteChatCompletions", CHAT))
call(post_v1_quote_responses, body=body("", "PostV1QuoteResponses", RESPONSE))

image = call(post_v1_compat_images_generations, body=body("Json", "PostV1CompatImagesGenerations", IMAGE))
name = image.data[0].url.rsplit("/", 1)[-1]
# The generator reads no pictures: their answer has no type, and is unexpected to a strict client.
picture = call(get_media_name, name, who=Client(base_url=URL))
form = models.PostV1CompatImagesEditsFilesBody(
    model="sandbox/image-edit",
    prompt="at night",
    image=types.File(payload=io.BytesIO(picture), file_name="fox.png", mime_type="image/png"),
)
edited = call(post_v1_compat_images_edits, body=form)
video = call(post_v1_compat_videos_generations, body=models.PostV1CompatVideosGenerationsJsonBody(**VIDEO))
call(post_v1_quote_images_generations, body=body("Json", "PostV1QuoteImagesGenerations", IMAGE))
call(post_v1_quote_images_edits, body=body("Json", "PostV1QuoteImagesEdits", IMAGE))
call(post_v1_quote_videos_generations, body=models.PostV1QuoteVideosGenerationsJsonBody(**VIDEO))

job = call(post_v1_compat_videos, body=models.PostV1CompatVideosJsonBody(**VIDEO, callback_url=os.environ["CALLBACK_URL"]))
call(post_v1_quote_videos, body=models.PostV1QuoteVideosJsonBody(**VIDEO))
while job.status in ("queued", "in_progress"):
    time.sleep(0.2)
    job = call(get_v1_compat_videos_id, job.id)
jobs = call(get_v1_compat_videos)
# The generator reads no videos either.
film = call(get_v1_compat_videos_id_content, job.id, who=AuthenticatedClient(base_url=URL, token=os.environ["API_KEY"]))
deliveries = call(get_v1_webhooks_deliveries)
call(post_v1_webhooks_deliveries_id_redeliver, deliveries.data[0].id)

receiver = call(
    post_v1_account_webhooks_receivers,
    who=manager,
    body=models.PostV1AccountWebhooksReceiversBody(url=os.environ["CALLBACK_URL"]),
)
call(get_v1_account_webhooks_receivers, who=manager)
call(delete_v1_account_webhooks_receivers_id, receiver.id, who=manager)
call(post_v1_account_webhooks_secrets, who=manager)
call(get_v1_account_webhooks_secrets, who=manager)
managed = call(get_v1_account_webhooks_deliveries, who=manager)
call(post_v1_account_webhooks_deliveries_id_redeliver, managed.data[0].id, who=manager)

log = call(get_v1_generations, limit=10)
generation = call(get_v1_generations_id, [each for each in log.data if each.kind != "text"][-1].id)
call(delete_v1_generations_id, generation.id)
call(delete_v1_compat_videos_id, job.id)

listed = call(get_v1_models, who=stranger)
found = call(get_v1_models_path, "sandbox/image", who=stranger)
chats = call(get_v1_compat_models, who=stranger)
call(get_v1_compat_models_path, "sandbox/chat", who=stranger)

budget = call(post_v1_budgets, who=manager, body=models.PostV1BudgetsBody.from_dict({"name": "many keys", "spend_limit": 5}))
call(get_v1_budgets, who=manager)
call(patch_v1_budgets_id, budget.id, who=manager, body=models.PatchV1BudgetsIdBody.from_dict({"spend_limit": 6}))
saving = {"name": "generated", "saves_texts": True, "budget_id": budget.id}
minted = call(post_v1_api_keys, who=manager, body=models.PostV1ApiKeysBody.from_dict(saving))
saver = AuthenticatedClient(base_url=URL, token=minted.key, raise_on_unexpected_status=True, timeout=120)
post_v1_compat_chat_completions.sync(client=saver, body=body("", "PostV1CompatChatCompletions", CHAT))
# Prompts and answers are saved after the answer.
saved = []
while not saved or get_v1_generations_id_text.sync_detailed(saved[0].id, client=saver).status_code != 200:
    time.sleep(0.2)
    saved = get_v1_generations.sync(client=saver, limit=1).data
call(get_v1_generations_id_text, saved[0].id, who=saver)
keys = call(get_v1_api_keys, who=manager)
call(delete_v1_api_keys_id, minted.id, who=manager)
call(post_v1_auth_test)
credit = call(get_v1_credits)
call(get_v1_activity)
unknown = post_v1_compat_images_generations.sync(
    client=client, body=body("Json", "PostV1CompatImagesGenerations", {**IMAGE, "model": "no/such"})
)

report = {
    "answers": answers,
    "chat": chat.choices[0].message.content,
    "response": response.output[0]["content"][0]["text"],
    "picture": picture[1:4].decode(),
    "made": [len(edited.data), len(video.data)],
    "film": film[4:8].decode(),
    "job": [job.status, job.id in [each.id for each in jobs.data]],
    "log": len(log.data),
    "models": [found.id, len(listed.data) > 0, all(model.type_.value == "text" for model in chats.data)],
    "keys": [minted.key.startswith("gr_live_"), minted.id in [key.id for key in keys.data]],
    "remaining": credit.remaining_credits,
    "unknown": unknown.error.code,
}
print(json.dumps(report))
