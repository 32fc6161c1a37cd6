// Banner above each page of a suspended account: the account spends nothing, the reason, and the contact.
import { Alert, Anchor, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { call } from "../api/console-client.ts";
import { Time } from "../parts/figures/figures.tsx";
import { useAccount } from "../session.ts";

const AGAIN_MS = 60_000;

export function Suspended() {
  const { account_id: account } = useAccount();
  const { data } = useQuery({
    queryKey: ["standing", account],
    queryFn: ({ signal }) => call("readStanding", { path: { account }, signal }),
    refetchInterval: AGAIN_MS,
  });
  // If this query fails, the page fails too and shows the error.
  if (!data?.suspension) return null;
  const { since, reason, contact } = data.suspension;
  return (
    <Alert color="red" title="This account is suspended" role="alert" mb="md">
      <Text size="sm">
        The operator of this router has suspended it
        {since !== null && (
          <>
            {" "}
            on <Time at={since} />
          </>
        )}
        {reason !== null && `: ${reason}`}. Its keys and the playground cannot spend. Running requests
        continue, and all pages stay readable.
      </Text>
      <Text size="sm" mt="xs">
        {contact === null ? "Only the operator can lift it." : "Only the operator can lift it: "}
        {contact !== null && (
          <Anchor c="inherit" href={contact.includes("://") ? contact : `mailto:${contact}`}>
            {contact}
          </Anchor>
        )}
      </Text>
    </Alert>
  );
}
