// Creates a picture, then edits it. Each answer has the address of the hosted file and the cost in USD.
import OpenAI, { toFile } from "openai";

const router = process.env.ROUTER_URL ?? "http://127.0.0.1:8080";
const client = new OpenAI({ apiKey: process.env.API_KEY, baseURL: `${router}/v1/compat` });

const created = await client.images.generate({
  model: process.env.MODEL ?? "sandbox/image",
  prompt: "a lighthouse at dawn",
});
console.log(`created ${created.data[0].url}, ${created.cost} USD`);

// A hosted file needs no key: the address is the secret.
const picture = await fetch(created.data[0].url);
const edited = await client.images.edit({
  model: process.env.EDIT_MODEL ?? "sandbox/image-edit",
  prompt: "the same at night",
  image: [await toFile(picture, "lighthouse.webp", { type: picture.headers.get("content-type") })],
});
console.log(`edited ${edited.data[0].url}, ${edited.cost} USD`);
