// Images through the router, from a provider that answers at once with the same picture. The smallest possible picture
// shows the cost of a request, a large one that of a usual picture. Beside them, the cost of converting alone.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createImageConverter, createMediaGates } from "@gr/media-generation/simulated";
import sharp from "sharp";
import { closedLoop, type Target } from "./load.ts";
import { cpuMicros, forgetPeak, peakMegabytes } from "./processes.ts";
import { medians, type Row, table } from "./table.ts";

const CONNECTIONS = 4;
const WARM_SECONDS = 2;
const CONVERSIONS = 20;
const FORMATS = ["url", "b64_json"] as const;
/** Pictures of providers are compressible, and less than a plain one. */
const NOISE = { type: "gaussian", mean: 128, sigma: 12 } as const;

/** A provider of one picture, in OpenAI's wire format. */
export interface PictureProvider {
  readonly url: string;
  show(picture: Buffer): void;
  close(): Promise<void>;
}

export async function startPictureProvider(): Promise<PictureProvider> {
  let body = "";
  const server = createServer((request, response) => {
    request.resume();
    request.once("end", () => response.writeHead(200, { "content-type": "application/json" }).end(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    show: (picture) => {
      body = JSON.stringify({ created: 1, data: [{ b64_json: picture.toString("base64") }] });
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export interface ImageBench {
  readonly pid: number;
  readonly target: Target;
  readonly provider: PictureProvider;
  readonly rounds: number;
  readonly seconds: number;
}

export async function compareImages(bench: ImageBench): Promise<string> {
  const small = await drawPicture(1);
  const large = await drawPicture(1_024);
  const rows: Row[] = [];
  for (const [name, picture] of [
    ["1x1", small],
    ["1024x1024", large],
  ] as const) {
    bench.provider.show(picture);
    for (const format of FORMATS) {
      rows.push({ name: `${name}, ${format}`, values: await measureFormat(bench, format) });
    }
  }
  const alone = await convertAlone(large);
  rows.push({ name: "converting 1024x1024 alone", values: [alone.perSecond, alone.cpuMs] });
  const size = (large.length / 1024 / 1024).toFixed(1);
  const title = `images, closed loop, ${CONNECTIONS} connections, PNG (the large one has ${size} MB) to WebP`;
  return table(title, ["images/s", "CPU ms/img", "p50 ms", "p99 ms", "peak MB", "failed"], rows);
}

async function measureFormat(
  { pid, target, rounds, seconds }: ImageBench,
  format: (typeof FORMATS)[number],
): Promise<number[]> {
  const images = imageTarget(target, format);
  await closedLoop(images, CONNECTIONS, WARM_SECONDS);
  const measured: number[][] = [];
  for (let round = 0; round < rounds; round += 1) {
    forgetPeak(pid);
    const before = cpuMicros(pid);
    const { requests, perSecond, p50, p99, failures } = await closedLoop(images, CONNECTIONS, seconds);
    const cpu = (cpuMicros(pid) - before) / requests / 1_000;
    measured.push([perSecond, cpu, p50, p99, peakMegabytes(pid), failures]);
  }
  return medians(measured);
}

function imageTarget(target: Target, responseFormat: (typeof FORMATS)[number]): Target {
  const body = { model: "sandbox/image", prompt: "a lighthouse", response_format: responseFormat };
  return { ...target, path: "/v1/compat/images/generations", body: JSON.stringify(body) };
}

function drawPicture(side: number): Promise<Buffer> {
  const create = { width: side, height: side, channels: 3, background: "#888", noise: NOISE } as const;
  return sharp({ create }).png().toBuffer();
}

/** Converts like the router, one after the other. */
async function convertAlone(picture: Buffer): Promise<{ perSecond: number; cpuMs: number }> {
  const convert = createImageConverter(createMediaGates().results);
  await convert(picture, "webp", "bench");
  const [began, before] = [performance.now(), process.cpuUsage()];
  for (let done = 0; done < CONVERSIONS; done += 1) await convert(picture, "webp", "bench");
  const { user, system } = process.cpuUsage(before);
  return {
    perSecond: CONVERSIONS / ((performance.now() - began) / 1_000),
    cpuMs: (user + system) / 1_000 / CONVERSIONS,
  };
}
