import type { Account } from '../../access/accounts.ts';
import type { Ctx, RequestCtx, Scope } from '../../access/context.ts';
import { requireLiveCredential } from '../../access/sign-in.ts';
import { transact } from '../../events/log.ts';
import type { Passkey } from '../../generated/prisma/client.ts';
import { lockUser } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError, NotFoundError } from '../../platform/errors.ts';
import { oneLine } from '../../platform/mail/outbox.ts';
import { requireText } from '../../platform/text.ts';
import { requireWithin } from '../../platform/totals.ts';
import { queueSecurityMail } from '../security-mail.ts';
import { emitFactorChanged } from '../sign-in/events.ts';
import { type GivenFactorProof, requireFactorProof } from '../sign-in/factor-proof.ts';
import { factorsOf, passkeysOf } from '../sign-in/factors.ts';
import {
  answeredChallenge,
  newPasskeyChallenge,
  proofOptions,
  refusedPasskey,
  requireCreation,
} from '../sign-in/passkeys.ts';
import type { FirstStep } from '../sign-in/second-step.ts';
import {
  creationOptions,
  MAX_CREDENTIAL_ID_BYTES,
  type NewPasskey,
  relyingPartyOf,
  verifyCreation,
} from '../sign-in/webauthn.ts';
import { aboutCodes, type Change, type CheckProof, codesOfFirst, proveAddition, removingFactor } from './changes.ts';
import { completeEnrollment, enrollmentOf, scopeOf } from './enrollment.ts';

const MAX_NAME_LENGTH = 100;
/** Maximum length of a credential id in base64url. */
const MAX_ID_LENGTH = Math.ceil((MAX_CREDENTIAL_ID_BYTES * 4) / 3);
/** Name of a passkey that a person adds during a sign-in. */
const FIRST_NAME = 'Passkey';

/**
 * Begins to add a passkey to the viewer's account.
 *
 * @returns Options for the browser, as JSON text. Valid for ten minutes.
 * @param given Proof with an existing second factor. Required if the viewer has one, and refused otherwise.
 * @throws The errors of `proveAddition`.
 * @throws ForbiddenError for a bot.
 * @throws TotalReachedError if the viewer has 10 passkeys.
 */
export async function beginPasskey(
  ctx: Ctx,
  given?: GivenFactorProof | null,
  currentPassword?: string,
): Promise<string> {
  const { app, organizationId, viewer, work } = ctx;
  const requireFree = async (db: Tx) => requireWithin('passkeys', 1 + (await passkeysOf(db, viewer.user)).length);
  const proved = await proveAddition(ctx, { given, currentPassword, requireFree });
  const existing = await passkeysOf(work.db, viewer.user);
  const challenge = newPasskeyChallenge(app, organizationId, 'new passkey', viewer.id, proved);
  return creationOptions(relyingPartyOf(app, viewer.organization), viewer, challenge, existing);
}

/**
 * Begins to add a passkey during a sign-in, for a person who must have a second factor.
 *
 * @param challenge Token of the first step of the sign-in, which the new passkey signs.
 * @returns Options for the browser, as JSON text.
 * @throws ValidationError if the challenge contains a null byte, or is too long.
 * @throws ConflictError if the challenge is not valid, or the person has a second factor already.
 * @throws OrganizationDeactivatedError, UserDeactivatedError if the account cannot sign in.
 */
export async function beginPasskeyAtSignIn(request: RequestCtx, challenge: string): Promise<string> {
  const { account, text } = await enrollmentOf(request, challenge);
  return creationOptions(relyingPartyOf(request.app, account.organization), account, text, []);
}

/** A passkey that was added. */
export interface AddedPasskey {
  readonly passkey: Passkey;
  /** The recovery codes, which are not stored. Null if the person had another second factor: earlier codes stay valid. */
  readonly recoveryCodes: string[] | null;
}

/**
 * Adds a passkey to the viewer's account, after `beginPasskey`.
 *
 * @param response Response of the browser, as JSON text.
 * @throws ValidationError if the name is blank or too long, or the response is malformed, too long or not valid, or the viewer
 *   began without a second factor and has added another one since.
 * @throws ConflictError if a passkey with this credential id exists in the organization.
 * @throws TotalReachedError if the viewer has 10 passkeys.
 * @throws UnauthorizedError, InvalidApiKeyError if the viewer's session or key has ended in the meantime.
 */
export async function addPasskey(ctx: Ctx, given: string, response: string): Promise<AddedPasskey> {
  const { app, organizationId, viewer } = ctx;
  const name = requireName(given);
  const creation = requireCreation(response);
  const expected = { purpose: 'new passkey', organizationId, userId: viewer.id } as const;
  const challenge = answeredChallenge(app, creation, expected);
  if (challenge === undefined) throw refusedPasskey('response');
  const created = await verifyCreation(app, relyingPartyOf(app, viewer.organization), creation, challenge.text);
  if (created === undefined) throw refusedPasskey('response');
  const addition = storing(ctx, viewer, { ...created, name }, async (tx) => {
    await requireLiveCredential(tx, ctx);
    const hasFactor = (await factorsOf(tx, viewer.user)).count > 0;
    if (hasFactor && !challenge.isFactorProved) throw refusedPasskey('response');
    if (!(await challenge.useUp(tx))) throw refusedPasskey('response');
  });
  return transact(ctx, addition);
}

/**
 * Checks a passkey that a person adds during a sign-in. It must have signed the challenge.
 *
 * @param response Response of the browser, as JSON text.
 * @returns A function that adds the passkey, completes the challenge, and returns the recovery codes, which are not stored. It
 *   throws ConflictError if the person has a second factor already, or the challenge was completed.
 * @throws ValidationError if the response is malformed or not valid.
 */
export async function addPasskeyAtSignIn(
  request: RequestCtx,
  first: FirstStep,
  response: string,
): Promise<Change<string[] | null>> {
  const { account, text } = first;
  const creation = requireCreation(response, 'passkey');
  const party = relyingPartyOf(request.app, account.organization);
  const created = await verifyCreation(request.app, party, creation, text);
  if (created === undefined) throw refusedPasskey('passkey');
  const addition = storing(scopeOf(request, account), account, { ...created, name: FIRST_NAME }, (tx) =>
    completeEnrollment(request, tx, first),
  );
  return async (tx, emit) => (await addition(tx, emit)).recoveryCodes;
}

/** Returns a function that stores a passkey. */
function storing(
  scope: Scope,
  { user, organization }: Account,
  created: NewPasskey & Pick<Passkey, 'name'>,
  checkProof: CheckProof,
): Change<AddedPasskey> {
  const { app, organizationId } = scope;
  const { credentialId } = created;
  const passkey = { ...created, organizationId, userId: user.id, createdAt: app.now(), lastUsedAt: null };
  return async (tx, emit) => {
    await lockUser(tx, user);
    await checkProof(tx);
    requireWithin('passkeys', 1 + (await tx.passkey.count({ where: { organizationId, userId: user.id } })));
    const recoveryCodes = await codesOfFirst(tx, user);
    const { count } = await tx.passkey.createMany({ data: [passkey], skipDuplicates: true });
    if (count === 0) throw new ConflictError('This passkey was added before.', { parameter: 'response' });
    // An authenticator app that was begun without a second factor would otherwise be added beside this one without its proof.
    await tx.secondFactor.deleteMany({ where: { organizationId, userId: user.id, confirmedAt: null } });
    emit.audit({ action: 'passkey_added', objectType: 'user', objectId: user.id, actorId: user.id });
    emitFactorChanged(emit, user, recoveryCodes !== null);
    await queueSecurityMail(tx, organization, user, {
      subject: 'A passkey',
      happened: `the passkey "${oneLine(created.name)}" was added to your account. It can be used to sign in.${aboutCodes(recoveryCodes)}`,
    });
    return {
      passkey: await tx.passkey.findUniqueOrThrow({ where: keyOf(organizationId, credentialId) }),
      recoveryCodes,
    };
  };
}

const keyOf = (organizationId: number, credentialId: Uint8Array<ArrayBuffer>) => ({
  organizationId_credentialId: { organizationId, credentialId },
});

function requireName(given: string): string {
  return requireText('name', given, { strip: true, min: 1, max: MAX_NAME_LENGTH });
}

/** Returns the bytes of a credential id. @throws ValidationError if it contains a null byte, or is too long. */
function requireId(given: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(requireText('credential_id', given, { max: MAX_ID_LENGTH }), 'base64url'));
}

/** Returns a passkey of the viewer. @throws NotFoundError if the viewer has no such passkey. */
async function findOwn(
  db: Tx,
  { organizationId, viewer }: Ctx,
  credentialId: Uint8Array<ArrayBuffer>,
): Promise<Passkey> {
  const passkey = await db.passkey.findUnique({ where: keyOf(organizationId, credentialId) });
  if (passkey?.userId !== viewer.id) throw new NotFoundError('No such passkey.', { parameter: 'credential_id' });
  return passkey;
}

/**
 * Renames a passkey of the viewer.
 *
 * @param id Credential id in base64url.
 * @throws ValidationError if the name is blank, or the name or the id is too long.
 * @throws NotFoundError if the viewer has no such passkey.
 */
export function renamePasskey(ctx: Ctx, id: string, given: string): Promise<Passkey> {
  const credentialId = requireId(id);
  const name = requireName(given);
  return transact(ctx, async (tx, emit) => {
    await lockUser(tx, ctx.viewer.user);
    const passkey = await findOwn(tx, ctx, credentialId);
    if (passkey.name === name) return passkey;
    const renamed = await tx.passkey.update({ where: keyOf(ctx.organizationId, credentialId), data: { name } });
    emit.audit({ action: 'passkey_renamed', objectType: 'user', objectId: ctx.viewer.id });
    emitFactorChanged(emit, ctx.viewer.user, false);
    return renamed;
  });
}

/**
 * Removes a passkey of the viewer. Recovery codes are removed with the last second factor.
 *
 * @param id Credential id in base64url.
 * @throws NotFoundError if the viewer has no such passkey.
 * @throws The errors of `removingFactor`.
 */
export async function removePasskey(
  ctx: Ctx,
  id: string,
  given: GivenFactorProof,
  currentPassword?: string,
): Promise<void> {
  const credentialId = requireId(id);
  const proof = requireFactorProof(given);
  const requireExisting = async (db: Tx) => {
    await findOwn(db, ctx, credentialId);
  };
  await removingFactor(ctx, { proof, currentPassword, requireExisting }, async (tx, emit) => {
    const { name } = await tx.passkey.delete({ where: keyOf(ctx.organizationId, credentialId) });
    emit.audit({ action: 'passkey_removed', objectType: 'user', objectId: ctx.viewer.id });
    return { subject: 'A passkey', happened: `the passkey "${oneLine(name)}" was removed from your account.` };
  });
}

/**
 * Begins a proof with a passkey of the viewer, for changes of their second factors.
 *
 * @returns Options for the browser, as JSON text. Valid for ten minutes.
 * @throws ConflictError if the viewer has no passkey.
 */
export async function beginPasskeyProof(ctx: Ctx): Promise<string> {
  const passkeys = await passkeysOf(ctx.work.db, ctx.viewer.user);
  if (passkeys.length === 0) throw new ConflictError('You have no passkey.');
  return proofOptions(ctx, passkeys);
}
