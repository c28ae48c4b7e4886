import { Prisma } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { type Clocked, databaseClock } from '../platform/db/clock.ts';
import { requireScopes } from '../platform/errors.ts';
import type { ScopedCredential } from '../platform/key-scopes.ts';

/** Every action that the audit log records. */
export const AUDIT_ACTIONS = [
  ...(['signed_in', 'sign_in_failed', 'signed_out', 'sessions_ended', 'api_key_replaced', 'api_key_created'] as const),
  ...(['api_key_renamed', 'api_keys_revoked', 'api_key_read', 'second_factor_added', 'second_factor_removed'] as const),
  ...(['second_factor_reset', 'recovery_codes_replaced', 'recovery_code_used'] as const),
  ...(['passkey_added', 'passkey_renamed', 'passkey_removed'] as const),
  ...(['password_changed', 'password_reset_requested', 'password_reset', 'email_change_requested'] as const),
  ...(['email_changed', 'user_created', 'user_renamed', 'user_role_changed', 'user_rights_changed'] as const),
  ...(['user_settings_changed', 'user_profile_changed', 'user_avatar_changed', 'user_deactivated'] as const),
  ...(['user_reactivated', 'user_erased', 'bot_owner_changed', 'bot_changed', 'invitation_created'] as const),
  ...(['invitation_resent', 'invitation_revoked', 'invitation_accepted', 'group_created', 'group_changed'] as const),
  ...(['group_deactivated', 'group_reactivated', 'group_members_added', 'group_members_removed'] as const),
  ...(['group_subgroups_added', 'group_subgroups_removed', 'channel_created', 'channel_changed'] as const),
  ...(['channel_archived', 'channel_unarchived', 'channel_subscribers_added', 'channel_subscribers_removed'] as const),
  ...(['channel_folder_created', 'channel_folder_changed', 'channel_folders_reordered'] as const),
  ...(['topic_deleted', 'messages_deleted'] as const),
  ...(['organization_created', 'organization_changed', 'user_defaults_changed', 'domain_added'] as const),
  ...(['domain_changed', 'domain_removed', 'emoji_added', 'emoji_deactivated', 'profile_field_created'] as const),
  ...(['profile_field_changed', 'profile_field_deleted', 'profile_fields_reordered'] as const),
  ...(['organization_suspended', 'organization_resumed', 'organization_deleted', 'organization_restored'] as const),
  ...(['organization_move_begun', 'organization_moved'] as const),
  ...(['owner_link_created', 'identity_provider_created', 'identity_provider_changed'] as const),
  ...(['identity_provider_deleted', 'identity_linked', 'identity_unlinked', 'audit_log_exported'] as const),
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** Kinds of objects that actions change. */
export const AUDIT_OBJECT_TYPES = [
  ...(['organization', 'user', 'user_group', 'channel', 'channel_folder', 'domain', 'emoji', 'profile_field'] as const),
  ...(['invitation', 'identity_provider', 'api_key'] as const),
] as const;
export type AuditObjectType = (typeof AUDIT_OBJECT_TYPES)[number];

/** Kinds of actors. A visitor is a client that is not signed in, and the system is the service itself. */
export const AUDIT_ACTOR_KINDS = ['user', 'operator', 'visitor', 'system'] as const;
export type AuditActorKind = (typeof AUDIT_ACTOR_KINDS)[number];

/** The value of a property before and after an action. Absent if the property has no such value. */
export interface AuditChange {
  readonly old?: unknown;
  readonly new?: unknown;
}

/** One action, as features describe it. The actor, the time and the client are added when the entry is written. */
export interface AuditEntry {
  readonly action: AuditAction;
  readonly objectType: AuditObjectType;
  readonly objectId?: number | undefined;
  /** Name of the object. Must be absent for users: entries are not erased with their users. */
  readonly objectName?: string | undefined;
  /** Changed properties by name. Must contain no secrets, no email addresses and no names of users. */
  readonly changes?: Readonly<Record<string, AuditChange>>;
  /** Id of the user who acts, if it is not the viewer of the change. */
  readonly actorId?: number | undefined;
  /** Id of the user to whom the object belongs. If this user acts, there is no entry, because the action is not administrative. */
  readonly ownerId?: number | undefined;
  /** Organization of the entry, if it differs from the one of the change. */
  readonly organizationId?: number | undefined;
}

/** The parts of a context that determine the actor of a change. */
export interface AuditedContext {
  /** The acting user. Without a credential, the operator acts on behalf of the user. */
  readonly viewer?:
    | { readonly id: number; readonly clientName: string; readonly credential: ScopedCredential | null }
    | null
    | undefined;
  readonly caller?: { readonly address: string; readonly network: string } | undefined;
  readonly clientName?: string | undefined;
  /** True if the server's operator makes the change. */
  readonly isOperator?: boolean | undefined;
  /** Identifier of the identity provider with which a person signs in. All entries of the change contain it in `changes`. */
  readonly identityProvider?: string | undefined;
}

/** The organization of a change, its actor, and the clock. */
export interface AuditScope extends AuditedContext {
  readonly app: Clocked;
  readonly organizationId: number;
}

/** Maximum lengths of strings and lists in the changes of an entry. Longer ones are cut. */
const MAX_LENGTHS = [1000, 100, 10] as const;
/** Maximum length of the changes of an entry as JSON, in UTF-16 code units. */
const MAX_CHANGES_LENGTH = 20_000;
const MAX_NAME_LENGTH = 300;
const MAX_CLIENT_LENGTH = 100;

/**
 * Writes entries to the audit log, in the transaction of the change that they describe. Equal entries are written once.
 *
 * @param db The transaction of the change, or the database client for an action that changes nothing else.
 * @throws InsufficientScopeError if there are entries, and the viewer's API key lacks the scope `administration`.
 */
export async function writeAuditLog(
  db: Pick<Tx, '$executeRaw'>,
  scope: AuditScope,
  entries: readonly AuditEntry[],
): Promise<void> {
  const actor = actorOf(scope);
  const isOwn = ({ ownerId, actorId }: AuditEntry) =>
    ownerId !== undefined && actor.kind === 'user' && ownerId === (actorId ?? actor.id);
  const rows = entries
    .filter((entry) => !isOwn(entry))
    .map(({ action, objectType, objectId, objectName, changes = {}, actorId, organizationId }) => ({
      realm_id: organizationId ?? scope.organizationId,
      actor_kind: actorId === undefined ? actor.kind : 'user',
      actor_id: actorId ?? actor.id,
      action,
      object_type: objectType,
      object_id: objectId ?? null,
      object_name: objectName === undefined ? null : cut(objectName, MAX_NAME_LENGTH),
      address: actor.address,
      client_name: actor.clientName === null ? null : cut(actor.clientName, MAX_CLIENT_LENGTH),
      details: bounded({
        ...changes,
        ...(scope.identityProvider !== undefined && { provider: { new: scope.identityProvider } }),
      }),
    }));
  if (rows.length > 0) requireScopes(scope.viewer, 'administration');
  for (const [organizationId, ofOne] of Map.groupBy(rows, (row) => row.realm_id)) {
    const distinct = [...new Set(ofOne.map((row) => JSON.stringify(row)))];
    await db.$executeRaw`
      INSERT INTO audit_log_entry (realm_id, created_at, actor_kind, actor_id, action, object_type, object_id, object_name,
                                   address, client_name, details)
      SELECT ${organizationId}::int, ${databaseClock(scope.app)}, e.actor_kind, e.actor_id, e.action, e.object_type,
             e.object_id, e.object_name, e.address, e.client_name, e.details
      FROM jsonb_to_recordset(${`[${distinct.join()}]`}::jsonb) AS e(
        actor_kind text, actor_id int, action text, object_type text, object_id int, object_name text, address text,
        client_name text, details jsonb)`;
  }
}

interface Actor {
  readonly kind: AuditActorKind;
  readonly id: number | null;
  readonly address: string | null;
  readonly clientName: string | null;
}

function actorOf({ viewer, caller, clientName, isOperator, identityProvider }: AuditedContext): Actor {
  if (isOperator === true || viewer?.credential === null)
    return { kind: 'operator', id: null, address: null, clientName: null };
  const address = caller?.address ?? null;
  if (viewer != null) return { kind: 'user', id: viewer.id, address, clientName: viewer.clientName };
  // The service applies the rules of an identity provider. The person who signs in has no choice.
  const isVisitor = caller !== undefined && identityProvider === undefined;
  return { kind: isVisitor ? 'visitor' : 'system', id: null, address, clientName: clientName ?? null };
}

/** Returns the id of the user who makes a change. Null for the operator, the service, and clients that are not signed in. */
export const actingUserId = (context: AuditedContext): number | null => actorOf(context).id;

const cut = (text: string, max: number): string => {
  const wellFormed = text.toWellFormed().replaceAll('\0', '');
  return wellFormed.length <= max ? wellFormed : `${[...wellFormed].slice(0, max - 1).join('')}…`;
};

/** Returns the changes as JSON values of limited length. */
function bounded(changes: Readonly<Record<string, AuditChange>>): object {
  for (const max of MAX_LENGTHS) {
    const short = shortened(changes, max) as object;
    if (JSON.stringify(short).length <= MAX_CHANGES_LENGTH) return short;
  }
  return Object.fromEntries(
    Object.keys(changes)
      .slice(0, MAX_LENGTHS[1])
      .map((name) => [cut(name, MAX_LENGTHS[1]), {}]),
  );
}

function shortened(value: unknown, max: number): unknown {
  if (typeof value === 'string') return cut(value, max);
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.slice(0, max).map((item) => shortened(item, max));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .slice(0, max)
      .map(([name, inner]) => [name, shortened(inner, max)]),
  );
}

/** Returns the changes between two objects, for the properties of `after`. */
export function auditChanges(before: object, after: object): Record<string, AuditChange> {
  const old = new Map<string, unknown>(Object.entries(before));
  return Object.fromEntries(Object.entries(after).map(([name, value]) => [name, { old: old.get(name), new: value }]));
}

/** Returns the condition that permits the deletion of entries in a transaction, for the retention of the audit log. */
export const permitPruning = Prisma.sql`SELECT set_config('audit_log.prunes', 'on', true)`;
