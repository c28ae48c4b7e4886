import { signedIn } from '../../access/context.ts';
import { OrganizationDeactivatedError, UserDeactivatedError } from '../../access/errors.ts';
import { batchResolver } from '../../api/graphql/loading/batch-resolvers.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { type EventSource, eventType, outdatedOf, outdatedRoot } from '../../api/graphql/schema/event-types.ts';
import { mutation, publicMutation } from '../../api/graphql/schema/mutation.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import type { Passkey } from '../../generated/prisma/client.ts';
import { userReference } from '../../people/event-projections.ts';
import { User } from '../../people/graphql.ts';
import { canSeeSecondFactor, haveSecondFactor } from '../../people/second-factors.ts';
import { NonexistentSubdomainError, RateLimitHitError } from '../../platform/errors.ts';
import { PasswordRequiredError } from '../sign-in/errors.ts';
import type { FactorChange } from '../sign-in/events.ts';
import { FactorProof, REQUEST_OPTIONS } from '../sign-in/graphql-inputs.ts';
import { CURRENT_PASSWORD } from '../sign-in/proof.ts';
import { credentialIdOf } from '../sign-in/webauthn.ts';
import {
  addPasskey,
  beginPasskey,
  beginPasskeyAtSignIn,
  beginPasskeyProof,
  removePasskey,
  renamePasskey,
} from './passkeys.ts';
import {
  beginEnrollment,
  beginEnrollmentAtSignIn,
  confirmEnrollment,
  type FactorState,
  factorState,
  removeFactor,
  replaceRecoveryCodes,
  resetFactor,
} from './service.ts';

const CREDENTIAL_ID = 'Id that the authenticator chose, in base64url.';
const NAME = 'Name of the passkey, at most 100 characters.';

const OwnPasskey = builder.objectRef<Passkey>('OwnPasskey').implement({
  description: 'A passkey with which the viewer signs in.',
  fields: (t) => ({
    credentialId: t.string({ description: CREDENTIAL_ID, resolve: credentialIdOf }),
    name: t.exposeString('name', { description: NAME }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time at which the viewer added it.' }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time of the last use. Null if there was none.',
    }),
    isBackedUp: t.exposeBoolean('isBackedUp', {
      description: 'Whether a copy of the passkey existed outside of the device at the last use.',
    }),
  }),
});

const OwnSecondFactor = builder.objectRef<FactorState>('OwnSecondFactor').implement({
  description:
    "State of the viewer's second factors: at most one authenticator app that shows time-based codes, passkeys, and recovery codes.",
  fields: (t) => ({
    addedAt: t.expose('addedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time at which the viewer added the authenticator app. Null if there is none.',
    }),
    passkeys: t.field({
      type: [OwnPasskey],
      description: 'Passkeys of the viewer, oldest first: at most 10.',
      resolve: ({ passkeys }) => passkeys,
    }),
    recoveryCodesLeft: t.exposeInt('recoveryCodesLeft', {
      description: 'Number of unused recovery codes, at most 10.',
    }),
    isRequired: t.exposeBoolean('isRequired', {
      description: 'Whether the organization requires a second factor of the viewer.',
    }),
  }),
});

builder.queryField('ownSecondFactor', (t) =>
  t.field({
    type: OwnSecondFactor,
    nullable: true,
    description: "The viewer's second factors.",
    resolve: (_root, _args, ctx) => factorState(signedIn(ctx)),
  }),
);

builder.prismaObjectField(User, 'hasSecondFactor', (t) =>
  t.boolean({
    nullable: true,
    description:
      'Whether the person has a second factor: an authenticator app or a passkey. Null for bots, and unless the user is the ' +
      'viewer or the viewer is an administrator. The value of an owner is visible to owners only. API keys need the scope ' +
      '`administration` to read the values of other people.',
    select: { isSystem: true },
    resolve: batchResolver((users, ctx) => {
      const viewing = signedIn(ctx);
      return haveSecondFactor(ctx).loadAll(users.map((user) => (canSeeSecondFactor(viewing, user) ? user.id : null)));
    }),
  }),
);

const ENROLLMENT = {
  secret: {
    type: 'String',
    description: 'Secret for the authenticator app, in base32. It takes effect when it is confirmed with a code.',
  },
  uri: { type: 'String', description: 'URI of the secret, to be shown as a QR code.' },
} as const;
const CODES = {
  type: ['String'] as ['String'],
  description: 'Codes that can each be used once instead of the second factor: at most 10. They cannot be read again.',
};
const CODES_OF_FIRST = {
  type: CODES.type,
  nullable: true,
  description: `${CODES.description} Null if the viewer had another second factor: earlier codes stay valid.`,
} as const;
const OPTIONS = {
  options: {
    type: 'String',
    description:
      'Options of `navigator.credentials.create`, as JSON text for `PublicKeyCredential.parseCreationOptionsFromJSON`.',
  },
} as const;
const PROVED = 'Requires a proof: a code, or the response of a passkey to the options of `beginPasskeyProof`.';
const PROVED_IF_ANY = `If the viewer has a second factor, ${PROVED.replace('Requires', 'requires')}`;
const LAST =
  'If it is the last second factor, the recovery codes are removed as well; refused if the organization ' +
  'requires the viewer to have one.';
const PROOF = 'Proof with a second factor of the viewer.';
const PROOF_IF_ANY = `${PROOF} Required if the viewer has one, and refused otherwise.`;
const errors = [PasswordRequiredError, RateLimitHitError];

mutation('beginSecondFactor', {
  scope: 'administration',
  ignoresIdempotencyKey: true,
  provesIdentity: true,
  description:
    "Begins to add an authenticator app to the viewer's account. Complete it with `confirmSecondFactor`. " +
    PROVED_IF_ANY,
  input: (t) => ({
    proof: t.field({ type: FactorProof, required: false, description: PROOF_IF_ANY }),
    currentPassword: t.string({ required: false, description: CURRENT_PASSWORD }),
  }),
  payload: () => ENROLLMENT,
  errors,
  resolve: (ctx, { proof, currentPassword }) => beginEnrollment(ctx, proof, currentPassword ?? undefined),
});

publicMutation('beginSecondFactorAtSignIn', {
  ignoresIdempotencyKey: true,
  description:
    'Begins to add an authenticator app during a sign-in, for a user who must have a second factor but has none. Complete it ' +
    'with `completeSignIn`.',
  input: (t) => ({ challenge: t.string({ description: 'Challenge of `SecondFactorRequiredError`.' }) }),
  payload: () => ENROLLMENT,
  errors: [UserDeactivatedError, OrganizationDeactivatedError, NonexistentSubdomainError],
  resolve: (request, { challenge }) => beginEnrollmentAtSignIn(request, challenge),
});

mutation('confirmSecondFactor', {
  scope: 'administration',
  ignoresIdempotencyKey: true,
  provesIdentity: true,
  description:
    "Confirms the viewer's authenticator app. From then on, a sign-in with the password needs a code. After five wrong codes " +
    'within 30 minutes, further codes are refused.',
  input: (t) => ({ code: t.string({ description: 'Code of the authenticator app, six digits.' }) }),
  payload: () => ({ recoveryCodes: CODES_OF_FIRST }),
  errors: [RateLimitHitError],
  resolve: async (ctx, { code }) => ({ recoveryCodes: await confirmEnrollment(ctx, code) }),
});

mutation('replaceRecoveryCodes', {
  scope: 'administration',
  ignoresIdempotencyKey: true,
  provesIdentity: true,
  description: `Replaces the viewer's recovery codes. ${PROVED}`,
  input: (t) => ({
    proof: t.field({ type: FactorProof, description: PROOF }),
    currentPassword: t.string({ required: false, description: CURRENT_PASSWORD }),
  }),
  payload: () => ({ recoveryCodes: CODES }),
  errors,
  resolve: async (ctx, { proof, currentPassword }) => ({
    recoveryCodes: await replaceRecoveryCodes(ctx, proof, currentPassword ?? undefined),
  }),
});

mutation('removeSecondFactor', {
  scope: 'administration',
  ignoresIdempotencyKey: true,
  provesIdentity: true,
  description: `Removes the viewer's authenticator app. ${LAST} ${PROVED}`,
  input: (t) => ({
    proof: t.field({ type: FactorProof, description: PROOF }),
    currentPassword: t.string({ required: false, description: CURRENT_PASSWORD }),
  }),
  payload: () => ({}),
  errors,
  resolve: async (ctx, { proof, currentPassword }) => {
    await removeFactor(ctx, proof, currentPassword ?? undefined);
    return {};
  },
});

mutation('beginPasskey', {
  scope: 'administration',
  ignoresIdempotencyKey: true,
  provesIdentity: true,
  description:
    "Begins to add a passkey to the viewer's account. Complete it with `addPasskey` within ten minutes. " +
    PROVED_IF_ANY,
  input: (t) => ({
    proof: t.field({ type: FactorProof, required: false, description: PROOF_IF_ANY }),
    currentPassword: t.string({ required: false, description: CURRENT_PASSWORD }),
  }),
  payload: () => OPTIONS,
  errors,
  resolve: async (ctx, { proof, currentPassword }) => ({
    options: await beginPasskey(ctx, proof, currentPassword ?? undefined),
  }),
});

publicMutation('beginPasskeyAtSignIn', {
  ignoresIdempotencyKey: true,
  description:
    'Begins to add a passkey during a sign-in, for a user who must have a second factor but has none. Complete it with ' +
    '`completeSignIn`.',
  input: (t) => ({ challenge: t.string({ description: 'Challenge of `SecondFactorRequiredError`.' }) }),
  payload: () => OPTIONS,
  errors: [UserDeactivatedError, OrganizationDeactivatedError, NonexistentSubdomainError],
  resolve: async (request, { challenge }) => ({ options: await beginPasskeyAtSignIn(request, challenge) }),
});

mutation('addPasskey', {
  scope: 'administration',
  ignoresIdempotencyKey: true,
  provesIdentity: true,
  description:
    "Adds a passkey to the viewer's account. From then on, a sign-in with the password needs a second factor, and the passkey can " +
    'be used to sign in without the password.',
  input: (t) => ({
    name: t.string({ description: NAME }),
    response: t.string({
      description:
        'Response of the browser that created the passkey (`navigator.credentials.create`), as JSON text of its `toJSON`. At ' +
        'most 40,000 characters.',
    }),
  }),
  payload: () => ({
    passkey: { type: OwnPasskey, description: 'The new passkey.' },
    recoveryCodes: CODES_OF_FIRST,
  }),
  resolve: (ctx, { name, response }) => addPasskey(ctx, name, response),
});

const WHICH = 'Credential id of a passkey of the viewer.';

mutation('renamePasskey', {
  scope: 'administration',
  description: 'Renames a passkey of the viewer.',
  input: (t) => ({ credentialId: t.string({ description: WHICH }), name: t.string({ description: NAME }) }),
  payload: () => ({ passkey: { type: OwnPasskey, description: 'The passkey after the change.' } }),
  resolve: async (ctx, { credentialId, name }) => ({ passkey: await renamePasskey(ctx, credentialId, name) }),
});

mutation('removePasskey', {
  scope: 'administration',
  ignoresIdempotencyKey: true,
  provesIdentity: true,
  description: `Removes a passkey of the viewer. ${LAST} ${PROVED}`,
  input: (t) => ({
    credentialId: t.string({ description: WHICH }),
    proof: t.field({ type: FactorProof, description: PROOF }),
    currentPassword: t.string({ required: false, description: CURRENT_PASSWORD }),
  }),
  payload: () => ({ credentialId: { type: 'String', description: 'Credential id of the removed passkey.' } }),
  errors,
  resolve: async (ctx, { credentialId, proof, currentPassword }) => {
    await removePasskey(ctx, credentialId, proof, currentPassword ?? undefined);
    return { credentialId };
  },
});

mutation('beginPasskeyProof', {
  scope: 'administration',
  ignoresIdempotencyKey: true,
  description:
    'Returns the options with which the browser asks for a passkey of the viewer. Its response is the `proof` for one change ' +
    "of the viewer's second factors within ten minutes.",
  payload: () => ({ options: { type: 'String', description: REQUEST_OPTIONS } }),
  resolve: async (ctx) => ({ options: await beginPasskeyProof(ctx) }),
});

mutation('resetSecondFactor', {
  scope: 'administration',
  ignoresIdempotencyKey: true,
  description:
    'Removes all second factors of another person who has lost them, and notifies the person by email. For ' +
    'administrators; only owners can do this for owners.',
  input: (t) => ({
    userId: t.id({ ...refersTo('User'), description: 'Id of the user.' }),
    currentPassword: t.string({ required: false, description: CURRENT_PASSWORD }),
  }),
  payload: () => ({ user: { type: User, description: 'The user whose second factors were removed.' } }),
  errors,
  resolve: async (ctx, { userId, currentPassword }) => ({
    user: await resetFactor(ctx, userId, currentPassword ?? undefined),
  }),
});

interface Changed {
  readonly user_id: number;
}

eventType<Changed, FactorChange>(
  'second_factor_changed',
  undefined,
  'SecondFactorChangedEvent',
  (t) => ({
    user: t.field({
      type: User,
      nullable: true,
      description: 'The person.',
      ...projectedFromEvent(userReference, ({ event }: EventSource<Changed, FactorChange>) => event.user_id),
    }),
  }),
  {
    description:
      'The second factors or recovery codes of a person changed, also by the use of a recovery code. Sent to the person. If ' +
      '`hasSecondFactor` changed, also sent to administrators. If the person is an owner, only owners receive it besides the ' +
      'person.',
    outdates: ({ event, facts }) => [
      ...(facts.isOwn ? [outdatedRoot('ownSecondFactor')] : []),
      ...outdatedOf('User', [event.user_id], ['hasSecondFactor']),
    ],
  },
);
