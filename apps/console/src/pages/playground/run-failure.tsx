// A failed request of the playground, with the remedy where the account has one.
import { Anchor, Stack } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { ApiError } from "../../api/api-error.ts";
import { Failure } from "../../parts/lists/page-states.tsx";
import { useAccount } from "../../session.ts";

export function RunFailure({ error, retry }: { error: unknown; retry?: () => void }) {
  const { account_id: account } = useAccount();
  const lacksCredit = error instanceof ApiError && error.code === "insufficient_credits";
  return (
    <Stack gap="xs" align="flex-start">
      <Failure error={error} retry={retry} />
      {lacksCredit && (
        <Anchor
          size="sm"
          renderRoot={(props) => <Link to="/accounts/$account/credits" params={{ account }} {...props} />}
        >
          Add credit
        </Anchor>
      )}
    </Stack>
  );
}
