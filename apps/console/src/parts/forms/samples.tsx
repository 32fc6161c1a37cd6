// A request as code, in a tab for each language.
import { Tabs } from "@mantine/core";
import type { ApiRequest } from "../../api/public-api.ts";
import { publicOrigin } from "../../api/public-origin.ts";
import { CodeBlock } from "../../parts/forms/copy-text.tsx";
import { sampleCode } from "../../sample-code.ts";

type SampledRequest = Pick<ApiRequest, "type" | "body"> & Partial<Pick<ApiRequest, "files" | "isAsync">>;

export function Samples({
  request: { type, body, files = [], isAsync = false },
}: {
  request: SampledRequest;
}) {
  const samples = sampleCode(publicOrigin(), type, body, { files, isAsync });
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
