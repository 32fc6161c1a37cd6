// The official client for Node: a video as a job, from a prompt and a picture.
import OpenAI, { APIError, toFile } from "openai";

const { BASE_URL: baseURL, API_KEY: apiKey, PICTURE } = process.env;
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });

async function statusOf(work: Promise<unknown>): Promise<number | undefined> {
  try {
    await work;
    return 200;
  } catch (error) {
    if (error instanceof APIError) return error.status;
    throw error;
  }
}

const input_reference = await toFile(Buffer.from(PICTURE ?? "", "base64"), "first.png", {
  type: "image/png",
});
const wanted = {
  model: "sandbox/video-from-image",
  prompt: "a kite #slow",
  seconds: "2" as "4",
  input_reference,
};
let video = await client.videos.create(wanted);
const early = await statusOf(client.videos.downloadContent(video.id));
const statuses: string[] = [video.status];
while (video.status === "queued" || video.status === "in_progress") {
  await new Promise((resolve) => setTimeout(resolve, 200));
  video = await client.videos.retrieve(video.id);
  if (statuses.at(-1) !== video.status) statuses.push(video.status);
}
const bytes = Buffer.from(await (await client.videos.downloadContent(video.id)).arrayBuffer());
let listed = false;
for await (const each of client.videos.list({ limit: 1 })) listed ||= each.id === video.id;
const { deleted } = await client.videos.delete(video.id);
const afterwards = await statusOf(client.videos.retrieve(video.id));
const { seconds, progress } = video;
const [beginning, size] = [bytes.toString("hex", 0, 12), bytes.length];
const report = { statuses, seconds, progress, beginning, size, listed, deleted, afterwards, early };
process.stdout.write(`${JSON.stringify(report)}\n`);
