// Orders a video without an open connection: 202, then a look at the address in the header Location until the video exists.
// With an Idempotency-Key a repetition is safe: the same key is charged once in 24 hours.
import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";

const router = process.env.ROUTER_URL ?? "http://127.0.0.1:8080";
const authorization = `Bearer ${process.env.API_KEY}`;

const ordered = await fetch(`${router}/v1/compat/videos/generations`, {
  method: "POST",
  headers: {
    authorization,
    "content-type": "application/json",
    prefer: "respond-async",
    "idempotency-key": randomUUID(),
  },
  body: JSON.stringify({
    model: process.env.MODEL ?? "sandbox/video",
    prompt: "a lighthouse at dawn, waves",
    seconds: 2,
  }),
});
if (ordered.status !== 202) throw new Error(await ordered.text());

let video = await ordered.json();
while (video.status === "running") {
  await setTimeout(1_000);
  const answer = await fetch(new URL(ordered.headers.get("location"), router), {
    headers: { authorization },
  });
  if (!answer.ok) throw new Error(await answer.text());
  video = await answer.json();
  console.log(video.status, video.progress === null ? "" : `${video.progress} %`);
}
if (video.status !== "succeeded") throw new Error(video.error?.message ?? video.status);
console.log(`${video.data[0].url}, ${video.cost} USD`);
