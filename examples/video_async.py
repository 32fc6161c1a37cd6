# Orders a video without an open connection: 202, then a look at the address in the header Location until the video exists.
# With an Idempotency-Key a repetition is safe: the same key is charged once in 24 hours.
import os
import time
import uuid

import httpx

router = httpx.Client(
    base_url=os.environ.get("ROUTER_URL", "http://127.0.0.1:8080"),
    headers={"Authorization": f"Bearer {os.environ['API_KEY']}"},
)

ordered = router.post(
    "/v1/compat/videos/generations",
    headers={"Prefer": "respond-async", "Idempotency-Key": str(uuid.uuid4())},
    json={
        "model": os.environ.get("MODEL", "sandbox/video"),
        "prompt": "a lighthouse at dawn, waves",
        "seconds": 2,
    },
).raise_for_status()

video = ordered.json()
while video["status"] == "running":
    time.sleep(1)
    video = router.get(ordered.headers["location"]).raise_for_status().json()
    print(video["status"], "" if video["progress"] is None else f"{video['progress']} %")
if video["status"] != "succeeded":
    raise SystemExit(f"{video['status']}: {video['error']}")
print(f"{video['data'][0]['url']}, {video['cost']} USD")
