// This file owns the certificates of a cluster for one run: one authority, the API server's certificate, and one
// administrator's certificate for all programs of the cluster.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Command, run } from "./commands.ts";
import { API_PORT, API_SERVICE_ADDRESS, CONTEXT, NODE_ADDRESS, type Places } from "./layout.ts";

export interface Certificates {
  readonly authority: string;
  readonly server: string;
  readonly serverKey: string;
  readonly admin: string;
  readonly adminKey: string;
  /** Key that signs the tokens of service accounts. */
  readonly accountsKey: string;
}

/** Creates the certificates, and the kubeconfig that names them. */
export async function makeCertificates(places: Places): Promise<Certificates> {
  const folder = join(places.state, "certificates");
  await mkdir(folder, { recursive: true });
  const at = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => run(["openssl", ...args] as unknown as Command);
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  await openssl(
    ...["req", "-x509", ...newKey, "-days", "2", "-subj", "/CN=cluster"],
    ...["-keyout", at("authority.key"), "-out", at("authority.crt")],
  );
  const names = [
    ...["kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost"].map(
      (name) => `DNS:${name}`,
    ),
    ...["127.0.0.1", API_SERVICE_ADDRESS, NODE_ADDRESS].map((address) => `IP:${address}`),
  ];
  const issue = async (name: string, subject: string, extension: string) => {
    await openssl(
      ...["req", ...newKey, "-subj", subject, "-keyout", at(`${name}.key`), "-out", at(`${name}.csr`)],
    );
    await writeFile(at(`${name}.ext`), extension);
    await openssl(
      ...["x509", "-req", "-days", "2", "-in", at(`${name}.csr`), "-out", at(`${name}.crt`)],
      ...["-CA", at("authority.crt"), "-CAkey", at("authority.key"), "-CAcreateserial"],
      ...["-extfile", at(`${name}.ext`)],
    );
  };
  await issue("server", "/CN=kube-apiserver", `subjectAltName=${names.join(",")}\n`);
  await issue("admin", "/O=system:masters/CN=admin", "extendedKeyUsage=clientAuth\n");
  await openssl(
    "genpkey",
    "-algorithm",
    "RSA",
    "-pkeyopt",
    "rsa_keygen_bits:2048",
    "-out",
    at("accounts.key"),
  );
  const certificates = {
    authority: at("authority.crt"),
    server: at("server.crt"),
    serverKey: at("server.key"),
    admin: at("admin.crt"),
    adminKey: at("admin.key"),
    accountsKey: at("accounts.key"),
  };
  await writeFile(places.kubeconfig, kubeconfigOf(certificates));
  return certificates;
}

function kubeconfigOf({ authority, admin, adminKey }: Certificates): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: CONTEXT,
        cluster: { server: `https://${NODE_ADDRESS}:${API_PORT}`, "certificate-authority": authority },
      },
    ],
    users: [{ name: "admin", user: { "client-certificate": admin, "client-key": adminKey } }],
    contexts: [{ name: CONTEXT, context: { cluster: CONTEXT, user: "admin" } }],
    "current-context": CONTEXT,
  });
}
