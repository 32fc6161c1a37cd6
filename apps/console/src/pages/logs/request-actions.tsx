// Actions on one request: open it in the playground with all its parameters, copy it as curl, download its files.
import type { RequestRecord } from "@gr/console-api";
import { Button, CopyButton, Group } from "@mantine/core";
import { IconCheck, IconCode, IconDownload, IconSparkles } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useAccount } from "../../session.ts";
import { curlOf } from "./curl-of-request.ts";

export function RequestActions({ of: record }: { of: RequestRecord }) {
  const { account_id: account, may } = useAccount();
  return (
    <Group gap="xs">
      {may("developer") && (
        <Button
          size="xs"
          leftSection={<IconSparkles size={16} />}
          renderRoot={(props) => (
            <Link
              to="/accounts/$account/playground"
              params={{ account }}
              search={searchOf(record)}
              {...props}
            />
          )}
        >
          Open in Playground
        </Button>
      )}
      {record.kind !== "text" && (
        <CopyButton value={curlOf(window.location.origin, record)}>
          {({ copied, copy }) => (
            <Button
              size="xs"
              variant="default"
              leftSection={copied ? <IconCheck size={16} /> : <IconCode size={16} />}
              onClick={copy}
            >
              {copied ? "Copied" : "Copy as curl"}
            </Button>
          )}
        </CopyButton>
      )}
      {record.data.map(({ url }, index) => (
        <Button
          key={url}
          component="a"
          href={url}
          download
          target="_blank"
          rel="noreferrer"
          size="xs"
          variant="default"
          leftSection={<IconDownload size={16} />}
        >
          Download{record.data.length > 1 && ` ${index + 1}`}
        </Button>
      ))}
    </Group>
  );
}

/** Parameters of the playground's address. Input pictures are not stored, and texts have only their model. */
function searchOf(record: RequestRecord) {
  const { model } = record;
  if (record.kind === "text") return { model };
  const { prompt, size, quality, seconds, n } = record.request;
  const values = { prompt, size, quality, seconds, ...(record.kind === "image" && { n }) };
  const known = Object.entries(values).filter(([, value]) => value !== undefined);
  return { model, ...Object.fromEntries(known.map(([name, value]) => [name, String(value)])) };
}
