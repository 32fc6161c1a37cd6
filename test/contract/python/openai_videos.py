# The official client for Python: a video as a job, from a prompt and a picture.
import base64
import json
import os
import time

import openai

client = openai.OpenAI(base_url=os.environ["BASE_URL"], api_key=os.environ["API_KEY"], max_retries=0)


def status_of(call):
    try:
        call()
        return 200
    except openai.APIStatusError as error:
        return error.status_code


picture = ("first.png", base64.b64decode(os.environ["PICTURE"]), "image/png")
video = client.videos.create(
    model="sandbox/video-from-image", prompt="a kite #slow", seconds="2", input_reference=picture
)
early = status_of(lambda: client.videos.download_content(video.id))
statuses = [video.status]
while video.status in ("queued", "in_progress"):
    time.sleep(0.2)
    video = client.videos.retrieve(video.id)
    if statuses[-1] != video.status:
        statuses.append(video.status)
content = client.videos.download_content(video.id).read()
listed = any(each.id == video.id for each in client.videos.list(limit=1))
removed = client.videos.delete(video.id)
report = {
    "statuses": statuses,
    "seconds": video.seconds,
    "progress": video.progress,
    "beginning": content[:12].hex(),
    "size": len(content),
    "listed": listed,
    "deleted": removed.deleted,
    "afterwards": status_of(lambda: client.videos.retrieve(video.id)),
    "early": early,
}
print(json.dumps(report))
