// ConsoleOperatorService: operators and launchers change people, and operators compare the statements of providers.
import { email, name } from "@gr/console-api";
import { ServiceError } from "@gr/proto";
import { ConsoleOperatorService } from "@gr/proto/console";
import { implement, parseRequest, type RpcService } from "@gr/runtime";
import { z } from "zod";
import type { ConsoleDeps } from "./console-deps.ts";
import { SIGN_IN_LINK_S } from "./people/people.ts";

const ownerFields = z.object({ email, account_name: name.optional(), name: name.optional() });
const renameFields = z.object({ name });
const suspensionFields = z.object({ reason: name });
const linkFields = z.object({ email });
const operatorFields = z.object({ email, name: name.optional() });

export function consoleRpc(deps: ConsoleDeps): RpcService {
  const { people, store, operators, accounts, links, clock, reconcile, comparisons, statements } = deps;
  return implement(ConsoleOperatorService, {
    async addOwner({ accountId, ...sent }) {
      const fields = parseRequest(ownerFields, {
        email: sent.email,
        ...(sent.accountName === "" ? {} : { account_name: sent.accountName }),
        ...(sent.name === "" ? {} : { name: sent.name }),
      });
      const account = await accounts.require(accountId, "account_id");
      const person = await people.findOrMake(fields.email, fields.name ?? fields.email);
      const { account_name: accountName = account.name } = fields;
      const isUnowned = account.members === 0;
      if (isUnowned && accountName !== account.name) await accounts.rename(accountId, accountName);
      if ((await store.roleOf(accountId, person.id)) !== "owner") {
        await store.addMember(accountId, person.id, "owner");
        const detail = { email: fields.email, role: "owner" };
        const event = { action: "member.added", subject: person.id, detail };
        await store.audit({ accountId, actor: null, address: null, ...event });
      }
      return { personId: person.id };
    },
    async renameAccount({ accountId, ...sent }) {
      const fields = parseRequest(renameFields, { name: sent.name });
      const { id } = await accounts.require(accountId, "account_id");
      const before = await accounts.rename(id, fields.name);
      const detail = { from: before, to: fields.name };
      await store.audit({
        ...{ accountId: id, actor: null, address: null, subject: id },
        ...{ action: "account.renamed", detail },
      });
      return {};
    },
    async setSuspended({ accountId, suspended, ...sent }) {
      const { reason } = parseRequest(suspensionFields, { reason: sent.reason });
      const { id } = await accounts.require(accountId, "account_id");
      await accounts.setSuspended(id, suspended, reason);
      return {};
    },
    async createSignInLink(request) {
      const fields = parseRequest(linkFields, { email: request.email });
      if ((await people.find(fields.email)) === undefined) throw nobody(fields.email);
      const url = links.signIn(await people.createSignInToken(fields.email));
      return { url, expiresAt: BigInt(clock.now() + SIGN_IN_LINK_S * 1_000) };
    },
    async addOperator(sent) {
      const fields = parseRequest(operatorFields, {
        email: sent.email,
        ...(sent.name === "" ? {} : { name: sent.name }),
      });
      const person = await people.findOrMake(fields.email, fields.name ?? fields.email);
      await operators.add(person.id);
      return { personId: person.id };
    },
    async removeOperator(request) {
      const fields = parseRequest(linkFields, { email: request.email });
      const person = await people.find(fields.email);
      if (person === undefined) throw nobody(fields.email);
      await operators.remove(person.id);
      return {};
    },
    async reconcileStatement({ statement, fromDay: from, toDay: to, csv }) {
      return { comparison: await reconcile.compare({ statement, days: { from, to }, csv }) };
    },
    async listComparisons() {
      const stored = await comparisons.list(statements.map(({ name }) => name));
      return {
        comparisons: stored.flatMap(({ comparison }) => (comparison === undefined ? [] : [comparison])),
      };
    },
  });
}

function nobody(address: string): ServiceError {
  return new ServiceError("person_not_found", `Nobody has the address ${address}.`, { param: "email" });
}
