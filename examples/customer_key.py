# Creates an API key for one customer, with a spend limit for each month. The router refuses a request above the limit, also
# when several requests arrive at the same time. MANAGEMENT_KEY is the management key of the account.
import os

import httpx

router = httpx.Client(base_url=os.environ.get("ROUTER_URL", "http://127.0.0.1:8080"), timeout=300)
management = {"Authorization": f"Bearer {os.environ['MANAGEMENT_KEY']}"}

limits = {"name": "customer 4711", "spend_limit": 0.03, "spend_limit_period": "month"}
created = router.post("/v1/api-keys", headers=management, json=limits).raise_for_status().json()
print(f"key {created['id']}: {created['spend_limit']} USD each {created['spend_limit_period']}")

# The customer spends until the limit refuses a request.
order = {"model": os.environ.get("MODEL", "sandbox/image"), "prompt": "a lighthouse at dawn"}
customer = {"Authorization": f"Bearer {created['key']}"}
while True:
    answer = router.post("/v1/compat/images/generations", headers=customer, json=order)
    if answer.status_code != 200:
        print(f"refused, {answer.json()['error']['code']}")
        break
    print(f"charged {answer.json()['cost']} USD")

# After the end of the contract: the key stops at once.
router.delete(f"/v1/api-keys/{created['id']}", headers=management).raise_for_status()
print("deleted")
