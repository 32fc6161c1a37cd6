// The budget of a member: the limit that all keys of the member share, with the spent part, and the dialog that sets it.
import { type AnswerOf, type BudgetRecord, memberBudgetBody } from "@gr/console-api";
import { Badge, Button, Modal, Stack, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { call } from "../../api/console-client.ts";
import { fromNow, moneyText, shortDecimal } from "../../parts/figures/figure-text.ts";
import { LimitBar } from "../../parts/figures/limit-bar.tsx";
import { useAct } from "../../parts/forms/act.ts";
import { showAtField } from "../../parts/forms/field-errors.ts";
import { byRules } from "../../parts/forms/form-rules.ts";
import { LimitFields, type LimitValues, limitOf } from "../../parts/forms/limit-fields.tsx";
import { useAccount } from "../../session.ts";

type Member = AnswerOf<"listMembers">["data"][number];

interface MemberBudgetProps {
  readonly member: Member;
  /** undefined = the member has none */
  readonly budget: BudgetRecord | undefined;
}

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

function SetBudget({ member, budget, close }: MemberBudgetProps & { close: () => void }) {
  const { account_id: account } = useAccount();
  const form = useForm<LimitValues>({
    initialValues: {
      spend_limit: shortDecimal(budget?.spend_limit ?? ""),
      spend_limit_period: budget?.spend_limit_period ?? "month",
    },
    validate: byRules(memberBudgetBody, limitOf),
  });
  const set = useAct({
    send: (values: LimitValues) =>
      call("setMemberBudget", { path: { account, person: member.person_id }, body: limitOf(values) }),
    changes: [
      ["members", account],
      ["keys", account],
    ],
    done: "The budget is set.",
    after: close,
    showAt: (error) => showAtField(form, error),
  });
  return (
    <Modal opened onClose={close} title={`Budget of ${member.name || member.email}`}>
      <form onSubmit={form.onSubmit((values) => set.mutate(values))} noValidate>
        <Stack>
          <LimitFields form={form} hasFocus />
          <Text size="xs" c="dimmed">
            All keys that the member has created, each new one, and the playground share this limit.
            {budget !== undefined && " Changing the reset period resets spend to zero."}
          </Text>
          <Button type="submit" loading={set.isPending}>
            Save
          </Button>
        </Stack>
      </form>
    </Modal>
  );
}
