// This file starts etcd and the control plane of Kubernetes, and owns the calls of kubectl to its API server.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { makeCertificates } from "./certificates.ts";
import { type Command, type Daemons, run, until } from "./commands.ts";
import { API_PORT, CLUSTER_DOMAIN, NODE_ADDRESS, type Places, POD_RANGE, SERVICE_RANGE } from "./layout.ts";

const START_SECONDS = 600;
const ETCD = "http://127.0.0.1:2379";

export type Kubectl = (...args: string[]) => Promise<string>;

export function kubectlOf(
  places: Places,
): Kubectl & { given(input: string, ...args: string[]): Promise<string> } {
  const command = (args: string[]): Command => [
    join(places.programs, "kubectl"),
    `--kubeconfig=${places.kubeconfig}`,
    ...args,
  ];
  const kubectl = (...args: string[]) => run(command(args));
  return Object.assign(kubectl, {
    given: (input: string, ...args: string[]) => run(command(args), { input }),
  });
}

/** Starts etcd and the control plane. Resolves when the API server is ready and the default service account exists. */
export async function startControlPlane(places: Places, daemons: Daemons): Promise<void> {
  const certificates = await makeCertificates(places);
  const program = (name: string) => join(places.programs, name);
  const data = join(places.state, "etcd");
  await mkdir(data, { recursive: true, mode: 0o700 });
  daemons.start("etcd", [
    program("etcd"),
    `--data-dir=${data}`,
    `--listen-client-urls=${ETCD}`,
    `--advertise-client-urls=${ETCD}`,
    "--listen-peer-urls=http://127.0.0.1:2380",
    // The data is for one run only, so etcd need not wait for the disk.
    "--unsafe-no-fsync",
  ]);
  daemons.start("kube-apiserver", [
    program("kube-apiserver"),
    `--etcd-servers=${ETCD}`,
    `--advertise-address=${NODE_ADDRESS}`,
    `--secure-port=${API_PORT}`,
    `--client-ca-file=${certificates.authority}`,
    `--tls-cert-file=${certificates.server}`,
    `--tls-private-key-file=${certificates.serverKey}`,
    `--kubelet-client-certificate=${certificates.admin}`,
    `--kubelet-client-key=${certificates.adminKey}`,
    "--kubelet-preferred-address-types=InternalIP",
    `--service-account-issuer=https://kubernetes.default.svc.${CLUSTER_DOMAIN}`,
    `--service-account-key-file=${certificates.accountsKey}`,
    `--service-account-signing-key-file=${certificates.accountsKey}`,
    `--service-cluster-ip-range=${SERVICE_RANGE}`,
    "--authorization-mode=Node,RBAC",
  ]);
  const kubectl = kubectlOf(places);
  await daemons.during(until("kube-apiserver", START_SECONDS, () => kubectl("get", "--raw", "/readyz")));
  daemons.start("kube-controller-manager", [
    program("kube-controller-manager"),
    `--kubeconfig=${places.kubeconfig}`,
    `--root-ca-file=${certificates.authority}`,
    `--service-account-private-key-file=${certificates.accountsKey}`,
    `--cluster-cidr=${POD_RANGE}`,
    "--allocate-node-cidrs=true",
    "--use-service-account-credentials=true",
    "--leader-elect=false",
  ]);
  daemons.start("kube-scheduler", [
    program("kube-scheduler"),
    `--kubeconfig=${places.kubeconfig}`,
    "--leader-elect=false",
  ]);
  await daemons.during(
    until("the namespace's service account", START_SECONDS, () =>
      kubectl("get", "serviceaccount", "default"),
    ),
  );
}
