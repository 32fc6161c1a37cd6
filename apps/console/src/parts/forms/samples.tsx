// A request as code, in a tab for each language.
import { Tabs } from "@mantine/core";
import type { ApiRequest } from "../../api/public-api.ts";
import { publicOrigin } from "../../api/public-origin.ts";
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
