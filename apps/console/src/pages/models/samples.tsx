// A request as code, in a tab for each language.
import { Tabs } from "@mantine/core";
import type { ModelType } from "../../api/public-api.ts";
import { CodeBlock } from "../../parts/forms/copy-text.tsx";
import { sampleCode } from "../../sample-code.ts";

export function Samples({ type, body }: { type: ModelType; body: Readonly<Record<string, unknown>> }) {
  const samples = sampleCode(window.location.origin, type, body);
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
