// The history lists the latest requests of the playground, as the log has them; running ones first in time. A click shows
// the request in the result.

import type { GenerationRecord, RequestRecord } from "@gr/console-api";
import { Anchor, Card, Stack, Text, Title, UnstyledButton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { call } from "../../../api/console-client.ts";
import { Loaded } from "../../../parts/lists/loaded.tsx";
import { progressOf } from "../../../parts/lists/request-status.tsx";
import { previewOf, Running } from "../../../parts/media/thumbnail.tsx";
import { useAccount } from "../../../session.ts";

const LATEST = 12;
const RUNNING_MS = 3_000;
const USUAL_MS = 30_000;
const SIDE = 56;

export interface HistoryProps {
  readonly kind: "image" | "video";
  /** Id of the request in the result. */
  readonly shown: string | null;
  readonly show: (id: string) => void;
}

export function History({ kind, shown, show }: HistoryProps) {
  const { account_id: account } = useAccount();
  const query = { kind, key_id: "web_token", limit: String(LATEST) };
  const history = useQuery({
    queryKey: ["requests", account, "playground", kind],
    queryFn: ({ signal }) => call("listRequests", { path: { account }, query, signal }),
    refetchInterval: ({ state }) =>
      state.data?.data.some(({ status }) => status === "running") ? RUNNING_MS : USUAL_MS,
  });
  return (
    <Card component="aside" aria-label="History" padding="sm">
      <Stack gap="sm">
        <Title order={2} size="h4">
          History
        </Title>
        <Loaded of={history}>
          {({ data }) =>
            data.length === 0 ? (
              <Text size="sm" c="dimmed">
                {kind === "video"
                  ? "Videos of the playground appear here."
                  : "Images of the playground appear here."}
              </Text>
            ) : (
              <div className="history">
                {data.filter(isGeneration).map((each) => (
                  <UnstyledButton
                    key={each.id}
                    className="history-item"
                    aria-label={`${each.request.prompt ?? each.model}, ${each.status}`}
                    aria-current={each.id === shown}
                    onClick={() => show(each.id)}
                  >
                    <HistoryPicture of={each} />
                  </UnstyledButton>
                ))}
              </div>
            )
          }
        </Loaded>
        <Anchor
          size="xs"
          renderRoot={(props) => (
            <Link
              to="/accounts/$account/logs"
              params={{ account }}
              search={{ key_id: "web_token", kind }}
              {...props}
            />
          )}
        >
          All in Logs
        </Anchor>
      </Stack>
    </Card>
  );
}

const isGeneration = (record: RequestRecord): record is GenerationRecord => record.kind !== "text";

function HistoryPicture({ of: request }: { of: GenerationRecord }) {
  if (request.status === "running") return <Running progress={progressOf(request)} size={SIDE} />;
  const preview = previewOf(request.data[0]);
  if (preview)
    return <img className="thumbnail" src={preview} alt="" width={SIDE} height={SIDE} loading="lazy" />;
  return (
    <Text size="xs" c="dimmed" ta="center" component="span">
      {request.status === "succeeded" ? request.kind : request.status}
    </Text>
  );
}
