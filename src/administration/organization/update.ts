import { isDeepStrictEqual } from 'node:util';
import type { Ctx } from '../../access/context.ts';
import {
  type EditableOrganizationSettingName,
  initialOrganizationGroup,
  ORGANIZATION_GROUP_SETTINGS,
  ORGANIZATION_SETTINGS,
  type OrganizationGroupSettingName,
  type OrganizationSettingName,
  type OrganizationSettingValue,
  organizationGroupSetting,
  organizationSetting,
  VIDEO_PROVIDER,
} from '../../access/organization-settings.ts';
import {
  changedGroupSettings,
  type GroupSettingEdits,
  type GroupSettings,
  isSameSetting,
} from '../../access/permission-values.ts';
import { requireAdministrator, requireOwner } from '../../access/roles.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { type SystemGroups, systemGroups } from '../../access/system-groups.ts';
import { changing } from '../../events/act.ts';
import { everyone } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Organization, Prisma } from '../../generated/prisma/client.ts';
import { renderMarkdown } from '../../markdown/render.ts';
import { lockOrganization } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError, NotFoundError, ValidationError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { MAX_ORGANIZATION_DESCRIPTION_LENGTH, MAX_ORGANIZATION_NAME_LENGTH } from '../../platform/limits.ts';
import { oneLine } from '../../platform/mail/outbox.ts';
import { requireReadable } from '../../platform/names.ts';
import { OWNER } from '../../platform/roles.ts';
import { requireSettings, type SettingValue, storedAfter } from '../../platform/setting.ts';
import { requireText } from '../../platform/text.ts';
import { auditLogMs } from '../audit-log-time.ts';
import { queueSecurityMail } from '../security-mail.ts';
import { requireProof, requireRecentSignIn } from '../sign-in/proof.ts';
import { endSessionsWithoutFactor } from '../sign-in/required-factor.ts';
import { waitingPeriodChanged } from '../user-groups/role-groups.ts';
import { organizationUpdated } from './events.ts';
import { organizationFields } from './state.ts';

const DAY_MS = 86_400_000;

/** Fields of an organization to change. Absent fields stay unchanged. */
export interface OrganizationEdit {
  /** New name, 1 to 40 code points. */
  readonly name?: string | undefined;
  /** New description in Flavored Markdown, at most 1,000 code points. A longer one is refused with `ValidationError`. */
  readonly description?: string | undefined;
  /**
   * New values of settings, by their names over REST without `realm_`. They are not validated yet. The value "unlimited"
   * removes a limit.
   */
  readonly settings?: Partial<Record<EditableOrganizationSettingName, unknown>> | undefined;
  readonly permissions?: GroupSettingEdits<OrganizationGroupSettingName> | undefined;
  /** The viewer's own password, as proof of identity. Required if fewer roles must have a second factor. */
  readonly currentPassword?: string | undefined;
}

/** The settings and permissions that only owners can change. */
export const OF_OWNERS: ReadonlySet<string> = new Set([
  'message_retention_days',
  'audit_log_days',
  'invite_required',
  'emails_restricted_to_domains',
  'disallow_disposable_email_addresses',
  'waiting_period_threshold',
  'second_factor_required_role',
  'create_multiuse_invite_group',
  'can_create_groups',
  'can_invite_users_group',
  'can_manage_all_groups',
  'can_manage_billing_group',
] satisfies (EditableOrganizationSettingName | OrganizationGroupSettingName)[]);

const OF_CHANNELS = [
  'moderation_request_channel_id',
  'new_stream_announcements_stream_id',
  'signup_announcements_stream_id',
  'service_update_announcements_stream_id',
] as const;

/**
 * Updates the organization, and sends all changes in one event to all users of the organization. Values that are equal to the
 * current values are ignored. If a second factor is required of more roles, the sessions of people of these roles who have none end.
 *
 * @returns The given values that changed, by name on the wire.
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator, or an owner if a setting requires one.
 * @throws HoldersMismatchError if a permission differs from the value that the client expects.
 * @throws SystemGroupRequiredError for a permission that only a role group can hold.
 * @throws ValidationError if a value is invalid, the provider of video calls is not configured, or the audit log would be kept
 *   longer than the operator of the server allows.
 * @throws NotFoundError if a channel, user or group does not exist, or a channel is archived.
 * @throws ConflictError if a group is deactivated, or the channel for moderation requests is not private.
 * @throws PasswordRequiredError and the other errors of `requireProof`, if fewer roles must have a second factor or the audit log is
 *   kept for a shorter time. The owners are then notified by email.
 */
export async function updateOrganization(ctx: Ctx, edit: OrganizationEdit): Promise<Readonly<Record<string, unknown>>> {
  requireRights(ctx, edit);
  const { app, organizationId } = ctx;
  const { settings = {}, permissions = {} } = edit;
  const texts = checkedTexts(edit);
  if (texts.name !== undefined && texts.name !== ctx.viewer.organization.name) requireReadable('name', texts.name);
  const values = requireSettings(ORGANIZATION_SETTINGS, settings);
  if (values['video_chat_provider'] === VIDEO_PROVIDER && app.config.videoProvider === undefined) {
    throw new ValidationError('Invalid video_chat_provider', {
      parameter: 'video_chat_provider',
      schemaMessage: 'The server has no configuration for this provider of video calls.',
    });
  }
  requireAuditLogDays(app, values['audit_log_days']);
  const requiredRole = values['second_factor_required_role'];
  // A given password is checked in any case.
  if (
    edit.currentPassword !== undefined ||
    isRelaxed(ctx.viewer.organization, requiredRole) ||
    shortensAuditLog(ctx, ctx.viewer.organization, values)
  ) {
    await requireProof(ctx, edit.currentPassword);
  }
  const change = async (tx: Tx, emit: Emit) => {
    await lockOrganization(tx, organizationId);
    requireRights(await asOfNow(tx, ctx), edit);
    const before = await tx.organization.findUniqueOrThrow({ where: { id: organizationId } });
    if (isRelaxed(before, requiredRole)) {
      // Another request can have set a stricter value in the meantime.
      requireRecentSignIn(ctx, 'current_password');
      await mailOwners(tx, ctx, before, {
        subject: 'Required second factors',
        change: 'it requires a second factor of fewer people',
      });
    }
    if (shortensAuditLog(ctx, before, values)) {
      requireRecentSignIn(ctx, 'current_password');
      await mailOwners(tx, ctx, before, {
        subject: 'The audit log',
        change: 'entries of the audit log are kept for a shorter time',
      });
    }
    await requireChannels(tx, organizationId, values);
    const groups = await systemGroups(tx, organizationId);
    const holders = await changedGroupSettings(tx, organizationId, ORGANIZATION_GROUP_SETTINGS, permissions, (name) =>
      organizationGroupSetting(groups, before, name),
    );
    const after = {
      ...before,
      ...texts,
      settings: withHolders(groups, storedAfter(ORGANIZATION_SETTINGS, before.settings, values), holders),
    };
    const changed = await writeOrganization(tx, emit, app, { before, after });
    const given = new Set(Object.keys({ ...texts, ...values, ...permissions }));
    return {
      shown: Object.fromEntries(Object.entries(changed).filter(([name]) => given.has(name))),
      isRequired: isRequired(before, requiredRole),
    };
  };
  return changing(async () => {
    const { shown, isRequired: endsSessions } = await transact(ctx, change);
    if (endsSessions) await endSessionsWithoutFactor(ctx);
    return shown;
  });
}

/**
 * Returns whether a given value of `second_factor_required_role` requires a second factor of at least the same roles as before. The
 * same roles count too, because a request that failed before all sessions ended is repeated.
 */
const isRequired = (organization: Organization, role: SettingValue | undefined): boolean =>
  typeof role === 'number' && role > 0 && role >= organizationSetting(organization, 'second_factor_required_role');

/** Returns whether new values of settings shorten the time for which the audit log is kept. */
const shortensAuditLog = (
  { app }: Pick<Ctx, 'app'>,
  organization: Organization,
  settings: Readonly<Record<string, SettingValue>>,
): boolean =>
  settings['audit_log_days'] !== undefined &&
  auditLogMs(app.config, { settings }) < auditLogMs(app.config, organization);

/** Returns whether a new value of `second_factor_required_role` requires a second factor of fewer roles. */
const isRelaxed = (organization: Organization, role: SettingValue | undefined): boolean =>
  typeof role === 'number' && role < organizationSetting(organization, 'second_factor_required_role');

/** @throws ValidationError if the audit log would be kept longer than the operator of the server allows. */
function requireAuditLogDays({ config }: Ctx['app'], value: SettingValue | undefined): void {
  const maximum = Math.floor(config.auditLogMs / DAY_MS);
  if (typeof value !== 'number' || value <= maximum) return;
  const message = `The server keeps the audit log for at most ${maximum} days`;
  throw new ValidationError(message, { parameter: 'audit_log_days', maximum, value });
}

/** Notifies the owners by email of a change that makes the organization less safe. */
async function mailOwners(
  tx: Tx,
  { viewer }: Ctx,
  organization: Organization,
  { subject, change }: { readonly subject: string; readonly change: string },
): Promise<void> {
  const where = { organizationId: organization.id, role: OWNER, isActive: true, botType: null, isSystem: false };
  for (const owner of await tx.user.findMany({ where, orderBy: { id: 'asc' } })) {
    await queueSecurityMail(tx, organization, owner, {
      subject,
      happened: `${oneLine(viewer.user.fullName)} changed the organization: ${change}.`,
    });
  }
}

/**
 * Checks the viewer's rights. Called before the transaction, and again under the lock, because the viewer's role can have
 * changed.
 *
 * @throws UnauthorizedPrincipalError if the viewer is not an administrator, or not an owner although a setting requires one.
 */
function requireRights(ctx: Ctx, { settings, permissions }: OrganizationEdit): void {
  requireAdministrator(ctx);
  if (Object.keys({ ...settings, ...permissions }).some((name) => OF_OWNERS.has(name))) requireOwner(ctx);
}

/**
 * Sets settings of the organization as part of another change, and sends the changed settings to all users. The transaction
 * must hold the lock of the organization's row.
 */
export async function setOrganizationSettings(
  tx: Tx,
  emit: Emit,
  { app, organizationId }: Pick<Ctx, 'app' | 'organizationId'>,
  values: { readonly [K in OrganizationSettingName]?: OrganizationSettingValue<K> },
): Promise<void> {
  const before = await tx.organization.findUniqueOrThrow({ where: { id: organizationId } });
  const after = { ...before, settings: storedAfter(ORGANIZATION_SETTINGS, before.settings, values) };
  await writeOrganization(tx, emit, app, { before, after });
}

/**
 * Writes the changed organization to the database, and emits an event with the changed values.
 *
 * @returns The changed values, by their field names in the response of `POST /register`, without the prefix `realm_`.
 */
export async function writeOrganization(
  tx: Tx,
  emit: Emit,
  app: Ctx['app'],
  { before, after }: { before: Organization; after: Omit<Organization, 'settings'> & { settings: Prisma.JsonObject } },
): Promise<Record<string, unknown>> {
  const { id, name, description, iconImageId, iconVersion, settings } = after;
  const groups = await systemGroups(tx, id);
  const fieldsBefore = organizationFields(app, before, groups);
  const changed = changesOf(fieldsBefore, organizationFields(app, after, groups));
  if (Object.keys(changed).length === 0) return {};
  await tx.organization.update({ where: { id }, data: { name, description, iconImageId, iconVersion, settings } });
  const html = 'description' in changed ? { rendered_description: renderMarkdown(description) } : {};
  emit(organizationUpdated(id, { ...changed, ...html }, changesOf({}, fieldsBefore)), everyone());
  await waitingPeriodChanged(tx, emit, { before, after, now: app.now() });
  return changed;
}

function checkedTexts({ name, description }: OrganizationEdit): Partial<Pick<Organization, 'name' | 'description'>> {
  return {
    ...(name !== undefined && {
      name: requireText('name', name, { strip: true, min: 1, max: MAX_ORGANIZATION_NAME_LENGTH }),
    }),
    ...(description !== undefined && {
      description: requireText('description', description, { max: MAX_ORGANIZATION_DESCRIPTION_LENGTH }),
    }),
  };
}

/**
 * Checks the channels to which settings refer. The caller holds the lock of the organization's row, so no concurrent change can
 * archive a channel or make it public.
 *
 * @throws NotFoundError if a channel does not exist or is archived.
 * @throws ConflictError if the channel for moderation requests is not private.
 */
async function requireChannels(
  tx: Tx,
  organizationId: number,
  values: Readonly<Record<string, SettingValue>>,
): Promise<void> {
  for (const name of OF_CHANNELS) {
    const id = values[name];
    if (typeof id !== 'number' || id === -1) continue;
    const where = { organizationId, id, isArchived: false };
    const channel = isRowId(id) ? await tx.channel.findFirst({ where, select: { inviteOnly: true } }) : null;
    if (channel === null) throw new NotFoundError('Invalid channel ID', { type: 'Channel', id, parameter: name });
    if (name === 'moderation_request_channel_id' && !channel.inviteOnly) {
      throw new ConflictError('Moderation request channel must be private.', { parameter: name });
    }
  }
}

/**
 * Returns the organization's settings as stored, after the permissions in `holders` are set. A permission that equals its
 * initial value is not stored.
 */
function withHolders(
  groups: SystemGroups,
  stored: Prisma.JsonObject,
  holders: GroupSettings<OrganizationGroupSettingName>,
): Prisma.JsonObject {
  const all = { ...stored };
  for (const [name, setting] of Object.entries(holders)) {
    const isInitial = isSameSetting(setting, initialOrganizationGroup(groups, name as OrganizationGroupSettingName));
    if (isInitial) delete all[name];
    else all[name] = { members: [...setting.members], groups: [...setting.groups] };
  }
  return all;
}

/** Returns the values of `after` that differ from those in `before`, by name without the prefix `realm_`. */
function changesOf(before: object, after: object): Record<string, unknown> {
  const old = new Map<string, unknown>(Object.entries(before));
  const changed = Object.entries(after).filter(([name, value]) => !isDeepStrictEqual(value, old.get(name)));
  return Object.fromEntries(changed.map(([name, value]) => [name.replace(/^realm_/, ''), value]));
}
