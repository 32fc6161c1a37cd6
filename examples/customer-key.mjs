// Creates an API key for one customer, with a spend limit for each month. The router refuses a request above the limit, also
// when several requests arrive at the same time. MANAGEMENT_KEY is the management key of the account.
const router = process.env.ROUTER_URL ?? "http://127.0.0.1:8080";

async function call(method, path, key, body) {
  const answer = await fetch(`${router}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body && { "content-type": "application/json" }) },
    body: body && JSON.stringify(body),
  });
  return { status: answer.status, body: await answer.json() };
}

const created = await call("POST", "/v1/api-keys", process.env.MANAGEMENT_KEY, {
  name: "customer 4711",
  spend_limit: 0.03,
  spend_limit_period: "month",
});
if (created.status !== 201) throw new Error(created.body.error.message);
const { id, key, spend_limit: limit, spend_limit_period: period } = created.body;
console.log(`key ${id}: ${limit} USD each ${period}`);

// The customer spends until the limit refuses a request.
const order = { model: process.env.MODEL ?? "sandbox/image", prompt: "a lighthouse at dawn" };
for (let status = 200; status === 200; ) {
  const answer = await call("POST", "/v1/compat/images/generations", key, order);
  status = answer.status;
  console.log(status === 200 ? `charged ${answer.body.cost} USD` : `refused, ${answer.body.error.code}`);
}

// After the end of the contract: the key stops at once.
const { body } = await call("DELETE", `/v1/api-keys/${id}`, process.env.MANAGEMENT_KEY);
console.log(body.deleted ? "deleted" : body);
