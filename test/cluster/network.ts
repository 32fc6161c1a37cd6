// This file adds the parts that a cluster needs beside its node. CoreDNS resolves the names of services, kube-router enforces the
// network policies (only its firewall runs), and a volume waits for the claim of a pod.
import { chmod, chown, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type Daemons, run, until } from "./commands.ts";
import { kubectlOf } from "./control-plane.ts";
import { DNS_IMAGE } from "./images.ts";
import { CLUSTER_DOMAIN, DNS_ADDRESS, NODE_NAME, type Places, SERVICE_RANGE } from "./layout.ts";

const USER = 65532;
const FIREWALL_SECONDS = 600;

export async function startNetwork(places: Places, daemons: Daemons): Promise<void> {
  const kubectl = kubectlOf(places);
  daemons.start("kube-router", [
    join(places.programs, "kube-router"),
    `--kubeconfig=${places.kubeconfig}`,
    `--hostname-override=${NODE_NAME}`,
    `--service-cluster-ip-range=${SERVICE_RANGE}`,
    "--run-firewall=true",
    "--run-router=false",
    "--run-service-proxy=false",
  ]);
  const chain = () => run(["iptables", "-n", "-L", "KUBE-ROUTER-FORWARD"]);
  await daemons.during(until("the firewall", FIREWALL_SECONDS, chain));
  await kubectl.given(JSON.stringify(names()), "apply", "--server-side", "--validate=strict", "-f", "-");
  const wait = ["rollout", "status", "deployment/coredns", "--namespace=kube-system", "--timeout=600s"];
  await daemons.during(kubectl(...wait));
}

/** Creates a volume on the node's own disk, because this cluster has no provisioner that creates volumes on demand. */
export async function makeVolume(places: Places): Promise<void> {
  const path = join(places.state, "volume");
  await mkdir(path);
  await chown(path, USER, USER);
  await chmod(path, 0o700);
  const metadata = { name: "disk" };
  const items = [
    {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { ...metadata, annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
      provisioner: "kubernetes.io/no-provisioner",
      volumeBindingMode: "WaitForFirstConsumer",
    },
    {
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata,
      spec: {
        capacity: { storage: "1Gi" },
        accessModes: ["ReadWriteOnce"],
        storageClassName: "disk",
        hostPath: { path },
      },
    },
  ];
  await kubectlOf(places).given(listOf(items), "apply", "--server-side", "--validate=strict", "-f", "-");
}

const listOf = (items: readonly object[]) => JSON.stringify({ apiVersion: "v1", kind: "List", items });

const COREFILE = `.:53 {
  errors
  health :8080
  ready :8181
  kubernetes ${CLUSTER_DOMAIN} in-addr.arpa {
    pods disabled
  }
  cache 5
}
`;

function names(): object {
  const inSystem = { name: "coredns", namespace: "kube-system" };
  const labels = { "k8s-app": "kube-dns" };
  const rule = (group: string, ...resources: string[]) => ({
    apiGroups: [group],
    resources,
    verbs: ["list", "watch"],
  });
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "coredns" };
  const container = {
    name: "coredns",
    image: DNS_IMAGE,
    args: ["-conf", "/config/Corefile"],
    ports: [{ name: "dns", containerPort: 53, protocol: "UDP" }],
    readinessProbe: { httpGet: { path: "/ready", port: 8181 }, periodSeconds: 2 },
    volumeMounts: [{ name: "config", mountPath: "/config" }],
  };
  const dns = (name: string, protocol: string) => ({ name, protocol, port: 53, targetPort: 53 });
  const items = [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: inSystem },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "coredns" },
      rules: [rule("", "services", "namespaces", "pods"), rule("discovery.k8s.io", "endpointslices")],
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "coredns" },
      roleRef,
      subjects: [{ kind: "ServiceAccount", ...inSystem }],
    },
    { apiVersion: "v1", kind: "ConfigMap", metadata: inSystem, data: { Corefile: COREFILE } },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "kube-dns", namespace: "kube-system" },
      spec: { clusterIP: DNS_ADDRESS, selector: labels, ports: [dns("dns", "UDP"), dns("dns-tcp", "TCP")] },
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: inSystem,
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            serviceAccountName: "coredns",
            dnsPolicy: "Default",
            containers: [container],
            volumes: [{ name: "config", configMap: { name: "coredns" } }],
          },
        },
      },
    },
  ];
  return { apiVersion: "v1", kind: "List", items };
}
