// Manifests agree with the code in names, ports, settings and edges, and satisfy the usual demands of platform teams.
// They are rendered here, without a cluster: whether a cluster accepts and runs them is not tested.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { routerModules, sandboxEnvironment } from "@gr/all-in-one";
import { readOwnCatalog, readSeed, readSeedFiles, SEED_DIRECTORY } from "@gr/catalog/files";
import { mediaProviders } from "@gr/media-generation";
import { addressVariables, type Module, processConfig } from "@gr/runtime";
import { describe, expect, test } from "@jest/globals";
import { parse, parseAllDocuments } from "yaml";
import { sayEdge, wantedEdges } from "../test/cluster/service-edges.ts";
import { type Manifest, render, renderAt } from "./render.ts";

const modules: readonly Module[] = routerModules;
const names = modules.map(({ name }) => name);
const keepers = modules.filter(({ schema }) => schema !== undefined).map(({ name }) => name);

const overlays = readdirSync(join(import.meta.dirname, "overlays"));
const components = readdirSync(join(import.meta.dirname, "components"));
const rendered = new Map<string, Manifest[]>([
  ...overlays.map((name) => [name, render(join(import.meta.dirname, "overlays", name))] as const),
  ...components.map((name) => {
    const alone = { resources: ["base"], components: [`components/${name}`] };
    return [`base with ${name}`, renderAt(import.meta.dirname, alone)] as const;
  }),
  [
    "base with all that exclude nothing",
    renderAt(import.meta.dirname, { resources: ["base"], components: together() }),
  ],
]);

/** Returns all components but those that replace another. */
function together(): string[] {
  const alternatives = ["dev-datastores", "dev-secrets", "simulator", "external-database"];
  return components.filter((name) => !alternatives.includes(name)).map((name) => `components/${name}`);
}

/** Whether the value of this variable is a secret. The address of a server with a sign-in is one. */
const isSecret =
  /SECRET|PASSWORD|PEPPER|PRIVATE_KEY|API_KEY|ACCESS_KEY|API_TOKEN|TOKEN$|UPSTREAM_KEYS$|^(DATABASE|REDIS|CONSOLE_SMTP)_URL$/;

interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef: { name: string; key: string; optional?: boolean } };
}
interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly env?: readonly EnvVar[];
  readonly envFrom?: readonly { configMapRef: { name: string } }[];
  readonly ports?: readonly { name: string; containerPort: number }[];
  readonly resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
  readonly securityContext?: Record<string, unknown>;
  readonly lifecycle?: { preStop: { sleep: { seconds: number } } };
  readonly [probe: `${string}Probe`]: unknown;
}
interface PodSpec {
  readonly automountServiceAccountToken?: boolean;
  readonly terminationGracePeriodSeconds?: number;
  readonly securityContext?: Record<string, unknown>;
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Record<string, unknown>[];
  readonly [field: string]: unknown;
}
interface PodTemplate {
  readonly metadata: Manifest["metadata"];
  readonly spec: PodSpec;
}
interface PodOwner {
  readonly manifest: Manifest;
  readonly labels: Readonly<Record<string, string>>;
  readonly pod: PodSpec;
  readonly containers: readonly Container[];
}

function podsOf(manifests: readonly Manifest[]): PodOwner[] {
  return manifests.flatMap((manifest) => {
    const { template: own, jobTemplate } = (manifest["spec"] ?? {}) as {
      template?: PodTemplate;
      jobTemplate?: { spec: { template: PodTemplate } };
    };
    const template = own ?? jobTemplate?.spec.template;
    if (template === undefined) return [];
    const { spec: pod, metadata } = template;
    const containers = [...pod.containers, ...(pod.initContainers ?? [])];
    return [{ manifest, labels: metadata.labels ?? {}, pod, containers }];
  });
}

const jobOfVerify = parseAllDocuments(readFileSync(join(import.meta.dirname, "verify/job.yaml"), "utf8")).map(
  (document) => document.toJS() as Manifest,
);

describe.each([...rendered, ["verify", jobOfVerify] as const])("%s", (_name, manifests) => {
  test("no pod has a privilege, a token, a root, an image without a version, or memory without a bound", () => {
    for (const { manifest, pod, containers } of podsOf(manifests)) {
      const of = manifest.metadata.name;
      expect({ of, ...pod }).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
      });
      expect(pod.securityContext).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: "RuntimeDefault" },
      });
      expect(pod.securityContext?.["runAsUser"]).toBeGreaterThan(0);
      for (const field of ["hostNetwork", "hostPID", "hostIPC"]) expect(pod[field]).toBeUndefined();
      for (const volume of pod.volumes ?? []) expect(Object.keys(volume)).not.toContain("hostPath");
      for (const { image, resources, securityContext } of containers) {
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        });
        expect(resources?.requests).toMatchObject({
          cpu: expect.any(String),
          memory: resources?.limits?.["memory"],
        });
        expect(resources?.limits).toMatchObject({
          memory: expect.any(String),
          "ephemeral-storage": expect.any(String),
        });
        // Our own images get theirs from the build.
        expect(image).toMatch(/^generation-router\/[a-z-]+$|:v?\d+\.\d+[\w.-]*$|@sha256:[0-9a-f]{64}$/);
      }
    }
  });

  test("whatever serves has probes", () => {
    for (const { manifest, pod } of podsOf(manifests)) {
      if (manifest.kind === "Job" || manifest.kind === "CronJob") continue;
      for (const container of pod.containers) {
        expect(container).toMatchObject({
          livenessProbe: expect.anything(),
          readinessProbe: expect.anything(),
        });
      }
    }
  });

  test("secrets are named and not written down, but for those that dev-secrets makes", () => {
    const variables = podsOf(manifests).flatMap(({ containers }) =>
      containers.flatMap(({ env }) => env ?? []),
    );
    expect(variables.filter(({ name, value }) => isSecret.test(name) && value !== undefined)).toEqual([]);
  });

  test("selectors find the pods that they mean", () => {
    const labels = podsOf(manifests).map((owner) => owner.labels);
    for (const { kind, metadata, ...fields } of manifests) {
      if (kind !== "Service" && kind !== "PodDisruptionBudget") continue;
      const { selector } = fields["spec"] as { selector: { matchLabels?: Record<string, string> } };
      const wanted = Object.entries(selector.matchLabels ?? selector);
      const found = labels.filter((have) => wanted.every(([name, value]) => have[name] === value));
      expect({ kind, name: metadata.name, pods: found.length }).toEqual({
        kind,
        name: metadata.name,
        pods: 1,
      });
    }
  });
});

/** Returns the variables that a module may read: its own, its process's, and the addresses of its peers. */
const variablesOf = ({ config, needs }: Module) => {
  const addresses = needs.map(addressVariables).flatMap(({ rpc, http }) => [rpc, http]);
  return new Set([...Object.keys(config.shape), ...Object.keys(processConfig.shape), ...addresses]);
};
const requiredBy = ({ config }: Module) =>
  [config, processConfig].flatMap(({ shape }) =>
    Object.entries(shape).flatMap(([variable, of]) => (of.safeParse(undefined).success ? [] : [variable])),
  );

describe.each([...rendered])("the services in %s", (_name, manifests) => {
  const named = (kind: string, name: string) =>
    manifests.find((one) => one.kind === kind && one.metadata.name === name);
  const podOf = (kind: string, name: string) => {
    const [owner] = podsOf(manifests.filter((one) => one.kind === kind && one.metadata.name === name));
    if (owner === undefined) throw new Error(`there is no ${kind} ${name}`);
    return owner;
  };
  const settings = (named("ConfigMap", "router-settings")?.["data"] ?? {}) as Record<string, string>;
  test.each(modules.map((module) => [module.name, module] as const))(
    "%s is there, is set up as its code says, and lets streams finish before it ends",
    (name, module) => {
      const { pod } = podOf("Deployment", name);
      const [container] = pod.containers;
      if (container === undefined) throw new Error(`${name} has no container`);
      const env = container.env ?? [];
      const known = variablesOf(module);
      expect(env.map((variable) => variable.name).filter((variable) => !known.has(variable))).toEqual([]);
      expect(container.envFrom).toEqual([{ configMapRef: { name: "router-settings" } }]);
      const certain = env.filter(({ valueFrom }) => valueFrom?.secretKeyRef.optional !== true);
      const present = new Set([...certain.map((variable) => variable.name), ...Object.keys(settings)]);
      expect(requiredBy(module).filter((variable) => !present.has(variable))).toEqual([]);
      const plain = { ...settings };
      for (const { name: variable, value } of env) if (value !== undefined) plain[variable] = value;
      const problems = module.config.partial().safeParse(plain).error?.issues ?? [];
      expect(problems).toEqual([]);

      expect(container.image).toMatch(new RegExp(`generation-router/${name}(:|@|$)`));
      expect(named("ServiceAccount", name)?.["automountServiceAccountToken"]).toBe(false);
      expect(named("PodDisruptionBudget", name)).toBeDefined();
      expect(pod["topologySpreadConstraints"]).toHaveLength(2);
      expect(container["startupProbe"]).toMatchObject({ httpGet: { path: "/livez", port: "internal" } });
      expect(container["livenessProbe"]).toMatchObject({ httpGet: { path: "/livez", port: "internal" } });
      expect(container["readinessProbe"]).toMatchObject({ httpGet: { path: "/readyz", port: "internal" } });
      const pauseMs = 1_000 * (container.lifecycle?.preStop.sleep.seconds ?? 0);
      const stopMs = pauseMs + Number(plain["STOP_DRAIN_MS"]) + Number(plain["STOP_GRACE_MS"]);
      expect(1_000 * (pod.terminationGracePeriodSeconds ?? 0)).toBeGreaterThanOrEqual(stopMs + 15_000);
      expect(plain).toMatchObject({ SERVICE_HOST: "0.0.0.0", MIGRATE: "off" });
    },
  );

  test("where the way in is a proxy, the gateway reads the client's address from it", () => {
    const isBehindProxy = manifests.some(({ kind }) => kind === "Ingress" || kind === "HTTPRoute");
    expect(settings["TRUSTED_PROXIES"]).toBe(isBehindProxy ? "1" : undefined);
  });

  test("every service is where its peers look for it", () => {
    for (const name of names) {
      const ports = (podOf("Deployment", name).pod.containers[0]?.ports ?? []).map((one) => [
        one.name,
        one.containerPort,
      ]);
      expect(Object.fromEntries(ports)).toMatchObject({ internal: 8081, rpc: 8082 });
      const service = named("Service", name)?.["spec"] as {
        clusterIP?: string;
        ports: Record<string, unknown>[];
      };
      const offered = new Set(service.ports.map(({ port, targetPort }) => `${port} ${targetPort}`));
      expect(offered).toEqual(
        new Set(name === "gateway" ? ["80 http", "8081 internal"] : ["8081 internal", "8082 rpc"]),
      );
      expect(service.clusterIP).toBe(name === "gateway" ? undefined : "None");
    }
  });

  test("each service that keeps tables has a Job that migrates them, and no other has", () => {
    const jobs = manifests.filter(({ kind }) => kind === "Job").map(({ metadata }) => metadata.name);
    expect(jobs.toSorted()).toEqual(keepers.map((name) => `migrate-${name}`).toSorted());
    for (const name of keepers) {
      const [job] = podOf("Job", `migrate-${name}`).pod.containers;
      const [service] = podOf("Deployment", name).pod.containers;
      expect({ image: job?.image, args: job?.args }).toEqual({ image: service?.image, args: ["migrate"] });
      const address = ({ env }: Container) => env?.find((variable) => variable.name === "DATABASE_URL");
      expect(job?.env).toEqual([service === undefined ? undefined : address(service)]);
    }
  });

  test("the ledger is verified on a schedule, by a command that exists, and by nobody who may do anything else", () => {
    const { pod } = podOf("CronJob", "verify-ledger");
    const [job] = pod.containers;
    expect(named("CronJob", "verify-ledger")?.["spec"]).toMatchObject({ concurrencyPolicy: "Forbid" });
    expect(job?.image).toMatch(/generation-router\/cli(:|@|$)/);
    expect(job?.args).toEqual(["ledger", "verify"]);
    expect(job?.env?.map((variable) => variable.name)).toEqual([
      addressVariables("billing").rpc,
      "INTERNAL_AUTH_SECRET",
    ]);
    expect(named("Service", "billing")?.["spec"]).toMatchObject({
      ports: expect.arrayContaining([expect.objectContaining({ name: "rpc", port: 8082 })]),
    });
    expect(job?.env?.[0]?.value).toBe("http://billing:8082");
  });

  test("every provider can be switched on by its key", () => {
    const present = podOf("Deployment", "media-generation").pod.containers[0]?.env?.map(({ name }) => name);
    expect(present).toEqual(expect.arrayContaining(mediaProviders.map(({ credential }) => credential)));
  });

  test("every setting is one that some service reads", () => {
    const known = new Set(modules.flatMap((module) => [...variablesOf(module)]));
    expect(Object.keys(settings).filter((name) => !known.has(name))).toEqual([]);
  });
});

describe("network policies", () => {
  interface Selector {
    readonly matchLabels?: Readonly<Record<string, string>>;
    readonly matchExpressions?: readonly { key: string; operator: "In"; values: readonly string[] }[];
  }
  interface Rule {
    readonly from?: readonly { podSelector?: Selector; namespaceSelector?: unknown }[];
    readonly to?: readonly { podSelector?: Selector; namespaceSelector?: unknown }[];
    readonly ports: readonly { port: number }[];
  }
  interface Policy {
    readonly podSelector: Selector;
    readonly policyTypes: readonly string[];
    readonly ingress?: readonly Rule[];
    readonly egress?: readonly Rule[];
  }
  const policiesOf = (overlay: string) =>
    (rendered.get(overlay) ?? [])
      .filter(({ kind }) => kind === "NetworkPolicy")
      .map((one) => one["spec"] as unknown as Policy);
  const matches = (
    { matchLabels = {}, matchExpressions = [] }: Selector,
    labels: Readonly<Record<string, string>>,
  ) =>
    Object.entries(matchLabels).every(([name, value]) => labels[name] === value) &&
    matchExpressions.every(({ key, values }) => values.includes(labels[key] ?? ""));
  const labelsOf = (name: string) => ({
    "app.kubernetes.io/name": name,
    "app.kubernetes.io/part-of": "generation-router",
    "app.kubernetes.io/component": "service",
  });

  /** Returns edges `a → b port` among our services, by the policies of one direction. */
  function edges(overlay: string, direction: "ingress" | "egress"): string[] {
    const found = policiesOf(overlay).flatMap((policy) =>
      names
        .filter((name) => matches(policy.podSelector, labelsOf(name)))
        .flatMap((name) =>
          (policy[direction] ?? []).flatMap((rule) =>
            (rule.from ?? rule.to ?? []).flatMap(({ podSelector, namespaceSelector }) =>
              names
                .filter(
                  (peer) =>
                    podSelector !== undefined &&
                    namespaceSelector === undefined &&
                    matches(podSelector, labelsOf(peer)),
                )
                .flatMap((peer) =>
                  rule.ports.map(({ port }) =>
                    sayEdge(
                      direction === "egress"
                        ? { from: name, to: peer, port }
                        : { from: peer, to: name, port },
                    ),
                  ),
                ),
            ),
          ),
        ),
    );
    return [...new Set(found)].sort();
  }

  const wanted = wantedEdges(modules).map(sayEdge).sort();

  test.each(["ci", "prod"])("in %s a service reaches whom it needs, and no other", (overlay) => {
    expect(edges(overlay, "egress")).toEqual(wanted);
    expect(edges(overlay, "ingress")).toEqual(wanted);
  });

  test.each([...rendered.keys()])(
    "in %s a policy of both directions names pods in each rule, and none that it selects",
    (overlay) => {
      const loose = policiesOf(overlay).filter(({ podSelector, policyTypes, ingress = [], egress = [] }) => {
        if (policyTypes.length < 2) return false;
        const own = podSelector.matchLabels ?? {};
        const peers = [...ingress, ...egress].flatMap((rule) => rule.from ?? rule.to ?? [{}]);
        return peers.some((peer) => peer.podSelector === undefined || matches(peer.podSelector, own));
      });
      expect(loose).toEqual([]);
    },
  );

  test.each(["ci", "prod"])("in %s who verifies the ledger reaches billing alone", (overlay) => {
    const name = "verify-ledger";
    const labels = { "app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "generation-router" };
    const rules = policiesOf(overlay)
      .filter(({ podSelector }) => matches(podSelector, labels))
      .flatMap(({ egress = [] }) => egress);
    const peers = names.filter((peer) =>
      rules.some(({ to = [], ports }) =>
        to.some(
          ({ podSelector, namespaceSelector }) =>
            podSelector !== undefined &&
            namespaceSelector === undefined &&
            matches(podSelector, labelsOf(peer)) &&
            ports.length === 1 &&
            ports[0]?.port === 8082,
        ),
      ),
    );
    expect(peers).toEqual(["billing"]);
    // The rule for names is the other one.
    expect(rules).toHaveLength(2);
    const lets = policiesOf(overlay).filter(
      ({ podSelector, ingress = [] }) =>
        matches(podSelector, labelsOf("billing")) &&
        ingress.some(({ from = [] }) =>
          from.some((peer) => peer.podSelector !== undefined && matches(peer.podSelector, labels)),
        ),
    );
    expect(lets).toHaveLength(1);
  });

  test.each(["ci", "prod"])("in %s every pod of ours is closed unless something opens it", (overlay) => {
    const closed = policiesOf(overlay).filter(
      ({ ingress, egress }) => ingress === undefined && egress === undefined,
    );
    for (const { labels } of podsOf(rendered.get(overlay) ?? [])) {
      const covered = [...closed, ...policiesOf(overlay)].some(({ podSelector }) =>
        matches(podSelector, labels),
      );
      expect({ labels, covered }).toEqual({ labels, covered: true });
    }
    expect(closed).toHaveLength(1);
  });

  test.each(["ci", "prod"])(
    "in %s who keeps tables reaches the database, and the gateway does not",
    (overlay) => {
      const database = { "app.kubernetes.io/component": "database" };
      const reaching = ["gateway", "text-proxy", ...keepers].filter((name) =>
        policiesOf(overlay).some(
          ({ podSelector, egress = [] }) =>
            matches(podSelector, labelsOf(name)) &&
            egress.some(({ to = [] }) =>
              to.some((peer) => peer.podSelector !== undefined && matches(peer.podSelector, database)),
            ),
        ),
      );
      expect(reaching).toEqual(keepers);
    },
  );
});

describe("what differs between overlays", () => {
  test("production holds no secret, no simulator, and every image by registry and version", () => {
    const manifests = rendered.get("prod") ?? [];
    expect(manifests.filter(({ kind }) => kind === "Secret")).toEqual([]);
    const images = podsOf(manifests).flatMap(({ containers }) => containers.map(({ image }) => image));
    expect(images.filter((image) => !/^[a-z.]+\/[a-z/-]+:\d+\.\d+\.\d+$/.test(image))).toEqual([]);
    expect(images.filter((image) => image.includes("simulator"))).toEqual([]);
  });

  test("every Secret that must be there is made by production's components, and whatever else a pod may read", () => {
    const manifests = rendered.get("prod") ?? [];
    interface Fetched {
      readonly data?: readonly { secretKey: string; remoteRef: { key: string; property: string } }[];
      readonly dataFrom?: readonly { extract: { key: string } }[];
    }
    const generated = manifests
      .filter(({ kind }) => kind === "ExternalSecret")
      .map(({ metadata, ...fields }) => ({ name: metadata.name, ...(fields["spec"] as Fetched) }));
    // CloudNativePG creates it.
    const certain = new Set(["router-db-app uri"]);
    const possible = new Set<string>();
    for (const { name, data = [], dataFrom = [] } of generated) {
      for (const { secretKey, remoteRef } of data) {
        expect(remoteRef).toEqual({ key: name.replace("router-", "router/"), property: secretKey });
        certain.add(`${name} ${secretKey}`);
      }
      if (dataFrom.some(({ extract }) => extract.key === name.replace("router-", "router/")))
        possible.add(name);
    }
    const asked = podsOf(manifests).flatMap(({ containers }) =>
      containers.flatMap(({ env = [] }) =>
        env.flatMap(({ valueFrom }) => (valueFrom === undefined ? [] : [valueFrom.secretKeyRef])),
      ),
    );
    const missing = asked
      .filter(({ name, key }) => !certain.has(`${name} ${key}`))
      .filter(({ name, optional }) => optional !== true || !possible.has(name));
    expect(missing).toEqual([]);
  });

  test("every setting that is a secret reaches its service from a Secret, under its own name", () => {
    const manifests = rendered.get("base with media-s3") ?? [];
    const deployments = podsOf(manifests.filter(({ kind }) => kind === "Deployment"));
    for (const module of modules) {
      const env = deployments.find(({ manifest }) => manifest.metadata.name === module.name)?.containers[0]
        ?.env;
      const read = [...variablesOf(module)].filter((variable) => isSecret.test(variable));
      const present = (env ?? []).flatMap(({ name, valueFrom }) =>
        valueFrom === undefined || valueFrom.secretKeyRef.key !== name ? [] : [name],
      );
      expect(read.filter((variable) => !present.includes(variable))).toEqual([]);
    }
  });

  test("the simulator is set up as by `npm start`", () => {
    const text = readFileSync(join(import.meta.dirname, "components/simulator/upstreams.env"), "utf8");
    const lines = Object.entries(sandboxEnvironment("http://simulator:8090")).map(
      ([name, value]) => `${name}=${value}`,
    );
    expect(text.trim().split("\n")).toEqual(lines);
  });

  test("the example of an own catalogue is right by the rules of the catalogue", async () => {
    const manifests = rendered.get("base with own-catalog") ?? [];
    const [map] = manifests.filter(({ metadata }) => metadata.name === "router-catalog");
    const files = Object.entries((map?.["data"] ?? {}) as Record<string, string>);
    const seed = readSeed(await readSeedFiles(SEED_DIRECTORY));
    const own = files.map(([name, content]) => ({ name, content }));
    expect(own).not.toEqual([]);
    expect(readOwnCatalog(seed, own, []).problems).toEqual([]);
  });

  test("with media in a bucket media-generation has no volume, and may be more than one pod", () => {
    const manifests = rendered.get("base with media-s3") ?? [];
    expect(manifests.filter(({ kind }) => kind === "PersistentVolumeClaim")).toEqual([]);
    const [deployment] = manifests.filter(
      ({ kind, metadata }) => kind === "Deployment" && metadata.name === "media-generation",
    );
    expect(deployment?.["spec"]).toMatchObject({ replicas: 2, strategy: { type: "RollingUpdate" } });
    const [owner] = podsOf(deployment === undefined ? [] : [deployment]);
    expect(owner?.pod.volumes?.map(({ name }) => name)).toEqual(["tmp"]);
    expect(owner?.pod.containers[0]).toMatchObject({ volumeMounts: [{ name: "tmp" }] });
  });

  test("compose.yaml gives each service what it needs, and nothing that it does not read", () => {
    const text = readFileSync(join(import.meta.dirname, "../compose.yaml"), "utf8");
    const { services } = parse(text, { merge: true }) as {
      services: Record<string, { environment: object }>;
    };
    for (const module of modules) {
      const present = Object.keys(services[module.name]?.environment ?? {});
      const known = variablesOf(module);
      expect(present.filter((variable) => !known.has(variable))).toEqual([]);
      expect(requiredBy(module).filter((variable) => !present.includes(variable))).toEqual([]);
    }
  });

  test("compose.yaml names an exact version of every image, and ours is that of package.json", () => {
    const read = (file: string) => readFileSync(join(import.meta.dirname, "..", file), "utf8");
    const { services } = parse(read("compose.yaml"), { merge: true }) as {
      services: Record<string, { image: string }>;
    };
    const { version } = JSON.parse(read("package.json")) as { version: string };
    const images = Object.values(services).map(({ image }) => image);
    const ours = images.filter((image) => image.startsWith("generation-router/"));
    expect(ours.filter((image) => !image.endsWith(`:${version}`))).toEqual([]);
    expect(images.filter((image) => !/:\d+(\.\d+)+(@sha256:[0-9a-f]{64})?$/.test(image))).toEqual([]);
  });

  test("skaffold builds every image that an overlay runs", () => {
    const config = parse(readFileSync(join(import.meta.dirname, "../skaffold.yaml"), "utf8")) as {
      build: { artifacts: { image: string }[] };
    };
    const built = new Set(config.build.artifacts.map(({ image }) => image));
    const run = [
      ...overlays.filter((name) => name !== "prod").flatMap((name) => rendered.get(name) ?? []),
      ...jobOfVerify,
    ];
    const images = podsOf(run).flatMap(({ containers }) => containers.map(({ image }) => image));
    const ours = [...new Set(images.filter((image) => image.startsWith("generation-router/")))];
    expect(ours.toSorted()).toEqual([...built].toSorted());
  });
});
