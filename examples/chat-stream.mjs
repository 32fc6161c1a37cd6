// Streams a chat completion. The last chunk has the usage and the cost in USD.
import OpenAI from "openai";

const router = process.env.ROUTER_URL ?? "http://127.0.0.1:8080";
const client = new OpenAI({ apiKey: process.env.API_KEY, baseURL: `${router}/v1/compat` });

const stream = await client.chat.completions.create({
  model: process.env.MODEL ?? "sandbox/chat",
  messages: [{ role: "user", content: "Describe a lighthouse at dawn." }],
  stream: true,
});
for await (const { choices, usage } of stream) {
  process.stdout.write(choices[0]?.delta?.content ?? "");
  if (usage) console.log(`\n${usage.total_tokens} tokens, ${usage.cost} USD`);
}
