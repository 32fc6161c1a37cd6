// versitygw is a production server: S3's whole protocol over a folder. The test builds its source once with `go`,
// outside of this checkout.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { freePort, until } from "@gr/testing";

const VERSION = "v1.8.0";
const MODULE = `github.com/versity/versitygw/cmd/versitygw@${VERSION}`;
const BUILT = join(homedir(), ".cache", "generation-router", `versitygw-${VERSION}`);
const KEY = { accessKeyId: "versity", secretAccessKey: "a-secret-for-tests" };

export interface VersityGateway {
  readonly options: {
    readonly bucket: string;
    readonly endpoint: string;
    readonly credentials: typeof KEY;
    readonly region: string;
  };
  readonly client: S3Client;
  stop(): Promise<void>;
}

export async function startVersityGateway(): Promise<VersityGateway> {
  const program = await built();
  const directory = await mkdtemp(join(tmpdir(), "versity-"));
  for (const folder of ["data", "meta"]) await mkdir(join(directory, folder));
  const address = `127.0.0.1:${await freePort()}`;
  const server = spawn(
    program,
    [
      ...["--access", KEY.accessKeyId, "--secret", KEY.secretAccessKey, "--port", address, "--quiet"],
      // Not every file system has extended attributes.
      ...["posix", "--sidecar", join(directory, "meta"), join(directory, "data")],
    ],
    { stdio: ["ignore", "ignore", "inherit"] },
  );
  const exited = once(server, "exit");
  const endpoint = `http://${address}`;
  const region = "us-east-1";
  const client = new S3Client({ region, endpoint, credentials: KEY, forcePathStyle: true });
  const stop = async () => {
    client.destroy();
    server.kill("SIGKILL");
    await exited;
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const bucket = "generated-media";
    const create = async () => {
      await client.send(new CreateBucketCommand({ Bucket: bucket }));
      return true;
    };
    await until(create, { timeoutMs: 60_000 });
    return { options: { bucket, endpoint, credentials: KEY, region }, client, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** @throws Error that names the missing tool */
async function built(): Promise<string> {
  if (existsSync(BUILT)) return join(BUILT, "versitygw");
  await mkdir(join(BUILT, ".."), { recursive: true });
  const draft = await mkdtemp(`${BUILT}-`);
  try {
    const command = [`GOBIN=${draft}`, "GOFLAGS=-mod=mod", "go", "install", "-trimpath", MODULE];
    await promisify(execFile)("env", command).catch((cause) => {
      throw new Error(
        `versitygw is missing: install Go (\`apt-get install golang\`), which builds ${MODULE}`,
        { cause },
      );
    });
    // Another process may have been faster; its folder is as good.
    await rename(draft, BUILT).catch((error) => {
      if (!existsSync(BUILT)) throw error;
    });
    return join(BUILT, "versitygw");
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}
