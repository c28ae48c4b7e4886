import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { revokeNamedKeys } from '../../src/access/named-keys.ts';
import { pruneAuditLog } from '../../src/administration/audit-log/retention.ts';
import type { AUDIT_ACTIONS } from '../../src/events/audit.ts';
import { transact } from '../../src/events/log.ts';
import type { AuditLogEntry } from '../../src/generated/prisma/client.ts';
import { routes } from '../../src/server/registries/features.ts';
import { buildSchema } from '../../src/server/registries/schema.ts';
import { runCommand } from '../helpers/control.ts';
import { EventStream } from '../helpers/events.ts';
import { globalId } from '../helpers/global-ids.ts';
import { documentOf, GRAPHQL_CALLS, REFUSALS } from '../helpers/graphql-calls.ts';
import { type Json, send } from '../helpers/http.ts';
import type { InProcess } from '../helpers/in-process.ts';
import type { Method, Person } from '../helpers/person.ts';
import { pathOf, REST_CALLS } from '../helpers/rest-calls.ts';
import { makeScene, type Scene } from '../helpers/scene.ts';
import { createOrganization, OWNER_PASSWORD } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';

const schema = buildSchema();

/** Administrative mutations, and those about sign-in, keys and roles, each with one of the actions of its entries. */
const AUDITED: Readonly<Record<string, (typeof AUDIT_ACTIONS)[number]>> = {
  addCustomEmoji: 'emoji_added',
  addOrganizationDomain: 'domain_added',
  archiveChannel: 'channel_archived',
  archiveChannelFolder: 'channel_folder_changed',
  createApiKey: 'api_key_created',
  createBot: 'user_created',
  createChannel: 'channel_created',
  createChannelFolder: 'channel_folder_created',
  createCustomProfileField: 'profile_field_created',
  createIdentityProvider: 'identity_provider_created',
  createInviteLink: 'invitation_created',
  createUser: 'user_created',
  createUserGroup: 'group_created',
  deactivateBot: 'user_deactivated',
  deactivateCustomEmoji: 'emoji_deactivated',
  deactivateUser: 'user_deactivated',
  deactivateUserGroup: 'group_deactivated',
  deleteCustomProfileField: 'profile_field_deleted',
  deleteIdentityProvider: 'identity_provider_deleted',
  fetchApiKey: 'signed_in',
  inviteUsers: 'invitation_created',
  reactivateUser: 'user_reactivated',
  reactivateUserGroup: 'group_reactivated',
  regenerateApiKey: 'api_key_replaced',
  removeOrganizationDomain: 'domain_removed',
  renameApiKey: 'api_key_renamed',
  reorderChannelFolders: 'channel_folders_reordered',
  reorderCustomProfileFields: 'profile_fields_reordered',
  resendInvitation: 'invitation_resent',
  revokeApiKey: 'api_keys_revoked',
  revokeInvitation: 'invitation_revoked',
  revokeOtherSessions: 'sessions_ended',
  revokeSession: 'sessions_ended',
  signIn: 'signed_in',
  unarchiveChannel: 'channel_unarchived',
  unarchiveChannelFolder: 'channel_folder_changed',
  updateBot: 'bot_changed',
  updateChannel: 'channel_changed',
  updateChannelFolder: 'channel_folder_changed',
  updateCustomProfileField: 'profile_field_changed',
  updateIdentityProvider: 'identity_provider_changed',
  setOrganizationIcon: 'organization_changed',
  setStatus: 'user_profile_changed',
  updateOrganization: 'organization_changed',
  updateOrganizationDomain: 'domain_changed',
  updateSettingsOf: 'user_settings_changed',
  updateUser: 'user_role_changed',
  updateUserGroup: 'group_changed',
  updateUserGroupMembers: 'group_members_added',
};

/** Mutations with tests of their own below: only some of their inputs are recorded, or they require an email or a session. */
const TESTED_ALONE = [
  ...[
    'acceptInvitation',
    'addPasskey',
    'completePasskeySignIn',
    'completeSignIn',
    'confirmSecondFactor',
    'continueInApp',
    'removePasskey',
    'removeSecondFactor',
    'renamePasskey',
    'replaceRecoveryCodes',
    'resetSecondFactor',
    'unlinkIdentity',
    'completeSignUp',
    'confirmEmailChange',
    'deactivateOwnAccount',
    'fetchApiKeyByJwt',
    'deleteMessage',
    'deleteTopic',
  ],
  ...['requestInvitation', 'requestOrganization', 'requestPasswordReset'],
  ...['resetPassword', 'sendPasswordReset', 'signOut', 'subscribe', 'unsubscribe', 'updateSettings'],
  'updateUserSettingsDefaults',
];

/** Mutations of messages of the viewer and of objects that only the viewer has, and the request for a link to sign up. */
const NOT_AUDITED = [
  ...['beginPasskey', 'beginPasskeyAtSignIn', 'beginPasskeyProof', 'beginPasskeySignIn'],
  ...['beginSecondFactor', 'beginSecondFactorAtSignIn'],
  ...['acknowledgeEvents', 'addAlertWords', 'addNavigationView', 'addReaction', 'cancelScheduledMessage'],
  ...['completeVideoCallRegistration', 'createDrafts', 'createReminder', 'createSavedSnippet', 'createVideoCall'],
  ...[
    'configurePushDevice',
    'deleteAttachment',
    'deleteDraft',
    'deleteEventQueue',
    'deleteReminder',
    'deleteSavedSnippet',
  ],
  ...['editMessage', 'markAllAsRead', 'markChannelAsRead', 'markConversationAsRead', 'markTopicAsRead'],
  ...[
    'moveMessages',
    'recordPresence',
    'registerEventQueue',
    'registerClientDevice',
    'registerPushDevice',
    'removeAlertWords',
    'removeNavigationView',
  ],
  ...[
    'removeProfileData',
    'removePushDevice',
    'removeReaction',
    'reportMessage',
    'requestSignUp',
    'resolveTopic',
    'scheduleMessage',
    'sendMessage',
    'sendTestNotification',
  ],
  ...['setAvatar', 'setEditTyping', 'setTopicVisibility', 'setTyping', 'unresolveTopic', 'updateDraft'],
  ...['testWelcomeMessage', 'uploadFile'],
  ...['updateMessageFlags', 'updateMessageFlagsInNarrow', 'updateNavigationView', 'updateProfileData'],
  ...['updateSavedSnippet', 'updateScheduledMessage', 'updateSubscriptionSettings'],
];

/**
 * Mutations with entries that do not declare the scope `administration`, with the reason. Mutations without authentication declare
 * no scope.
 */
const WITHOUT_SCOPE: Readonly<Record<string, string>> = {
  deleteMessage: 'only entries for messages of other users, which require the scope when they are written',
  setStatus: 'only entries for the status of other users, which require the scope when they are written',
  subscribe: 'only entries for other users, which require the scope when they are written',
  unsubscribe: 'only entries for other users, which require the scope when they are written',
  updateSettings: 'only entries for a new password or address, which require the scope when they are written',
};

/** Actions of endpoints that make one of the changes of a mutation. */
const OF_ENDPOINTS: Readonly<Record<string, (typeof AUDIT_ACTIONS)[number]>> = {
  'PATCH /users/{email}': 'user_renamed',
  'POST /user_groups/{user_group_id}/subgroups': 'group_subgroups_added',
};

/** Endpoints that are tested below, with the reason. */
const ENDPOINTS_TESTED_ALONE: Readonly<Record<string, string>> = {
  'POST /default_streams': 'the channel of its call is a default channel already',
  'POST /users/me/status': 'only the status of other users is recorded, which have another endpoint',
};

let service: InProcess;
let clock = Date.now();
beforeAll(async () => {
  service = await startOnDatabaseOfRun({ now: () => new Date(clock) });
});
afterAll(() => service[Symbol.asyncDispose]());

const place = () => createOrganization({}, { on: service, password: OWNER_PASSWORD });
const numberOf = async ({ owner }: { readonly owner: Person }): Promise<number> => {
  const { organization } = await owner.query('{ organization { id } }');
  return Number(Buffer.from(organization.id, 'base64').toString().split(':')[1]);
};

/** Returns the entries of an organization after the entry `after`, oldest first. */
const entries = (organizationId: number, after = 0n): Promise<AuditLogEntry[]> =>
  service.app.db.auditLogEntry.findMany({ where: { organizationId, id: { gt: after } }, orderBy: { id: 'asc' } });
const last = async (organizationId: number): Promise<bigint> => (await entries(organizationId)).at(-1)?.id ?? 0n;

describe('entries', () => {
  let scene: Scene;
  let organizationId: number;
  beforeAll(async () => {
    scene = await makeScene({ on: service });
    organizationId = await numberOf(scene);
  });

  test('are declared for every mutation', () => {
    const mutations = Object.keys(schema.getMutationType()?.getFields() ?? {});
    expect([...Object.keys(AUDITED), ...TESTED_ALONE, ...NOT_AUDITED].sort()).toEqual(mutations.sort());
  });

  test('need the scope `administration` of a limited API key', () => {
    const mutations = schema.getMutationType()?.getFields() ?? {};
    const lacking = [...Object.keys(AUDITED), ...TESTED_ALONE].filter((name) => {
      const scopes = [mutations[name]?.extensions['scope'] ?? []].flat();
      return scopes.length > 0 && !scopes.includes('administration');
    });
    expect(lacking.sort()).toEqual(Object.keys(WITHOUT_SCOPE).sort());
  });

  test('are written for every administrative mutation that succeeds, and for none that is refused', async () => {
    const seen: Record<string, readonly string[]> = {};
    for (const [name, calls] of Object.entries(GRAPHQL_CALLS)) {
      const field = name.split('.')[1] ?? '';
      if (!name.startsWith('Mutation.')) continue;
      for (const call of calls(scene.names)) {
        const document = documentOf(schema, call);
        if (AUDITED[field] !== undefined && !['fetchApiKey', 'signIn'].includes(field)) {
          const before = await last(organizationId);
          const { data } = await scene.guest.graphql(document, call.args);
          const isRefused = data?.[field]?.message !== undefined;
          const written = await entries(organizationId, before);
          if (isRefused) expect([field, written]).toEqual([field, []]);
        }
        const before = await last(organizationId);
        const caller = call.as === undefined ? scene.owner : scene.guest;
        const { data, errors } = await caller.graphql(document, call.args);
        // The entry of `requestPasswordReset` is written after its response.
        const written = (await entries(organizationId, before)).flatMap(({ action, actorKind }) =>
          action === 'password_reset_requested' && actorKind === 'visitor' ? [] : [action],
        );
        if (REFUSALS[field] !== undefined) expect([field, written]).toEqual([field, []]);
        else if (errors !== undefined || data?.[field]?.message !== undefined) {
          throw new Error(`${field}: ${JSON.stringify(errors ?? data)}`);
        } else seen[field] = [...(seen[field] ?? []), ...written];
      }
    }
    const missing = Object.entries(AUDITED).filter(([field, action]) => seen[field]?.includes(action) !== true);
    expect(missing.map(([field]) => [field, seen[field]])).toEqual([]);
    const own = Object.entries(seen).filter(([field]) => NOT_AUDITED.includes(field));
    expect(own.filter(([, actions]) => actions.length > 0)).toEqual([]);
    expect(new Set(Object.values(seen).flat()).size).toBeGreaterThan(35);
  });

  test('are written for every administrative request over REST that succeeds, and for none that is refused', async () => {
    const at = await makeScene({ on: service });
    const id = await numberOf(at);
    const seen: Record<string, readonly string[]> = {};
    // In the order of the calls, because later ones remove objects that earlier ones need.
    const endpoints = Object.entries(REST_CALLS).flatMap(([name, calls]) => {
      const endpoint = routes.find(({ method, path }) => `${method} ${path}` === name);
      return endpoint === undefined || endpoint.method === 'GET' ? [] : [{ name, endpoint, calls }];
    });
    const mutationsOf = ({ equivalents }: (typeof routes)[number]) =>
      equivalents.map((equivalent) => /^\w+/.exec(equivalent)?.[0] ?? '');
    for (const { name, endpoint, calls } of endpoints) {
      const isAudited = mutationsOf(endpoint).some((field) => AUDITED[field] !== undefined);
      for (const call of calls(at.names)) {
        const by = async (person: Person) => {
          const before = await last(id);
          const path = pathOf(endpoint.path, call);
          const { status } = await person.rest(endpoint.method as Method, path, call.parameters ?? {});
          // Failed sign-ins are written after the response.
          const written = (await entries(id, before)).map(({ action }) => action);
          return { status, written: written.filter((action) => action !== 'sign_in_failed') };
        };
        if (isAudited && endpoint.auth === 'basic' && call.as === undefined) {
          const refused = await by(at.guest);
          if (refused.status >= 400) expect([name, refused.written]).toEqual([name, []]);
        }
        const { status, written } = await by(call.as === undefined ? at.owner : at[call.as]);
        if (status >= 400) expect([name, call.refusal === undefined, written]).toEqual([name, false, []]);
        else seen[name] = [...(seen[name] ?? []), ...written];
      }
    }
    const wrong = endpoints.flatMap(({ name, endpoint }) => {
      const fields = mutationsOf(endpoint);
      const expected = fields.flatMap((field) => AUDITED[field] ?? []);
      const written = seen[name] ?? [];
      const isRight =
        expected.length > 0
          ? [...expected, OF_ENDPOINTS[name]].some((action) => action !== undefined && written.includes(action))
          : written.length === 0 || fields.some((field) => TESTED_ALONE.includes(field));
      return isRight || name in ENDPOINTS_TESTED_ALONE ? [] : [[name, fields, written]];
    });
    expect(wrong).toEqual([]);
    expect(Object.values(seen).filter((written) => written.length > 0).length).toBeGreaterThan(45);
  });

  test('contain no secrets and no email addresses', async () => {
    const all = JSON.stringify(await entries(organizationId), (_, value) =>
      typeof value === 'bigint' ? Number(value) : value,
    );
    const users = await service.app.db.user.findMany({ where: { organizationId }, select: { email: true } });
    for (const { email } of users) expect(all).not.toContain(email);
    expect(all).not.toContain(OWNER_PASSWORD);
    expect(all).not.toContain(scene.owner.apiKey);
  });
});

describe('an entry', () => {
  test('names actor, object, client, and the values before and after', async () => {
    const made = await place();
    const { owner, member } = made;
    const organizationId = await numberOf(made);
    const before = await last(organizationId);
    await owner.ok('PATCH', `/users/${member.id}`, { role: 300 });
    await owner.ok('PATCH', '/realm', { name: 'Renamed', message_content_edit_limit_seconds: 660 });
    const [role, settings, ...rest] = await entries(organizationId, before);
    expect(rest).toEqual([]);
    expect(role).toMatchObject({
      ...{ action: 'user_role_changed', actorKind: 'user', actorId: owner.id, objectType: 'user' },
      ...{ objectId: member.id, objectName: null, details: { role: { old: 400, new: 300 } } },
      address: expect.stringMatching(/^(127\.|::)/),
    });
    expect(settings).toMatchObject({
      action: 'organization_changed',
      details: {
        name: { old: expect.any(String), new: 'Renamed' },
        message_content_edit_limit_seconds: { old: 600, new: 660 },
      },
    });
  });

  test('is written with its change, or neither is', async () => {
    const made = await place();
    const organizationId = await numberOf(made);
    const before = await last(organizationId);
    const { app } = service;
    const failing = transact({ work: app.work, organizationId, isOperator: true }, async (tx, emit) => {
      await tx.organization.update({ where: { id: organizationId }, data: { description: 'changed' } });
      emit.audit({ action: 'organization_changed', objectType: 'organization', objectId: organizationId });
      // Runs after the entry is written.
      emit.writing(() => Promise.reject(new Error('killed')));
    });
    await expect(failing).rejects.toThrow('killed');
    expect(await entries(organizationId, before)).toEqual([]);
    const { description } = await app.db.organization.findUniqueOrThrow({ where: { id: organizationId } });
    expect(description).not.toBe('changed');
  });

  test('is written once for a request that is repeated under its idempotency key', async () => {
    const made = await place();
    const organizationId = await numberOf(made);
    const before = await last(organizationId);
    const headers = { 'idempotency-key': 'the same' };
    for (let i = 0; i < 2; i++) {
      await made.owner.ok('POST', '/realm/domains', { domain: 'twice.example', allow_subdomains: true }, { headers });
    }
    const written = await entries(organizationId, before);
    expect(written.map(({ action, objectName }) => [action, objectName])).toEqual([['domain_added', 'twice.example']]);
  });

  test('cannot be changed or deleted before its retention has ended', async () => {
    const made = await place();
    const organizationId = await numberOf(made);
    const { db } = service.app;
    const [entry] = await entries(organizationId);
    const which = { organizationId, id: entry?.id ?? 0n };
    await expect(db.auditLogEntry.updateMany({ where: which, data: { action: 'signed_in' } })).rejects.toThrow();
    await expect(db.auditLogEntry.deleteMany({ where: which })).rejects.toThrow();
    await pruneAuditLog(service.app);
    expect((await entries(organizationId))[0]).toEqual(entry);
  });

  test('is deleted after the configured time', async () => {
    const made = await place();
    const organizationId = await numberOf(made);
    const { app } = service;
    await app.db.$executeRaw`
      INSERT INTO audit_log_entry (realm_id, created_at, actor_kind, action, object_type, details)
      SELECT ${organizationId}, now() - interval '366 days', 'system', 'signed_in', 'user', '{}' FROM generate_series(1, 20)`;
    const { length } = await entries(organizationId);
    await pruneAuditLog(app);
    expect((await entries(organizationId)).length).toBe(length - 20);
  });
});

describe('the retention', () => {
  const RETENTION = '{ organization { auditLogDays auditLogRetentionDays } }';

  test('is shortened and prolonged by owners within the limit of the server', async () => {
    const made = await place();
    const { owner, administrator } = made;
    const organizationId = await numberOf(made);
    const { app } = service;
    const ofOwner = async () =>
      (await app.db.outgoingMail.findMany({ where: { recipient: owner.email } })).filter(({ subject }) =>
        subject.startsWith('The audit log for '),
      );
    const before = await last(organizationId);
    const { queue_id: queueId } = await administrator.register({ fetch_event_types: [] });
    await using stream = await EventStream.open(
      administrator,
      `... on OrganizationUpdatedEvent { organizationSettings organization { auditLogDays }
        outdated { typeName fields } }`,
      { queueId },
    );
    expect((await owner.query(RETENTION)).organization).toEqual({ auditLogDays: -1, auditLogRetentionDays: 365 });
    await app.db.$executeRaw`
      INSERT INTO audit_log_entry (realm_id, created_at, actor_kind, action, object_type, details)
      SELECT ${organizationId}, now() - days * interval '1 day', 'system', 'domain_added', 'domain', '{}'
      FROM unnest('{29,31,89,91}'::int[]) AS days`;
    const ages = async () =>
      (await entries(organizationId))
        .filter(({ actorKind, action }) => actorKind === 'system' && action === 'domain_added')
        .map(({ createdAt }) => Math.round((clock - createdAt.getTime()) / 86_400_000))
        .toSorted((a, b) => a - b);
    const left = await ages();
    expect(left).toHaveLength(4);
    await pruneAuditLog(app);
    expect(await ages()).toEqual(left);

    await owner.ok('PATCH', '/realm', { audit_log_days: 90 });
    expect(await stream.next()).toMatchObject({
      organizationSettings: ['AUDIT_LOG_DAYS'],
      organization: { auditLogDays: 90 },
      outdated: [{ typeName: 'Organization', fields: expect.arrayContaining(['auditLogRetentionDays']) }],
    });
    expect((await administrator.query(RETENTION)).organization).toEqual({
      auditLogDays: 90,
      auditLogRetentionDays: 90,
    });
    await pruneAuditLog(app);
    expect(await ages()).toEqual(left.slice(0, 3));
    await owner.mutate('updateOrganization', { auditLogDays: 30 }, 'organization { auditLogDays }');
    await pruneAuditLog(app);
    expect(await ages()).toEqual(left.slice(0, 1));
    expect((await ofOwner()).map(({ body }) => body.includes('are kept for a shorter time'))).toEqual([true, true]);
    await owner.ok('PATCH', '/realm', { audit_log_days: '"unlimited"' });
    expect((await owner.query(RETENTION)).organization).toEqual({ auditLogDays: -1, auditLogRetentionDays: 365 });
    expect(await ofOwner()).toHaveLength(2);
    const written = (await entries(organizationId, before)).filter(({ action }) => action === 'organization_changed');
    expect(written.map(({ details }) => details)).toEqual([
      { audit_log_days: { old: -1, new: 90 } },
      { audit_log_days: { old: 90, new: 30 } },
      { audit_log_days: { old: 30, new: -1 } },
    ]);
    expect((await owner.register({ fetch_event_types: ['realm'] })).realm_audit_log_days).toBe(-1);
  });

  test('is refused below 30 days, above the limit of the server, and to administrators', async () => {
    const { owner, administrator } = await place();
    const set = async (by: Person, days: unknown) => (await by.rest('PATCH', '/realm', { audit_log_days: days })).body;
    for (const days of [29, 0, -1, 30.5])
      expect(await set(owner, days)).toMatchObject({ result: 'error', code: 'BAD_REQUEST' });
    expect(await set(owner, 366)).toMatchObject({
      code: 'BAD_REQUEST',
      msg: 'The server keeps the audit log for at most 365 days',
    });
    expect(await set(owner, 365)).toMatchObject({ audit_log_days: 365 });
    expect(await set(administrator, 90)).toMatchObject({ code: 'UNAUTHORIZED_PRINCIPAL' });
  });
});

describe('members, settings and defaults', () => {
  test('are recorded if they are changed by others', async () => {
    const made = await place();
    const { owner, member, administrator } = made;
    const organizationId = await numberOf(made);
    const { id: channelId } = await owner.ok('POST', '/channels/create', { name: 'ships', subscribers: [owner.id] });
    const before = await last(organizationId);
    await member.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'ships' }] });
    await member.ok('DELETE', '/users/me/subscriptions', { subscriptions: ['ships'] });
    await member.ok('PATCH', '/settings', { full_name: 'Another Name', twenty_four_hour_time: true });
    expect(await entries(organizationId, before)).toEqual([]);
    const principals = [member.id, owner.id];
    await owner.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'ships' }], principals });
    await owner.ok('DELETE', '/users/me/subscriptions', { subscriptions: ['ships'], principals });
    await owner.ok('PATCH', `/users/${member.id}`, { full_name: 'A Third Name' });
    await owner.ok('PATCH', '/realm/user_settings_defaults', { twenty_four_hour_time: true });
    await owner.ok('POST', '/users/me/status', { status_text: 'own' });
    await owner.ok('POST', `/users/${member.id}/status`, { status_text: 'secret', emoji_name: 'tada' });
    await owner.ok('POST', '/default_streams', { stream_id: channelId });
    await member.ok('DELETE', '/users/me');
    const written = await entries(organizationId, before);
    expect(written.map(({ action, objectId, actorId }) => [action, objectId, actorId])).toEqual([
      ['channel_subscribers_added', channelId, owner.id],
      ['channel_subscribers_removed', channelId, owner.id],
      ['user_renamed', member.id, owner.id],
      ['user_defaults_changed', organizationId, owner.id],
      ['user_profile_changed', member.id, owner.id],
      ['channel_changed', channelId, owner.id],
      ['user_deactivated', member.id, member.id],
    ]);
    expect(written[0]?.details).toEqual({ user_ids: { new: [member.id] }, count: { new: 1 } });
    expect(written[3]?.details).toEqual({ twenty_four_hour_time: { old: false, new: true } });
    expect(written[4]?.details).toEqual({ status_text: {}, status_emoji: {} });
    expect(administrator.id).not.toBe(owner.id);
  });
});

test('each named API key has an entry when its user is deactivated', async () => {
  const made = await place();
  const { owner, member } = made;
  const organizationId = await numberOf(made);
  for (const name of ['one', 'two']) await member.mutate('createApiKey', { name, scopes: ['READ'] }, 'apiKey { id }');
  const before = await last(organizationId);
  await owner.ok('DELETE', `/users/${member.id}`);
  const written = await entries(organizationId, before);
  expect(written.map(({ action, objectName, actorId }) => [action, objectName, actorId]).toSorted()).toEqual([
    ['api_keys_revoked', 'one', owner.id],
    ['api_keys_revoked', 'two', owner.id],
    ['user_deactivated', null, owner.id],
  ]);
});

describe('deleted messages', () => {
  test('are recorded with their channel if other users sent them', async () => {
    const made = await place();
    const { owner, administrator, member } = made;
    const organizationId = await numberOf(made);
    const subscribers = [owner.id, administrator.id, member.id];
    const { id: channelId } = await owner.ok('POST', '/channels/create', { name: 'ships', subscribers });
    const hidden = { name: 'hidden', subscribers, invite_only: true };
    const { id: privateId } = await owner.ok('POST', '/channels/create', hidden);
    const say = async (by: Person, to: number | number[] = channelId, topic = 'a') => {
      const type = typeof to === 'number' ? 'channel' : 'direct';
      return (await by.ok('POST', '/messages', { type, to, topic, content: 'hello' })).id as number;
    };
    const bot = await owner.ok('POST', '/bots', { full_name: 'Helper', short_name: 'helper' });
    const asBot = owner.as(`Basic ${Buffer.from(`${bot.email}:${bot.api_key}`).toString('base64')}`);
    const before = await last(organizationId);
    const ofBot = (await asBot.ok('POST', '/messages', { type: 'direct', to: [owner.id], content: 'beep' })).id;
    for (const id of [await say(owner), ofBot]) await owner.ok('DELETE', `/messages/${id}`);
    expect(await entries(organizationId, before)).toEqual([]);
    const ofMember = await say(member);
    await administrator.ok('DELETE', `/messages/${ofMember}`);
    const direct = await say(member, [owner.id]);
    await owner.ok('DELETE', `/messages/${direct}`);
    const topic = [await say(member), await say(owner), await say(administrator)];
    await administrator.ok('POST', `/streams/${channelId}/delete_topic`, { topic_name: 'A' });
    await administrator.ok('POST', `/streams/${channelId}/delete_topic`, { topic_name: 'none' });
    const kept = await say(member, privateId, 'secret');
    await administrator.ok('POST', `/streams/${privateId}/delete_topic`, { topic_name: 'secret' });
    const erased = await say(member);
    await administrator.ok('DELETE', `/users/${member.id}`, { actions: { delete_public_channel_messages: true } });
    const written = await entries(organizationId, before);
    const inShips = { objectType: 'channel', objectId: channelId, objectName: 'ships' };
    const count = { new: 1 };
    const ofOne = (id: number) => ({ message_ids: { old: [id] }, count });
    const ofSender = (id: number) => ({ ...ofOne(id), sender_id: { old: member.id } });
    expect(written).toMatchObject([
      { action: 'messages_deleted', actorId: administrator.id, ...inShips, details: ofSender(ofMember) },
      { action: 'messages_deleted', actorId: owner.id, objectType: 'user', objectId: member.id },
      {
        ...{ action: 'topic_deleted', actorId: administrator.id, ...inShips },
        details: { topic: { old: 'A' }, message_ids: { old: topic }, count: { new: 3 } },
      },
      { action: 'topic_deleted', objectId: privateId, objectName: 'hidden' },
      { action: 'messages_deleted', actorId: administrator.id, objectType: 'user', objectId: member.id },
      { action: 'user_deactivated', actorId: administrator.id },
    ]);
    // Administrators cannot see the topics of every private channel.
    expect(written.slice(3, 5).map(({ details }) => details)).toEqual([ofOne(kept), ofOne(erased)]);
    expect(written.every(({ address }) => address !== null)).toBe(true);
  });

  test('of other users cannot be deleted with an API key that lacks the scope `administration`', async () => {
    const { owner, member } = await place();
    const { id: to } = await owner.ok('POST', '/channels/create', {
      name: 'ships',
      subscribers: [owner.id, member.id],
    });
    const say = async (by: Person) =>
      (await by.ok('POST', '/messages', { type: 'channel', to, topic: 'a', content: 'hello' })).id as number;
    const input = { name: 'Writer', scopes: ['READ', 'WRITE'] };
    const { secret } = await owner.mutate('createApiKey', input, 'secret');
    const limited = owner.as(`Basic ${Buffer.from(`${owner.email}:${secret}`).toString('base64')}`);
    const reply = await limited.rest('DELETE', `/messages/${await say(member)}`);
    expect(reply).toMatchObject({ status: 403, body: { required_scopes: 'administration' } });
    await limited.ok('DELETE', `/messages/${await say(owner)}`);
  });
});

describe('an API key', () => {
  test('that another user than its owner reads is recorded', async () => {
    const made = await place();
    const { owner, member } = made;
    const organizationId = await numberOf(made);
    const bot = await member.ok('POST', '/bots', { full_name: 'Helper', short_name: 'helper' });
    const before = await last(organizationId);
    const botId = globalId('User', bot.user_id);
    const read = async (by: Person) => {
      await by.ok('GET', `/bots/${bot.user_id}/api_key`);
      await by.query(`{ botApiKey(botId: "${botId}") }`);
      await by.query(
        `{ user(by: { id: "${botId}" }) { bot { apiKey } } again: user(by: { id: "${botId}" }) { bot { apiKey } } }`,
      );
    };
    await read(member);
    expect(await entries(organizationId, before)).toEqual([]);
    await read(owner);
    await runCommand(service.dataDir, 'key show', { org: made.organization.subdomain, user: member.email });
    const written = await entries(organizationId, before);
    expect(written.map(({ action, actorKind, actorId, objectId }) => [action, actorKind, actorId, objectId])).toEqual([
      ...Array(3).fill(['api_key_read', 'user', owner.id, bot.user_id]),
      ['api_key_read', 'operator', null, member.id],
    ]);
  });
});

describe('sign-in', () => {
  test('by links in emails is recorded: new passwords, addresses and invitations', async () => {
    await using mailing = await startOnDatabaseOfRun({ env: { SMTP_URL: 'smtp://127.0.0.1:9' } });
    const made = await createOrganization({}, { on: mailing, password: OWNER_PASSWORD });
    const { owner, member, anonymous } = made;
    const organizationId = await numberOf(made);
    const list = (after = 0n) =>
      mailing.app.db.auditLogEntry.findMany({ where: { organizationId, id: { gt: after } }, orderBy: { id: 'asc' } });
    const linkTo = async (recipient: string, pattern: RegExp) => {
      const find = async () =>
        (await mailing.app.db.outgoingMail.findMany({ where: { recipient }, orderBy: { id: 'desc' } })).flatMap(
          ({ body }) => pattern.exec(body)?.[1] ?? [],
        )[0];
      await expect.poll(find).toBeDefined();
      return (await find()) ?? '';
    };
    const before = (await list()).at(-1)?.id;
    const call = async (who: Person | typeof anonymous, field: string, input: Json) => {
      const type = `${field[0]?.toUpperCase()}${field.slice(1)}Input!`;
      const query = `mutation ($input: ${type}) { ${field}(input: $input) { __typename ... on ServiceError { message } } }`;
      const { data, errors } = await who.graphql(query, { input });
      expect([field, errors, data[field].message]).toEqual([field, undefined, undefined]);
    };
    const { users } = await owner.query('{ users(first: 100) { nodes { id databaseId } } }');
    const userId = users.nodes.find((one: Json) => one['databaseId'] === member.id).id;
    await call(owner, 'sendPasswordReset', { userId });
    await call(anonymous, 'requestPasswordReset', { email: owner.email });
    const token = await linkTo(owner.email, /token=([\w-]{43})/);
    await call(anonymous, 'resetPassword', { token, newPassword: 'quite another good battery' });
    const login = { username: owner.email, password: 'quite another good battery' };
    const { api_key: key } = (await anonymous.rest('POST', '/fetch_api_key', login)).body;
    const again = anonymous.as(`Basic ${Buffer.from(`${owner.email}:${key}`).toString('base64')}`);
    await again.rest('PATCH', '/settings', { email: `new.${owner.email}` });
    await call(anonymous, 'confirmEmailChange', { token: await linkTo(`new.${owner.email}`, /token=([\w-]+)/) });
    const renamed = anonymous.as(`Basic ${Buffer.from(`new.${owner.email}:${key}`).toString('base64')}`);
    await renamed.ok('PATCH', '/realm', { invite_required: false });
    const email = 'zoe@new.example';
    await call(anonymous, 'requestSignUp', { email });
    const link = await linkTo(email, /\/sign-up\/([\w-]{43})/);
    await call(anonymous, 'completeSignUp', { token: link, fullName: 'Zoe Zane', password: 'correct horse battery' });
    await renamed.ok('POST', '/invites', { invitee_emails: 'kim@new.example', stream_ids: [] });
    const invitation = await linkTo('kim@new.example', /\/join\/([\w-]{43})/);
    await call(anonymous, 'acceptInvitation', {
      token: invitation,
      fullName: 'Kim',
      password: 'correct horse battery',
    });
    const idOf = async (address: string) =>
      (await mailing.app.db.user.findFirstOrThrow({ where: { organizationId, email: address } })).id;
    const { id: invitationId } = await mailing.app.db.invitation.findFirstOrThrow({ where: { organizationId } });
    const written = (await list(before)).map(({ action, actorKind, objectId }) => [action, actorKind, objectId]);
    expect(written).toEqual([
      ['password_reset_requested', 'user', member.id],
      ['password_reset_requested', 'visitor', owner.id],
      ['password_reset', 'visitor', owner.id],
      ['api_key_replaced', 'visitor', owner.id],
      ['signed_in', 'user', owner.id],
      ['email_change_requested', 'user', owner.id],
      ['email_changed', 'visitor', owner.id],
      ['organization_changed', 'user', organizationId],
      ['user_created', 'visitor', await idOf(email)],
      ['signed_in', 'user', await idOf(email)],
      ['invitation_created', 'user', invitationId],
      ['user_created', 'visitor', await idOf('kim@new.example')],
      ['invitation_accepted', 'user', invitationId],
      ['signed_in', 'user', await idOf('kim@new.example')],
    ]);
  });

  test('is recorded: success, failure, sign-out, password and key', async () => {
    const made = await place();
    const { owner, anonymous } = made;
    const organizationId = await numberOf(made);
    const before = await last(organizationId);
    const login = { username: owner.email, password: OWNER_PASSWORD };
    const { headers } = await anonymous.rest('POST', '/sessions', login);
    const cookie = String(headers['set-cookie']).split(';')[0] ?? '';
    await anonymous.rest('DELETE', '/sessions/current', {}, { headers: { cookie } });
    await anonymous.rest('POST', '/fetch_api_key', login);
    const written = await entries(organizationId, before);
    expect(written.map(({ action, actorId, actorKind }) => [action, actorKind, actorId])).toEqual([
      ['signed_in', 'user', owner.id],
      ['signed_out', 'user', owner.id],
      ['signed_in', 'user', owner.id],
    ]);
    const method = { new: 'password' };
    expect([written[0]?.details, written[2]?.details]).toEqual([
      { credential: { new: 'session' }, method },
      { credential: { new: 'api_key' }, method },
    ]);
    await anonymous.rest('POST', '/fetch_api_key', { ...login, password: 'wrong' });
    await expect
      .poll(async () => (await entries(organizationId, written.at(-1)?.id)).map(({ action }) => action))
      .toEqual(['sign_in_failed']);
  });

  test('that fails often is recorded at the first, second, fourth, … failure of an hour', async () => {
    const made = await place();
    const { owner, anonymous } = made;
    const organizationId = await numberOf(made);
    const before = await last(organizationId);
    const failures = async () =>
      (await entries(organizationId, before)).map(
        ({ details, objectId }) => [(details as Json)['failures_of_address_within_hour'].new, objectId] as const,
      );
    const wrong = anonymous.as(`Basic ${Buffer.from(`${owner.email}:${'x'.repeat(32)}`).toString('base64')}`);
    for (let i = 0; i < 20; i++) expect((await wrong.rest('GET', '/users/me')).status).toBe(401);
    await expect.poll(failures).toEqual([1, 2, 4, 8, 16].map((count) => [count, owner.id]));
    clock += 3_600_000;
    await wrong.rest('GET', '/users/me');
    await expect.poll(async () => (await failures()).length).toBe(6);
    await sleep(100);
    expect(await failures()).toHaveLength(6);
  });

  test('and commands of the operator name the operator', async () => {
    const made = await place();
    const organizationId = await numberOf(made);
    const before = await last(organizationId);
    const at = { org: made.organization.subdomain, user: made.member.email };
    await runCommand(service.dataDir, 'user role', { ...at, role: 'moderator' });
    await runCommand(service.dataDir, 'key rotate', at);
    await runCommand(service.dataDir, 'user grant', { ...at, right: 'can_create_users' });
    const written = await entries(organizationId, before);
    expect(written.map(({ action, actorKind, actorId }) => [action, actorKind, actorId])).toEqual([
      ['user_role_changed', 'operator', null],
      ['api_key_replaced', 'operator', null],
      ['user_rights_changed', 'operator', null],
    ]);
  });
});

describe('the list', () => {
  const LIST = `query ($first: Int, $after: String, $filter: AuditLogFilterInput) { organization {
    auditLogEntries(first: $first, after: $after, filter: $filter) {
      totalCount pageInfo { hasNextPage endCursor }
      nodes { id action actorKind actor { id } objectType object { id } objectId objectName user { id } address clientName
              changes { name oldValue newValue } } } } }`;

  test('has pages and filters, and is for administrators', async () => {
    const made = await place();
    const { owner, administrator, moderator, member } = made;
    for (const role of [300, 400]) await owner.ok('PATCH', `/users/${member.id}`, { role });
    await administrator.ok('PATCH', '/realm', { description: 'new' });
    const read = async (variables: object) =>
      (await administrator.query(LIST, variables as Json)).organization.auditLogEntries;
    const first = await read({ first: 2 });
    expect(first.nodes.map(({ action }: Json) => action)).toEqual(['ORGANIZATION_CHANGED', 'USER_ROLE_CHANGED']);
    const next = await read({ first: 1, after: first.pageInfo.endCursor });
    expect(next.nodes[0].object).toEqual({ id: next.nodes[0].user.id });
    expect(next.nodes[0].objectId).toBe(next.nodes[0].user.id);
    expect(next.nodes[0].changes).toEqual([{ name: 'role', oldValue: '400', newValue: '300' }]);
    const objectId = globalId('User', member.id);
    const filter = { actions: ['USER_ROLE_CHANGED'], objectType: 'USER', objectId };
    expect((await read({ filter })).totalCount).toBe(2);
    expect((await read({ filter: { ...filter, actorIds: [next.nodes[0].actor.id] } })).totalCount).toBe(2);
    expect((await read({ filter: { actorIds: [next.nodes[0].user.id] } })).totalCount).toBe(0);
    expect((await read({ filter: { untilAt: '2020-01-01T00:00:00Z' } })).totalCount).toBe(0);
    expect((await read({ filter: { sinceAt: '2020-01-01T00:00:00Z' } })).totalCount).toBeGreaterThan(3);
    const retention = async (by: Person) =>
      (await by.query('{ organization { auditLogRetentionDays } }')).organization.auditLogRetentionDays;
    expect([await retention(owner), await retention(administrator)]).toEqual([365, 365]);
    for (const other of [moderator, member]) {
      expect(await retention(other)).toBeNull();
      const { errors } = await other.graphql(LIST);
      expect(errors?.[0]).toMatchObject({ extensions: { code: 'UNAUTHORIZED_PRINCIPAL' } });
    }
  });

  test('has the ids of objects that no longer exist, and is filtered by them', async () => {
    const { owner, administrator, member } = await place();
    const { apiKey } = await member.mutate('createApiKey', { name: 'Timetable', scopes: ['READ'] }, 'apiKey { id }');
    await administrator.mutate('revokeApiKey', { apiKeyId: apiKey.id }, 'apiKeyId');
    const { invitation } = await owner.mutate('createInviteLink', {}, 'invitation { id }');
    await owner.mutate('revokeInvitation', { invitationId: invitation.id }, 'invitationId');
    const field = { name: 'Ship', type: 'SHORT_TEXT' };
    const made = await owner.mutate('createCustomProfileField', field, 'customProfileField { id }');
    const fieldId = made.customProfileField.id;
    await owner.mutate('deleteCustomProfileField', { customProfileFieldId: fieldId }, 'customProfileFieldId');
    for (const [objectId, actions] of [
      [apiKey.id, ['API_KEYS_REVOKED', 'API_KEY_CREATED']],
      [invitation.id, ['INVITATION_REVOKED', 'INVITATION_CREATED']],
      [fieldId, ['PROFILE_FIELD_DELETED', 'PROFILE_FIELD_CREATED']],
    ] as const) {
      const { nodes } = (await administrator.query(LIST, { filter: { objectId } })).organization.auditLogEntries;
      expect(nodes.map(({ action }: Json) => action)).toEqual(actions);
      for (const node of nodes) expect([node.objectId, node.object]).toEqual([objectId, null]);
    }
    // A new password revokes all keys. Each of them has its own entry.
    for (const name of ['One', 'Two']) await member.mutate('createApiKey', { name, scopes: ['READ'] }, 'secret');
    const keys = await service.app.db.namedApiKey.findMany({ where: { userId: member.id }, orderBy: { id: 'asc' } });
    const organizationId = keys[0]?.organizationId ?? 0;
    await transact({ work: service.app.work, organizationId }, (tx, emit) =>
      revokeNamedKeys(tx, emit, { ...member, organizationId, botOwnerId: null, role: 400 }),
    );
    expect(keys).toHaveLength(2);
    for (const { id, name } of keys) {
      const filter = { actions: ['API_KEYS_REVOKED'], objectId: globalId('ApiKey', id) };
      const { nodes } = (await administrator.query(LIST, { filter })).organization.auditLogEntries;
      expect(nodes).toEqual([expect.objectContaining({ objectName: name, object: null })]);
      expect(nodes[0].changes.find((change: Json) => change['name'] === 'api_key_ids').oldValue).toBe(`[${id}]`);
    }
  });

  test('has an entry for each invitation that ends with the account of its sender', async () => {
    const { owner, administrator } = await place();
    const links = [];
    for (let i = 0; i < 2; i++) {
      const { invitation } = await administrator.mutate('createInviteLink', {}, 'invitation { id }');
      links.push(invitation.id);
    }
    await owner.ok('DELETE', `/users/${administrator.id}`);
    for (const objectId of links) {
      const { nodes } = (await owner.query(LIST, { filter: { objectId } })).organization.auditLogEntries;
      expect(nodes.map(({ action }: Json) => action)).toEqual(['INVITATION_REVOKED', 'INVITATION_CREATED']);
      expect(nodes[0].actor.id).toBe(globalId('User', owner.id));
    }
  });

  test('shows nothing of another organization', async () => {
    const [one, other] = await Promise.all([place(), place()]);
    await one.owner.ok('PATCH', `/users/${one.member.id}`, { role: 300 });
    const filter = { objectId: globalId('User', one.member.id) };
    const { organization } = await other.owner.query(LIST, { filter });
    expect(organization.auditLogEntries.nodes).toEqual([]);
    const mine = (await one.owner.query(LIST, { filter })).organization.auditLogEntries;
    const { node } = await other.owner.query('query ($id: ID!) { node(id: $id) { id } }', { id: mine.nodes[0].id });
    expect(node).toBeNull();
  });
});

describe('an export', () => {
  const get = async ({ url, host, authorization }: Person, query = '') =>
    send(url, {
      method: 'GET',
      path: `/audit-log/export${query}`,
      headers: { host, authorization: authorization ?? '' },
    });

  test('contains all entries, as CSV and as lines of JSON, and is recorded itself', async () => {
    const made = await place();
    const { owner, member } = made;
    const organizationId = await numberOf(made);
    await owner.ok('POST', '/channels/create', { name: '=cmd, "quoted"', subscribers: [] });
    await service.app.db.$executeRaw`
      INSERT INTO audit_log_entry (realm_id, created_at, actor_kind, action, object_type, details)
      SELECT ${organizationId}, now(), 'system', 'signed_in', 'user', '{}' FROM generate_series(1, 1200)`;
    const expected = await entries(organizationId);
    const lines = await get(owner, '?format=jsonl');
    expect(lines.status).toBe(200);
    const rows = lines.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Json);
    expect(rows.map((row) => row['id'])).toEqual(expected.map(({ id }) => Number(id)).reverse());
    const csv = await get(owner, '?format=csv&actions=channel_created');
    expect(csv.headers['content-disposition']).toMatch(/^attachment; filename="audit-log-[\d-]+\.csv"$/);
    const [head, row, ...more] = csv.text.split('\r\n');
    expect(head).toBe('id,time,actor_kind,actor_id,action,object_type,object_id,object_name,address,client,changes');
    expect(row).toContain(`"'=cmd, ""quoted"""`);
    expect(more.length).toBeGreaterThan(0);
    const exports = (await entries(organizationId)).filter(({ action }) => action === 'audit_log_exported');
    expect(exports.map(({ actorId, details }) => [actorId, details])).toEqual([
      [owner.id, { format: { new: 'jsonl' } }],
      [owner.id, { format: { new: 'csv' }, actions: { new: ['channel_created'] } }],
    ]);
    expect((await get(member)).status).toBe(400);
    expect((await get(owner, '?format=xml')).status).toBe(400);
    expect((await get(made.anonymous as Person)).status).toBe(401);
  });
});
