// This file starts the node of a cluster for one run: containerd with runc, a route to each pod, kubelet and kube-proxy.
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Command, type Daemons, run, until } from "./commands.ts";
import { kubectlOf } from "./control-plane.ts";
import { CLUSTER_DOMAIN, DNS_ADDRESS, NODE_ADDRESS, NODE_NAME, type Places, POD_RANGE } from "./layout.ts";

const START_SECONDS = 600;
const CPU_SHARES = "8192";
const SOCKET = "/run/containerd/containerd.sock";
export const PAUSE_IMAGE = "localhost/pause:1";
/** Range of the addresses of the first node's pods: the control plane reserves it, and CNI assigns its addresses. */
const NODE_PODS = "10.244.0.0/24";

const ctr = (...args: string[]): Command => ["ctr", `--address=${SOCKET}`, "--namespace=k8s.io", ...args];

/** Starts containerd alone, so that images can be imported before the kubelet requests them. */
export async function startContainerd(places: Places, daemons: Daemons): Promise<void> {
  const config = join(places.state, "containerd.toml");
  await writeFile(config, containerdConfig(places));
  const network = join(places.state, "cni", "10-pods.conflist");
  await mkdir(dirname(network), { recursive: true });
  await writeFile(network, JSON.stringify(NETWORK));
  daemons.start("containerd", ["containerd", `--config=${config}`]);
  await daemons.during(until("containerd", START_SECONDS, () => run(ctr("version"))));
}

/** Returns the command that imports images into containerd. @param archive output of `docker save` */
export const importOf = (archive: string): Command => ctr("images", "import", "--all-platforms", archive);

export async function importImages(archive: string): Promise<void> {
  await run(importOf(archive));
}

/** Adds the node to the cluster. Resolves when the node is ready. */
export async function startNode(places: Places, daemons: Daemons): Promise<void> {
  const config = join(places.state, "kubelet.json");
  await writeFile(config, JSON.stringify(kubeletConfig(places)));
  for (const controller of await readdir("/sys/fs/cgroup")) {
    await mkdir(`/sys/fs/cgroup/${controller}${CGROUP}`, { recursive: true });
  }
  // Without this weight all pods together would get the processor time of one process of the machine.
  await writeFile(`/sys/fs/cgroup/cpu${CGROUP}/cpu.shares`, CPU_SHARES);
  daemons.start("kubelet", [
    join(places.programs, "kubelet"),
    `--config=${config}`,
    `--kubeconfig=${places.kubeconfig}`,
    `--root-dir=${join(places.state, "kubelet")}`,
    `--hostname-override=${NODE_NAME}`,
    `--node-ip=${NODE_ADDRESS}`,
  ]);
  daemons.start("kube-proxy", [
    join(places.programs, "kube-proxy"),
    `--kubeconfig=${places.kubeconfig}`,
    `--hostname-override=${NODE_NAME}`,
    `--cluster-cidr=${POD_RANGE}`,
    "--proxy-mode=iptables",
    // Zero keeps these settings unchanged, because they belong to the machine and not to a namespace.
    "--conntrack-max-per-core=0",
    "--conntrack-tcp-timeout-established=0s",
    "--conntrack-tcp-timeout-close-wait=0s",
  ]);
  const kubectl = kubectlOf(places);
  const ready = async () => {
    const path =
      "jsonpath={.status.conditions[?(@.type=='Ready')].status} {.status.conditions[?(@.type=='Ready')].message}";
    const said = await kubectl("get", "node", NODE_NAME, "-o", path);
    if (!said.startsWith("True")) throw new Error(said);
  };
  await daemons.during(until("the node", START_SECONDS, ready));
}

/** Parent of the control groups of all pods, which is removed with the cluster. */
export const CGROUP = "/generation-router-cluster";

/**
 * Network with a route to each pod. Packets between pods pass the node's firewall, which enforces the policies. A bridge would
 * forward these packets past the firewall.
 */
const NETWORK = {
  cniVersion: "0.4.0",
  name: "pods",
  plugins: [
    {
      type: "ptp",
      ipMasq: true,
      ipam: {
        type: "host-local",
        ranges: [[{ subnet: NODE_PODS }]],
        routes: [{ dst: "0.0.0.0/0" }],
      },
    },
  ],
};

const containerdConfig = ({ state }: Places) => `version = 2
root = "${state}/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
  address = "${SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE_IMAGE}"
  # The machine may refuse a lower oom_score_adj, which spares a process if memory runs out.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${state}/cni"
`;

const kubeletConfig = ({ state }: Places) => ({
  apiVersion: "kubelet.config.k8s.io/v1beta1",
  kind: "KubeletConfiguration",
  containerRuntimeEndpoint: `unix://${SOCKET}`,
  cgroupDriver: "cgroupfs",
  cgroupRoot: CGROUP,
  failCgroupV1: false,
  failSwapOn: false,
  oomScoreAdj: 0,
  clusterDNS: [DNS_ADDRESS],
  clusterDomain: CLUSTER_DOMAIN,
  podLogsDir: join(state, "pod-logs"),
  readOnlyPort: 0,
  authentication: {
    anonymous: { enabled: false },
    webhook: { enabled: false },
    x509: { clientCAFile: join(state, "certificates", "authority.crt") },
  },
  authorization: { mode: "AlwaysAllow" },
  // The kubelet must not delete images, which no registry can deliver again, nor evict pods because of a disk that others fill.
  imageGCHighThresholdPercent: 100,
  imageGCLowThresholdPercent: 99,
  evictionHard: {
    "memory.available": "100Mi",
    "nodefs.available": "0%",
    "nodefs.inodesFree": "0%",
    "imagefs.available": "0%",
    "imagefs.inodesFree": "0%",
  },
});
