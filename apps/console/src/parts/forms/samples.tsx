// A request as code, in a tab for each language.
import { Skeleton, Tabs } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ApiRequest, ModelRecord } from "../../api/public-api.ts";
import { publicOrigin } from "../../api/public-origin.ts";
import { modelsQuery } from "../../models-query.ts";
import { sampleCode } from "../../sample-code.ts";
import { CodeBlock } from "./copy-text.tsx";

interface SamplesProps {
  readonly request: Pick<ApiRequest, "type" | "body"> & Partial<Pick<ApiRequest, "files" | "isAsync">>;
  /** Secret of the key in the code; absent = the code reads a variable of the environment. */
  readonly secret?: string | undefined;
}

export function Samples({ request: { type, body, files = [], isAsync = false }, secret }: SamplesProps) {
  const samples = sampleCode(publicOrigin(), type, body, { files, isAsync, secret });
  return (
    <Tabs defaultValue="curl" keepMounted={false}>
      <Tabs.List>
        {samples.map(({ name }) => (
          <Tabs.Tab key={name} value={name}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {samples.map(({ name, code }) => (
        <Tabs.Panel key={name} value={name} pt="xs">
          <CodeBlock code={code} label={`${name} code`} />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}

/** Height of the first request, in pixels: the page below stays in its place. */
const HEIGHT = 224;

interface FirstRequestProps {
  readonly secret?: string;
  /** Returns true for models that the request may name. */
  readonly isAllowed?: (model: ModelRecord) => boolean;
}

/** With a model that this installation serves; a text model, if there is one. */
export function FirstRequest({ secret, isAllowed = () => true }: FirstRequestProps) {
  const { data = [], isPending } = useQuery(modelsQuery);
  if (isPending) return <Skeleton height={HEIGHT} aria-busy="true" />;
  const models = data.filter(isAllowed);
  const model = models.find(({ type }) => type === "text") ?? models[0];
  if (model === undefined) return null;
  return <Samples request={{ type: model.type, body: { model: model.id } }} secret={secret} />;
}
