# Asks for the price of a request, then sends the request with a limit of its cost.
# A request above its limit is refused before a provider is called, and costs nothing.
import os

import httpx

router = httpx.Client(
    base_url=os.environ.get("ROUTER_URL", "http://127.0.0.1:8080"),
    headers={"Authorization": f"Bearer {os.environ['API_KEY']}"},
    timeout=300,
)
order = {"model": os.environ.get("MODEL", "sandbox/image"), "prompt": "a lighthouse at dawn", "n": 2}

quote = router.post("/v1/quote/images/generations", json=order).raise_for_status().json()
print(f"quoted {quote['cost']} USD, {'exact' if quote['is_exact'] else 'at most'}")

for limit in (quote["cost"], quote["cost"] / 2):
    headers = {"x-max-cost": f"{limit:.4f}"}
    answer = router.post("/v1/compat/images/generations", json=order, headers=headers)
    if answer.status_code == 200:
        print(f"limit {limit:.4f} USD: charged {answer.json()['cost']} USD")
    else:
        print(f"limit {limit:.4f} USD: refused, {answer.json()['error']['code']}")
