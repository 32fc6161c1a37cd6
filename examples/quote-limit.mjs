// Asks for the price of a request, then sends the request with a limit of its cost.
// A request above its limit is refused before a provider is called, and costs nothing.
const router = process.env.ROUTER_URL ?? "http://127.0.0.1:8080";
const order = { model: process.env.MODEL ?? "sandbox/image", prompt: "a lighthouse at dawn", n: 2 };

async function post(path, headers = {}) {
  const answer = await fetch(`${router}${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${process.env.API_KEY}`,
      "content-type": "application/json",
      ...headers,
    },
    body: JSON.stringify(order),
  });
  return { status: answer.status, body: await answer.json() };
}

const quote = await post("/v1/quote/images/generations");
if (quote.status !== 200) throw new Error(quote.body.error.message);
const { cost, is_exact: isExact } = quote.body;
console.log(`quoted ${cost} USD, ${isExact ? "exact" : "at most"}`);

for (const limit of [cost, cost / 2]) {
  const { status, body } = await post("/v1/compat/images/generations", { "x-max-cost": limit.toFixed(4) });
  if (status === 200) console.log(`limit ${limit.toFixed(4)} USD: charged ${body.cost} USD`);
  else console.log(`limit ${limit.toFixed(4)} USD: refused, ${body.error.code}`);
}
