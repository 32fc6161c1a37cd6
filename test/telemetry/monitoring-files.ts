// The alert rules and dashboards of deploy/, as data.
import { readdirSync, readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";

export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook: string };
}

interface Recording {
  readonly record: string;
  readonly expr: string;
}

const FOLDER = new URL("../../deploy/components/monitoring/", import.meta.url);

const rules = parseAllDocuments(readFileSync(new URL("alerts.yaml", FOLDER), "utf8")).flatMap((document) => {
  const { spec } = document.toJS() as {
    spec: { groups: readonly { rules: readonly (Alert | Recording)[] }[] };
  };
  return spec.groups.flatMap((group) => group.rules);
});
export const alerts = rules.filter((rule) => "alert" in rule);
export const recordings = rules.filter((rule) => "record" in rule);

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

export interface Dashboard {
  readonly file: string;
  readonly uid: string;
  readonly panels: readonly Panel[];
}

export const dashboards: readonly Dashboard[] = readdirSync(new URL("dashboards/", FOLDER)).map((file) => ({
  file,
  ...(JSON.parse(readFileSync(new URL(`dashboards/${file}`, FOLDER), "utf8")) as Omit<Dashboard, "file">),
}));

export const kustomization = readFileSync(new URL("kustomization.yaml", FOLDER), "utf8");
