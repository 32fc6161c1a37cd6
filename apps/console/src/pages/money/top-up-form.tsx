// The top-up form begins a payment at Stripe: a usual amount or another one, and the balance afterwards.
import { paymentBody } from "@gr/console-api";
import { Button, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/console-client.ts";
import { sumUsd, wholeCentsText } from "../../parts/figures/figure-text.ts";
import { useAct } from "../../parts/forms/act.ts";
import { showAtField } from "../../parts/forms/field-errors.ts";
import { byRules } from "../../parts/forms/form-rules.ts";
import { UsualValues } from "../../parts/forms/usual-values.tsx";
import { useAccount } from "../../session.ts";
import { Line } from "./balance-card.tsx";

const USUAL = [
  ["25.00", "$25"],
  ["50.00", "$50"],
  ["100.00", "$100"],
  ["250.00", "$250"],
] as const;

export function TopUpForm() {
  const { account_id: account } = useAccount();
  const { data: home } = useQuery({
    queryKey: ["home", account],
    queryFn: ({ signal }) => call("readHome", { path: { account }, signal }),
  });
  const form = useForm({ initialValues: { amount: "" }, validate: byRules(paymentBody, bodyOf) });
  const begin = useAct({
    send: (body: { amount: string }) => call("createPayment", { path: { account }, body }),
    after: ({ url }) => window.location.assign(url),
    showAt: (error) => showAtField(form, error),
  });
  const { amount } = bodyOf(form.values);
  const isAmount = paymentBody.safeParse({ amount }).success;
  return (
    <form className="card-form" onSubmit={form.onSubmit((values) => begin.mutate(bodyOf(values)))} noValidate>
      <UsualValues
        label="Usual amounts"
        choices={USUAL}
        value={amount}
        onChange={(usual) => form.setFieldValue("amount", usual)}
      />
      <TextInput
        label="Amount, USD"
        inputMode="decimal"
        placeholder="100.00"
        leftSection={<span aria-hidden="true">$</span>}
        {...form.getInputProps("amount")}
      />
      {home !== undefined && (
        <Line name="Balance afterwards">
          {isAmount && !home.balance.startsWith("-") ? wholeCentsText(sumUsd([home.balance, amount])) : "–"}
        </Line>
      )}
      <Text size="xs" c="dimmed">
        You pay at Stripe, which asks for your address and tax ID for the invoice. Your credits arrive when
        Stripe confirms the payment.
      </Text>
      <Button type="submit" mt="auto" loading={begin.isPending || begin.isSuccess}>
        Continue to payment
      </Button>
    </form>
  );
}

function bodyOf({ amount }: { amount: string }): { amount: string } {
  return { amount: amount.trim().replace(/^\$/, "") };
}
