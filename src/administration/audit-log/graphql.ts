import { signedIn } from '../../access/context.ts';
import { byKeyIfAny } from '../../api/graphql/loading/batch-resolvers.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { pageOf } from '../../api/graphql/schema/connection.ts';
import { readGlobalId, toGlobalId } from '../../api/graphql/schema/global-ids.ts';
import { nodeModel, nodeOf } from '../../api/graphql/schema/node.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import {
  AUDIT_ACTIONS,
  AUDIT_ACTOR_KINDS,
  AUDIT_OBJECT_TYPES,
  type AuditChange,
  type AuditObjectType as AuditObjectTypeName,
} from '../../events/audit.ts';
import { User } from '../../people/graphql.ts';
import { usersById } from '../../people/loaders.ts';
import { Organization } from '../organization/graphql.ts';
import { ACTION_MEANINGS, ACTOR_MEANINGS, OBJECT_MEANINGS } from './meanings.ts';
import { type AuditObject, matching, retentionDays, visibleTo } from './service.ts';

const valuesOf = <Name extends string>(names: readonly Name[], meanings: Readonly<Record<Name, string>>) =>
  Object.fromEntries(names.map((name) => [name.toUpperCase(), { value: name, description: meanings[name] }])) as Record<
    Uppercase<Name>,
    { value: Name; description: string }
  >;

const AuditAction = builder.enumType('AuditAction', {
  description: 'An action that the audit log records. Later versions can add values.',
  values: valuesOf(AUDIT_ACTIONS, ACTION_MEANINGS),
});

const AuditObjectType = builder.enumType('AuditObjectType', {
  description: 'Kind of the object that an action changes. Later versions can add values.',
  values: valuesOf(AUDIT_OBJECT_TYPES, OBJECT_MEANINGS),
});

const AuditActorKind = builder.enumType('AuditActorKind', {
  description: 'Kind of the actor of an action.',
  values: valuesOf(AUDIT_ACTOR_KINDS, ACTOR_MEANINGS),
});

/** Names of the types of objects, by the kinds of objects in entries. */
const TYPENAMES: Readonly<Record<AuditObjectTypeName, string>> = {
  organization: 'Organization',
  user: 'User',
  user_group: 'UserGroup',
  channel: 'Channel',
  channel_folder: 'ChannelFolder',
  domain: 'OrganizationDomain',
  emoji: 'CustomEmoji',
  profile_field: 'CustomProfileField',
  invitation: 'Invitation',
  identity_provider: 'IdentityProvider',
  api_key: 'ApiKey',
};

/**
 * Converts the global id in a filter to the kind and row id of an object. If the audit log has no entries about objects of this
 * type, the result matches no entry.
 */
function objectIn(globalId: string): AuditObject {
  const reference = readGlobalId(globalId);
  const type = AUDIT_OBJECT_TYPES.find((one) => TYPENAMES[one] === reference?.typename);
  return type === undefined ? { type: 'organization', id: 0 } : { type, id: reference?.id ?? 0 };
}

interface NamedChange {
  readonly name: string;
  readonly change: AuditChange;
}

const AuditLogChange = builder.objectRef<NamedChange>('AuditLogChange').implement({
  description: 'A property that an action changed.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name of the property, as in the REST API.' }),
    oldValue: t.string({
      nullable: true,
      description: 'Value before the action, as JSON text. Null if there was none, or it is not recorded.',
      resolve: ({ change }) => jsonOf(change.old),
    }),
    newValue: t.string({
      nullable: true,
      description:
        'Value after the action, as JSON text. Texts are cut to 1,000 characters, and lists to 1,000 items. Null if ' +
        'there is none, or it is not recorded.',
      resolve: ({ change }) => jsonOf(change.new),
    }),
  }),
});

const jsonOf = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value));

const AuditLogEntry = builder.prismaNode('AuditLogEntry', {
  id: { resolve: ({ id }) => Number(id) },
  findUnique: (id, ctx) => ({
    organizationId_id: { organizationId: signedIn(ctx).organizationId, id: Number(id) },
  }),
  description: 'An entry of the audit log. Entries never change.',
  fields: (t) => ({
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time of the action.' }),
    action: t.field({ type: AuditAction, description: 'The action.', resolve: ({ action }) => action as never }),
    actorKind: t.field({
      type: AuditActorKind,
      description: 'Kind of the actor.',
      resolve: ({ actorKind }) => actorKind as never,
    }),
    actor: t.field({
      type: User,
      nullable: true,
      description: 'User who acted. Null unless `actorKind` is `USER`.',
      resolve: byKeyIfAny(usersById, ({ actorId }) => actorId),
    }),
    objectType: t.field({
      type: AuditObjectType,
      description: 'Kind of the changed object.',
      resolve: ({ objectType }) => objectType as never,
    }),
    object: t.field({
      type: builder.nodeInterfaceRef(),
      nullable: true,
      description:
        'The changed object. Null if it no longer exists, if the viewer cannot see it, or if the action changed several ' +
        'objects.',
      resolve: ({ objectType, objectId }, _args, ctx) =>
        nodeOf(ctx, TYPENAMES[objectType as AuditObjectTypeName] as never, objectId),
    }),
    objectId: t.id({
      nullable: true,
      description:
        'The `id` of the changed object, also if the object no longer exists or the viewer cannot see it. Null if the action ' +
        'changed several objects.',
      resolve: ({ objectType, objectId }) =>
        objectId === null ? null : (toGlobalId(TYPENAMES[objectType as AuditObjectTypeName], objectId) as never),
    }),
    objectName: t.exposeString('objectName', {
      nullable: true,
      description: 'Name of the changed object at the time of the action. Null for users.',
    }),
    user: t.field({
      type: User,
      nullable: true,
      description: 'User whom the action changed. Null unless `objectType` is `USER`.',
      resolve: byKeyIfAny(usersById, ({ objectType, objectId }) => (objectType === 'user' ? objectId : null)),
    }),
    address: t.exposeString('address', {
      nullable: true,
      description:
        'IP address from which the client sent the request. Null for the operator, and for the service unless a person ' +
        'signs in with an identity provider.',
    }),
    clientName: t.exposeString('clientName', {
      nullable: true,
      description:
        'Name that the client sent: the `client` parameter, or else the first word of its User-Agent without the version. ' +
        'At most 30 characters. Null for the operator, and for the service unless a person signs in with an identity ' +
        'provider, which `changes` then names.',
    }),
    changes: t.field({
      type: [AuditLogChange],
      description: 'Changed properties, at most 1,000. Secrets and email addresses are never among them.',
      resolve: ({ details }) =>
        Object.entries(details as Record<string, AuditChange>).map(([name, change]) => ({ name, change })),
    }),
  }),
});
nodeModel('AuditLogEntry', 'AuditLogEntry', visibleTo, { scope: 'administration' });

const AuditLogFilterInput = builder.inputType('AuditLogFilterInput', {
  description: 'Conditions on entries of the audit log. An entry must meet all given ones.',
  fields: (t) => ({
    actorIds: t.idList({
      ...refersTo('User'),
      required: false,
      description: 'Only entries about actions of the users with these ids, at most 100.',
    }),
    actions: t.field({
      type: [AuditAction],
      required: false,
      description: 'Only entries about these actions, at most 100.',
    }),
    objectType: t.field({
      type: AuditObjectType,
      required: false,
      description: 'Only entries about objects of this kind.',
    }),
    objectId: t.id({ required: false, description: 'Only entries about the object with this id.' }),
    sinceAt: t.field({ type: 'DateTime', required: false, description: 'Only entries from this time on.' }),
    untilAt: t.field({ type: 'DateTime', required: false, description: 'Only entries before this time.' }),
  }),
});

const AuditLogEntryConnection = builder.connectionObject(
  { type: AuditLogEntry, name: 'AuditLogEntryConnection' },
  { name: 'AuditLogEntryEdge' },
);

builder.objectField(Organization, 'auditLogEntries', (t) =>
  t.connection(
    {
      type: AuditLogEntry,
      nullable: true,
      extensions: { scope: 'administration' },
      description:
        'The audit log, newest entries first. For administrators. Entries are deleted after `auditLogRetentionDays`. ' +
        '`GET /audit-log/export` returns all of them as CSV or JSON Lines.',
      args: {
        filter: t.arg({ type: AuditLogFilterInput, required: false, description: 'Conditions. Default: all entries.' }),
      },
      resolve: (_organization, { filter, ...args }, ctx, info) => {
        const where = matching(signedIn(ctx), {
          actorIds: (filter?.actorIds ?? undefined) as readonly number[] | undefined,
          actions: filter?.actions ?? undefined,
          objectType: filter?.objectType ?? undefined,
          object: filter?.objectId == null ? undefined : objectIn(String(filter.objectId)),
          since: filter?.sinceAt ?? undefined,
          until: filter?.untilAt ?? undefined,
        });
        return pageOf('AuditLogEntry', { where, order: { id: 'desc' }, args, ctx, info });
      },
    },
    AuditLogEntryConnection,
  ),
);

builder.objectField(Organization, 'auditLogRetentionDays', (t) =>
  t.float({
    nullable: true,
    description:
      'Number of days after which the service deletes entries of the audit log: the lower one of `auditLogDays` and the limit ' +
      'of the server. Null if the viewer is not an administrator.',
    resolve: (organization, _args, ctx) => retentionDays(signedIn(ctx), organization),
  }),
);
