import { z } from 'zod';
import type { Account } from '../../access/accounts.ts';
import type { Ctx, RequestCtx, Runtime } from '../../access/context.ts';
import { auditFailedSignIn } from '../../access/failed-sign-ins.ts';
import type { Organization, Passkey } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { NonexistentSubdomainError, ValidationError } from '../../platform/errors.ts';
import { requireText } from '../../platform/text.ts';
import { CHALLENGE_FIELDS, openChallenge, sealChallenge, useUpChallenge } from './challenges.ts';
import { passkeysOf } from './factors.ts';
import { type AttemptCtx, recordRefusal } from './second-step.ts';
import {
  type Assertion,
  assertionIn,
  type Creation,
  challengeIn,
  creationIn,
  relyingPartyOf,
  requestOptions,
  verifyAssertion,
} from './webauthn.ts';

/** Maximum length of a response of a browser, in characters. Those without an attestation are much shorter. */
export const MAX_RESPONSE_LENGTH = 40_000;

/** Content of a challenge that a passkey signs outside of a second step. */
const PasskeyChallenge = z.object({
  ...CHALLENGE_FIELDS,
  purpose: z.enum(['new passkey', 'proof with a passkey', 'sign-in with a passkey']),
  /** The user for whom the challenge was issued. Null for a sign-in. */
  userId: z.int().nullable(),
  /** Whether the request proved a second factor. Without one, a new passkey can only be the first second factor. */
  isFactorProved: z.boolean(),
});
type PasskeyChallenge = z.output<typeof PasskeyChallenge>;

/**
 * Returns a new challenge for a passkey.
 *
 * @param userId Null for a sign-in.
 * @param options `isFactorProved`: whether the request proved a second factor, for a new passkey.
 */
export const newPasskeyChallenge = (
  app: Runtime,
  organizationId: number,
  purpose: PasskeyChallenge['purpose'],
  userId: number | null,
  { isFactorProved = false } = {},
): string => sealChallenge<PasskeyChallenge>(app, { purpose, organizationId, userId, isFactorProved });

/** The error for a response that is malformed, or not valid. @param parameter Name of the parameter with the response. */
export const refusedPasskey = (parameter: string) =>
  new ValidationError('The passkey was not accepted. Try again.', { parameter });

/** Returns the response of a browser that used a passkey. @throws ValidationError if it is malformed or too long. */
export function requireAssertion(text: string, parameter = 'passkey'): Assertion {
  const assertion = assertionIn(requireText(parameter, text, { max: MAX_RESPONSE_LENGTH }));
  if (assertion === undefined) throw refusedPasskey(parameter);
  return assertion;
}

/** Returns the response of a browser that created a passkey. @throws ValidationError if it is malformed or too long. */
export function requireCreation(text: string, parameter = 'response'): Creation {
  const creation = creationIn(requireText(parameter, text, { max: MAX_RESPONSE_LENGTH }));
  if (creation === undefined) throw refusedPasskey(parameter);
  return creation;
}

/** A challenge that a response answers. */
export interface AnsweredChallenge extends Pick<PasskeyChallenge, 'isFactorProved'> {
  readonly text: string;
  /** Marks the challenge as completed. @returns False if it was completed before. */
  readonly useUp: (db: Tx) => Promise<boolean>;
}

/**
 * Returns the challenge that a response answers. Undefined if it was issued for another purpose, organization or user, or has
 * expired.
 */
export function answeredChallenge(
  app: Runtime,
  response: Creation | Assertion,
  expected: Pick<PasskeyChallenge, 'purpose' | 'organizationId' | 'userId'>,
): AnsweredChallenge | undefined {
  const text = challengeIn(response);
  const challenge = text === undefined ? undefined : openChallenge(app, PasskeyChallenge, text);
  if (text === undefined || challenge === undefined) return undefined;
  const { purpose, organizationId, userId, isFactorProved } = challenge;
  const isExpected =
    purpose === expected.purpose && organizationId === expected.organizationId && userId === expected.userId;
  return isExpected ? { text, isFactorProved, useUp: (db) => useUpChallenge(app, db, challenge) } : undefined;
}

/**
 * Returns the options with which a browser uses a passkey as the second step of a sign-in, as JSON text. Null if the person has
 * none.
 *
 * @param challenge Token of the first step.
 */
export async function passkeyStepOf(
  { app, work }: RequestCtx,
  { user, organization }: Account,
  challenge: string,
): Promise<string | null> {
  const passkeys = await passkeysOf(work.db, user);
  return passkeys.length === 0 ? null : requestOptions(relyingPartyOf(app, organization), challenge, passkeys);
}

/**
 * Accepts the use of a passkey of a person as the second factor.
 *
 * @param challenge Text of the challenge that the passkey must have signed. The caller uses it up.
 * @throws ValidationError if the person has no such passkey, the response is not valid, or the counter did not increase.
 */
export async function usePasskey(
  ctx: AttemptCtx,
  account: Account,
  assertion: Assertion,
  challenge: string,
): Promise<void> {
  const passkey = await findPasskey(ctx.work.db, account.organization, assertion);
  const isAccepted =
    passkey?.userId === account.user.id &&
    (await accept(ctx, account.organization, passkey, assertion, { challenge, isAlone: false }));
  if (isAccepted) return;
  recordRefusal(ctx, account, 'wrong passkey');
  throw refusedPasskey('passkey');
}

/**
 * Accepts the use of a passkey of the viewer as proof for a change of their second factors, and uses up its challenge, which
 * `proofOptions` issued.
 *
 * @throws The errors of `usePasskey`.
 */
export async function provePasskeyOf(ctx: Ctx, assertion: Assertion): Promise<void> {
  const { app, organizationId, viewer, work } = ctx;
  const expected = { purpose: 'proof with a passkey', organizationId, userId: viewer.id } as const;
  const challenge = answeredChallenge(app, assertion, expected);
  if (challenge === undefined) throw refusedPasskey('passkey');
  await usePasskey(ctx, viewer, assertion, challenge.text);
  if (!(await challenge.useUp(work.db))) throw refusedPasskey('passkey');
}

/** Returns the options with which a browser proves with a passkey of the viewer that it is the viewer, as JSON text. */
export function proofOptions({ app, organizationId, viewer }: Ctx, passkeys: readonly Passkey[]): string {
  const challenge = newPasskeyChallenge(app, organizationId, 'proof with a passkey', viewer.id);
  return requestOptions(relyingPartyOf(app, viewer.organization), challenge, passkeys);
}

/**
 * Returns the options with which a browser signs in with a passkey alone, as JSON text.
 *
 * @throws NonexistentSubdomainError at the server's own domain, if no organization uses that domain.
 */
export function signInOptions({ app, organization }: RequestCtx): string {
  if (organization === null) throw new NonexistentSubdomainError();
  const challenge = newPasskeyChallenge(app, organization.id, 'sign-in with a passkey', null);
  return requestOptions(relyingPartyOf(app, organization), challenge);
}

/**
 * Returns the account of a person who signs in with a passkey alone, even if the account is deactivated. The authenticator must
 * have verified the person, so the passkey counts as both factors.
 *
 * @throws ValidationError if the response is malformed, too long or not valid, or the challenge has expired or was completed.
 * @throws NonexistentSubdomainError at the server's own domain, if no organization uses that domain.
 */
export async function provePasskey(request: RequestCtx, response: string): Promise<Account> {
  const { app, organization, work } = request;
  if (organization === null) throw new NonexistentSubdomainError();
  const assertion = requireAssertion(response, 'response');
  const expected = { purpose: 'sign-in with a passkey', organizationId: organization.id, userId: null } as const;
  const challenge = answeredChallenge(app, assertion, expected);
  const passkey = await findPasskey(work.db, organization, assertion);
  const isAccepted =
    challenge !== undefined &&
    passkey !== null &&
    (await accept(request, organization, passkey, assertion, { challenge: challenge.text, isAlone: true })) &&
    (await challenge.useUp(work.db));
  if (!isAccepted) {
    const { caller, clientName } = request;
    const { subdomain } = organization;
    auditFailedSignIn(request, {
      subdomain,
      reason: 'wrong passkey',
      caller,
      clientName,
      account: passkey?.user.email,
    });
    throw refusedPasskey('response');
  }
  return { user: passkey.user, organization };
}

const findPasskey = (db: Tx, { id: organizationId }: Organization, { id }: Assertion) =>
  db.passkey.findUnique({
    where: {
      organizationId_credentialId: { organizationId, credentialId: new Uint8Array(Buffer.from(id, 'base64url')) },
    },
    include: { user: true },
  });

/**
 * Verifies a response, and stores the counter and the time of the use. The database decides which of several concurrent responses
 * with the same counter is the first.
 *
 * @returns Whether the response was accepted.
 */
async function accept(
  { app, work }: Pick<RequestCtx, 'app' | 'work'>,
  organization: Organization,
  passkey: Passkey,
  assertion: Assertion,
  expected: { readonly challenge: string; readonly isAlone: boolean },
): Promise<boolean> {
  const use = await verifyAssertion(app, relyingPartyOf(app, organization), passkey, assertion, expected);
  if (use === undefined) return false;
  const { organizationId, credentialId, createdAt } = passkey;
  const { count } = await work.db.passkey.updateMany({
    // Authenticators without a counter send 0 each time.
    where: { organizationId, credentialId, createdAt, counter: use.counter === 0n ? 0n : { lt: use.counter } },
    data: { ...use, lastUsedAt: app.now() },
  });
  return count > 0;
}
