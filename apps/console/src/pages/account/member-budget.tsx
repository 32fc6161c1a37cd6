// The budget of a member: the limit that all keys of the member share, with the spent part, and the dialog that sets it.
import { Badge, Button, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { fromNow, moneyText } from "../../parts/figures/figure-text.ts";
import { LimitBar } from "../../parts/figures/limit-bar.tsx";
import { later } from "../../parts/later.tsx";
import { useAccount } from "../../session.ts";
import type { MemberBudgetProps } from "./set-budget.tsx";

const SetBudget = later(async () => (await import("./set-budget.tsx")).SetBudget);

export function MemberBudget({ member, budget }: MemberBudgetProps) {
  const { may } = useAccount();
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <Stack gap={4} align="stretch">
      {budget === undefined ? (
        <Text size="sm" c="dimmed">
          no budget
        </Text>
      ) : (
        <>
          <LimitBar of={budget} label={`Share of the budget of ${member.email} that is spent`} />
          <Text size="xs" c="dimmed">
            {budget.remaining !== null && `${moneyText(budget.remaining)} left`}
            {budget.resets_at !== null && `, resets ${fromNow(budget.resets_at)}`}
          </Text>
          {budget.state !== "open" && (
            <Badge color="red" variant="light">
              {budget.state}
            </Badge>
          )}
        </>
      )}
      {may(member.role === "owner" ? "owner" : "admin") && (
        <Button
          variant="default"
          size="compact-sm"
          onClick={open}
          aria-label={`${budget === undefined ? "Set" : "Change"} budget of ${member.email}`}
        >
          {budget === undefined ? "Set budget" : "Change budget"}
        </Button>
      )}
      {isOpen && <SetBudget member={member} budget={budget} close={close} />}
    </Stack>
  );
}
