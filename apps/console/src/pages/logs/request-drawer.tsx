// The request drawer shows one request: its parameters, its answer, its cost and the reason. The address contains its
// id.
import type { AnswerOf, RequestRecord } from "@gr/console-api";
import { Alert, Code, Drawer, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/console-client.ts";
import { secondsText } from "../../parts/figures/figure-text.ts";
import { Money, Time } from "../../parts/figures/figures.tsx";
import { PriceLines } from "../../parts/figures/price-lines.tsx";
import { DetailRow, DetailRows } from "../../parts/lists/detail-rows.tsx";
import { Loaded } from "../../parts/lists/loaded.tsx";
import { RequestStatus } from "../../parts/lists/request-status.tsx";
import { useAccount } from "../../session.ts";
import { GenerationDetails, GenerationFiles } from "./generation-details.tsx";
import { RemoveMedia } from "./remove-media.tsx";
import { TextDetails } from "./text-details.tsx";

/** Interval while it runs. */
const AGAIN_MS = 2_000;

export function RequestDrawer({ id, close }: { id: string | undefined; close: () => void }) {
  return (
    <Drawer opened={id !== undefined} onClose={close} position="right" size="lg" title="Request">
      {id !== undefined && <LoadedRequest id={id} />}
    </Drawer>
  );
}

function LoadedRequest({ id }: { id: string }) {
  const { account_id: account } = useAccount();
  const request = useQuery({
    queryKey: ["request", account, id],
    queryFn: ({ signal }) => call("readRequest", { path: { account, id }, signal }),
    refetchInterval: ({ state }) => (state.data?.request.status === "running" ? AGAIN_MS : false),
  });
  return <Loaded of={request}>{(data) => <Details of={data} />}</Loaded>;
}

function Details({ of: { request, price } }: { of: AnswerOf<"readRequest"> }) {
  const { error, charged } = request;
  return (
    <Stack>
      {error !== null && (
        <Alert color="red" title={error.code ?? error.type}>
          {error.message}
        </Alert>
      )}
      {request.kind !== "text" && <GenerationFiles of={request} />}
      <DetailRows>
        <DetailRow name="Request">
          <Code className="break-anywhere">{request.id}</Code>
        </DetailRow>
        <DetailRow name="Model">{request.model}</DetailRow>
        <DetailRow name="Status">
          <RequestStatus of={request} />
        </DetailRow>
        <DetailRow name="Charged">{charged === null ? "pending" : <Money usd={charged} strong />}</DetailRow>
        <DetailRow name="Asked">
          <Time at={request.created_at} />
        </DetailRow>
        <DetailRow name="Took">{tookText(request)}</DetailRow>
        <DetailRow name="Key">
          <Code className="break-anywhere">{request.key_id}</Code>
        </DetailRow>
      </DetailRows>
      <PriceLines price={price} />
      {request.kind === "text" ? <TextDetails of={request} /> : <GenerationDetails of={request} />}
      {request.kind !== "text" && <RemoveMedia of={request} />}
    </Stack>
  );
}

function tookText({ status, created_at, finished_at }: RequestRecord): string {
  if (finished_at === null) return status === "running" ? "runs" : "unknown";
  return secondsText(Date.parse(finished_at) - Date.parse(created_at));
}
