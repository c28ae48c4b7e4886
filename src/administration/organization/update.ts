import { isDeepStrictEqual } from 'node:util';
import type { Ctx } from '../../access/context.ts';
import {
  changedGroupSettings,
  type GroupSettingEdits,
  type GroupSettings,
  isSameSetting,
} from '../../access/permission-values.ts';
import {
  type EditableRealmSettingName,
  initialRealmGroup,
  REALM_GROUP_SETTINGS,
  REALM_SETTINGS,
  type RealmGroupSettingName,
  type RealmSettingName,
  type RealmSettingValue,
  realmGroupSetting,
  VIDEO_PROVIDER,
} from '../../access/realm-settings.ts';
import { requireAdministrator, requireOwner } from '../../access/roles.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { type SystemGroups, systemGroups } from '../../access/system-groups.ts';
import { everyone } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Prisma, Realm } from '../../generated/prisma/client.ts';
import { renderMarkdown } from '../../markdown/render.ts';
import { lockRealm } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { MAX_REALM_DESCRIPTION_LENGTH, MAX_REALM_NAME_LENGTH } from '../../platform/limits.ts';
import { requireReadable } from '../../platform/names.ts';
import { requireSettings, type SettingValue, storedAfter } from '../../platform/setting.ts';
import { requireText } from '../../platform/text.ts';
import { waitingPeriodChanged } from '../user-groups/role-groups.ts';
import { realmUpdated } from './events.ts';
import { realmFields } from './state.ts';

/** Fields of an organization to change. Absent fields stay unchanged. */
export interface RealmEdit {
  /** New name, 1 to 40 code points. */
  readonly name?: string | undefined;
  /** New description in Flavored Markdown, at most 1,000 code points. */
  readonly description?: string | undefined;
  /** Settings as sent by the client. The value "unlimited" removes a limit. */
  readonly settings?: Partial<Record<EditableRealmSettingName, unknown>> | undefined;
  readonly permissions?: GroupSettingEdits<RealmGroupSettingName> | undefined;
}

const OF_OWNERS: ReadonlySet<string> = new Set([
  'message_retention_days',
  'invite_required',
  'emails_restricted_to_domains',
  'disallow_disposable_email_addresses',
  'waiting_period_threshold',
  'create_multiuse_invite_group',
  'can_create_groups',
  'can_invite_users_group',
  'can_manage_all_groups',
  'can_manage_billing_group',
] satisfies (EditableRealmSettingName | RealmGroupSettingName)[]);

const OF_CHANNELS = [
  'moderation_request_channel_id',
  'new_stream_announcements_stream_id',
  'signup_announcements_stream_id',
  'service_update_announcements_stream_id',
] as const;

/**
 * Updates the organization, and sends all changes to all its users in one event. Values that would change nothing are ignored.
 *
 * @returns The given values that changed, by name on the wire.
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator, or an owner if a setting requires one.
 * @throws ExpectationMismatchError if a permission differs from the value that the client expects.
 * @throws SystemGroupRequiredError for a permission that only a role group can hold.
 * @throws BadRequestError if a value is invalid, or the provider of video calls is not configured.
 * @throws BadRequestError if a channel, user or group does not exist.
 */
export async function updateRealm(ctx: Ctx, edit: RealmEdit): Promise<Readonly<Record<string, unknown>>> {
  requireRights(ctx, edit);
  const { app, realmId } = ctx;
  const { settings = {}, permissions = {} } = edit;
  const texts = checkedTexts(edit);
  if (texts.name !== undefined && texts.name !== ctx.viewer.realm.name) requireReadable('name', texts.name);
  const values = requireSettings(REALM_SETTINGS, settings);
  if (values['video_chat_provider'] === VIDEO_PROVIDER && app.config.videoProvider === undefined) {
    throw new BadRequestError('Invalid video_chat_provider');
  }
  return transact(ctx, async (tx, emit) => {
    await lockRealm(tx, realmId);
    requireRights(await asOfNow(tx, ctx), edit);
    const before = await tx.realm.findUniqueOrThrow({ where: { id: realmId } });
    await requireChannels(tx, realmId, values);
    const groups = await systemGroups(tx, realmId);
    const holders = await changedGroupSettings(tx, realmId, REALM_GROUP_SETTINGS, permissions, (name) =>
      realmGroupSetting(groups, before, name),
    );
    const after = {
      ...before,
      ...texts,
      settings: withHolders(groups, storedAfter(REALM_SETTINGS, before.settings, values), holders),
    };
    const changed = await write(tx, emit, app, { before, after });
    const given = new Set(Object.keys({ ...texts, ...values, ...permissions }));
    return Object.fromEntries(Object.entries(changed).filter(([name]) => given.has(name)));
  });
}

/**
 * Checks the viewer's rights. Called before the transaction, and again under the lock, because the role may have changed.
 */
function requireRights(ctx: Ctx, { settings, permissions }: RealmEdit): void {
  requireAdministrator(ctx);
  if (Object.keys({ ...settings, ...permissions }).some((name) => OF_OWNERS.has(name))) requireOwner(ctx);
}

/**
 * Sets settings of the organization as the consequence of another change, and sends the changed settings to all users. The
 * transaction must hold the lock of the organization's row.
 */
export async function setRealmSettings(
  tx: Tx,
  emit: Emit,
  { app, realmId }: Pick<Ctx, 'app' | 'realmId'>,
  values: { readonly [K in RealmSettingName]?: RealmSettingValue<K> },
): Promise<void> {
  const before = await tx.realm.findUniqueOrThrow({ where: { id: realmId } });
  const after = { ...before, settings: storedAfter(REALM_SETTINGS, before.settings, values) };
  await write(tx, emit, app, { before, after });
}

/**
 * Writes the organization, and emits an event with the changed values.
 *
 * @returns The changed values, by the names of registration's fields without `realm_`.
 */
async function write(
  tx: Tx,
  emit: Emit,
  app: Ctx['app'],
  { before, after }: { before: Realm; after: Realm & { settings: Prisma.JsonObject } },
): Promise<Record<string, unknown>> {
  const { id, name, description, settings } = after;
  const groups = await systemGroups(tx, id);
  const changed = changesOf(realmFields(app, before, groups), realmFields(app, after, groups));
  if (Object.keys(changed).length === 0) return {};
  await tx.realm.update({ where: { id }, data: { name, description, settings } });
  const html = 'description' in changed ? { rendered_description: renderMarkdown(description) } : {};
  emit(realmUpdated(id, { ...changed, ...html }), everyone());
  await waitingPeriodChanged(tx, emit, { before, after, now: app.now() });
  return changed;
}

function checkedTexts({ name, description }: RealmEdit): Partial<Pick<Realm, 'name' | 'description'>> {
  return {
    ...(name !== undefined && { name: requireText('name', name, { strip: true, min: 1, max: MAX_REALM_NAME_LENGTH }) }),
    ...(description !== undefined && {
      description: requireText('description', description, { max: MAX_REALM_DESCRIPTION_LENGTH }),
    }),
  };
}

/** Checks the channels that settings name. The organization's row is locked, so none can be archived or made public. */
async function requireChannels(tx: Tx, realmId: number, values: Readonly<Record<string, SettingValue>>): Promise<void> {
  for (const name of OF_CHANNELS) {
    const id = values[name];
    if (typeof id !== 'number' || id === -1) continue;
    const where = { realmId, id, isArchived: false };
    const channel = isRowId(id) ? await tx.channel.findFirst({ where, select: { inviteOnly: true } }) : null;
    if (channel === null) throw new BadRequestError('Invalid channel ID');
    if (name === 'moderation_request_channel_id' && !channel.inviteOnly) {
      throw new BadRequestError('Moderation request channel must be private.');
    }
  }
}

/**
 * Returns the settings as stored, with the changed permissions. Permissions that equal the initial value are not stored.
 */
function withHolders(
  groups: SystemGroups,
  stored: Prisma.JsonObject,
  holders: GroupSettings<RealmGroupSettingName>,
): Prisma.JsonObject {
  const all = { ...stored };
  for (const [name, setting] of Object.entries(holders)) {
    const isInitial = isSameSetting(setting, initialRealmGroup(groups, name as RealmGroupSettingName));
    if (isInitial) delete all[name];
    else all[name] = { members: [...setting.members], groups: [...setting.groups] };
  }
  return all;
}

/**
 * Returns the values that differ between `before` and `after`. The names are those in the registration of a queue, without the
 * prefix `realm_`.
 */
function changesOf(before: object, after: object): Record<string, unknown> {
  const old = new Map<string, unknown>(Object.entries(before));
  const changed = Object.entries(after).filter(([name, value]) => !isDeepStrictEqual(value, old.get(name)));
  return Object.fromEntries(changed.map(([name, value]) => [name.replace(/^realm_/, ''), value]));
}
