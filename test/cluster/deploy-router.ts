// Has skaffold put the router into the cluster as its profile `ci` says: it builds the images, loads them into the node,
// applies the overlay, waits until all is ready, and runs the Job that verifies it.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { type Command, run } from "./commands.ts";
import { dockerEnvironment, makeStandIns, NODE_BUILD_IMAGE, NODE_RUN_IMAGE } from "./images.ts";
import { type Places, ROOT } from "./layout.ts";

export const NAMESPACE = "generation-router-ci";
/** The one difference to skaffold.yaml: what the Dockerfile begins with, since there is no registry to get it from. */
const BASES = { NODE_BUILD: NODE_BUILD_IMAGE, NODE_RUN: NODE_RUN_IMAGE };

interface Config {
  readonly build: {
    readonly artifacts: readonly { readonly docker: { buildArgs?: Record<string, string> } }[];
  };
}

const foldersOf = (places: Places) => {
  const folder = join(places.state, "skaffold");
  return { folder, config: join(folder, "skaffold.yaml"), built: join(folder, "built.json") };
};

/** @returns what it printed */
async function skaffold(places: Places, command: string, ...words: string[]): Promise<string> {
  const { folder, config } = foldersOf(places);
  const path = `${join(places.state, "bin")}:${places.programs}:${process.env["PATH"]}`;
  const env = {
    ...dockerEnvironment(places),
    PATH: path,
    // It finds the cluster by the context that is current, and keeps its own things in the home of whoever calls it.
    KUBECONFIG: places.kubeconfig,
    HOME: folder,
  };
  const flags = ["--profile=ci", `--filename=${config}`, "--interactive=false", "--update-check=false"];
  const line: Command = [join(places.programs, "skaffold"), command, ...flags, ...words];
  return run(line, { env, cwd: ROOT });
}

export async function buildImages(places: Places): Promise<void> {
  const { folder, config, built } = foldersOf(places);
  await mkdir(folder, { recursive: true });
  await makeStandIns(places);
  const given = parse(await readFile(join(ROOT, "skaffold.yaml"), "utf8")) as Config;
  for (const { docker } of given.build.artifacts) docker.buildArgs = { ...docker.buildArgs, ...BASES };
  await writeFile(config, stringify(given));
  await skaffold(places, "build", `--file-output=${built}`);
}

/** Loads the images, applies the overlay and waits until everything is ready. */
export async function deployRouter(places: Places): Promise<void> {
  await skaffold(places, "deploy", `--build-artifacts=${foldersOf(places).built}`, "--load-images");
}

/** @returns what the verifying Job said @throws Error unless it came to a good end */
export async function runVerification(places: Places): Promise<string> {
  return skaffold(places, "verify", `--build-artifacts=${foldersOf(places).built}`);
}
