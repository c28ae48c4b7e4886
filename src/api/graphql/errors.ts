import { GraphQLError } from 'graphql';
import type { Logger } from 'pino';
import { expectedError, isGone } from '../../platform/db/errors.ts';
import {
  AuthenticationFailedError,
  BadEventQueueIdError,
  BadImageError,
  BadNarrowError,
  BadRequestError,
  CannotDeactivateGroupInUseError,
  CannotDeactivateLastUserError,
  ChannelAlreadyExistsError,
  ChannelDoesNotExistError,
  type ChatError,
  ERROR_CODES,
  ExpectationMismatchError,
  type GroupObjection,
  InvalidApiKeyError,
  InvalidVideoCallProviderTokenError,
  MoveMessagesTimeLimitExceededError,
  NonexistentSubdomainError,
  RateLimitHitError,
  ReactionAlreadyExistsError,
  ReactionDoesNotExistError,
  RealmDeactivatedError,
  RequestTimeoutError,
  SystemGroupRequiredError,
  UnauthorizedError,
  UnauthorizedPrincipalError,
  UserDeactivatedError,
  WildcardMentionNotAllowedError,
} from '../../platform/errors.ts';
import { builder } from './builder.ts';

const ErrorCode = builder.enumType('ErrorCode', {
  description: 'What went wrong, in one word: the same as `code` over REST.',
  values: ERROR_CODES,
});

const ServiceError = builder.interfaceRef<ChatError>('ServiceError').implement({
  description: 'A failure the client caused, or can do something about.',
  fields: (t) => ({
    code: t.expose('code', { type: ErrorCode }),
    message: t.exposeString('message', {
      description: 'For people. Programs go by `code` and the fields of the type.',
    }),
  }),
});

const QueueLossReason = builder.enumType('QueueLossReason', {
  description: 'Why an event queue, or a position in it, is lost.',
  values: {
    UNKNOWN: { value: 'unknown', description: "There is no such queue, or it is another user's." },
    EXPIRED: { value: 'expired', description: 'The queue was idle for too long, deleted, or ended by the service.' },
    PRUNED: { value: 'pruned', description: 'The position is older than what the log still holds.' },
    FROM_FUTURE: { value: 'from_future', description: 'The position is above every id given out so far.' },
  } as const,
});

// Codes without data of their own: the type says no more than the code.
for (const [type, description] of [
  [BadRequestError, 'A value the service does not take, an object that is not there, or an act the viewer may not do.'],
  [UnauthorizedPrincipalError, 'The act takes a role the viewer does not have.'],
  [UnauthorizedError, 'The request carries no credentials, or none that can be read.'],
  [InvalidApiKeyError, 'The credentials fit no account.'],
  [AuthenticationFailedError, 'User name and password fit no account.'],
  [UserDeactivatedError, 'The right credentials of an account that is deactivated.'],
  [RealmDeactivatedError, 'The right credentials in an organization that is deactivated.'],
  [NonexistentSubdomainError, 'There is no organization at this address.'],
  [InvalidVideoCallProviderTokenError, 'Video calls may not be made in the name of the viewer.'],
  [ReactionAlreadyExistsError, 'The viewer has this emoji on the message already.'],
  [ReactionDoesNotExistError, 'The viewer has no such emoji on the message.'],
  [BadImageError, 'The file is no image that can be read.'],
  [WildcardMentionNotAllowedError, 'To mention so many at once takes a permission.'],
] as const) {
  builder.objectType(type, { name: type.name, description, interfaces: [ServiceError] });
}

builder.objectType(ChannelDoesNotExistError, {
  name: 'ChannelDoesNotExistError',
  description: 'The channel is not there, or not for the viewer.',
  interfaces: [ServiceError],
  fields: (t) => ({
    channelId: t.int({ nullable: true, resolve: ({ data }) => ('stream_id' in data ? data.stream_id : null) }),
    channelName: t.string({ nullable: true, resolve: ({ data }) => ('stream' in data ? data.stream : null) }),
  }),
});

builder.objectType(BadNarrowError, {
  name: 'BadNarrowError',
  description: 'A narrow names what is not there, or what no message can be.',
  interfaces: [ServiceError],
  fields: (t) => ({ description: t.string({ resolve: ({ data }) => data.desc }) }),
});

builder.objectType(ChannelAlreadyExistsError, {
  name: 'ChannelAlreadyExistsError',
  description: 'The name is taken, in whatever case.',
  interfaces: [ServiceError],
  fields: (t) => ({ channelName: t.string({ resolve: ({ data }) => data.channel_name }) }),
});

builder.objectType(ExpectationMismatchError, {
  name: 'ExpectationMismatchError',
  description: 'The value was not what the client said it was.',
  interfaces: [ServiceError],
  fields: (t) => ({ fieldName: t.string({ resolve: ({ data }) => data.field_name }) }),
});

builder.objectType(MoveMessagesTimeLimitExceededError, {
  name: 'MoveMessagesTimeLimitExceededError',
  description: 'Some messages of the topic are too old to be moved.',
  interfaces: [ServiceError],
  fields: (t) => ({
    firstAllowedMessageId: t.field({
      type: 'LongId',
      description: 'The oldest message that may be moved, with all after it.',
      resolve: ({ data }) => data.first_message_id_allowed_to_move,
    }),
    messagesInTopic: t.int({ resolve: ({ data }) => data.total_messages_in_topic }),
    messagesAllowedToMove: t.int({ resolve: ({ data }) => data.total_messages_allowed_to_move }),
  }),
});

builder.objectType(CannotDeactivateLastUserError, {
  name: 'CannotDeactivateLastUserError',
  description: 'The viewer cannot go: nobody would be left, or no owner.',
  interfaces: [ServiceError],
  fields: (t) => ({ isLastOwner: t.boolean({ resolve: ({ data }) => data.is_last_owner }) }),
});

builder.objectType(SystemGroupRequiredError, {
  name: 'SystemGroupRequiredError',
  description: 'Only a role group may hold the permission.',
  interfaces: [ServiceError],
  fields: (t) => ({ settingName: t.string({ resolve: ({ data }) => data.setting_name }) }),
});

const GroupObjectionKind = builder.enumType('GroupObjectionKind', {
  description: 'What it is that goes by a group.',
  values: {
    SUBGROUP: { value: 'subgroup', description: 'Groups it is within.' },
    CHANNEL: { value: 'channel' },
    USER_GROUP: { value: 'user_group' },
    ORGANIZATION: { value: 'realm' },
  } as const,
});

const GroupObjectionType = builder.objectRef<GroupObjection>('GroupObjection').implement({
  description: 'Something that goes by a group.',
  fields: (t) => ({
    kind: t.field({ type: GroupObjectionKind, resolve: ({ type }) => type }),
    supergroupIds: t.intList({
      description: 'The groups it is within.',
      resolve: (objection) => ('supergroup_ids' in objection ? [...objection.supergroup_ids] : []),
    }),
    channelId: t.int({
      nullable: true,
      resolve: (objection) => ('channel_id' in objection ? objection.channel_id : null),
    }),
    userGroupId: t.int({
      nullable: true,
      resolve: (objection) => ('group_id' in objection ? objection.group_id : null),
    }),
    settings: t.stringList({
      description: 'The permissions it holds there, as REST names them.',
      resolve: (objection) => ('settings' in objection ? [...objection.settings] : []),
    }),
  }),
});

builder.objectType(CannotDeactivateGroupInUseError, {
  name: 'CannotDeactivateGroupInUseError',
  description: 'The group is within others, or holds permissions.',
  interfaces: [ServiceError],
  fields: (t) => ({
    objections: t.field({ type: [GroupObjectionType], resolve: ({ data }) => [...data.objections] }),
  }),
});

builder.objectType(BadEventQueueIdError, {
  name: 'BadEventQueueIdError',
  description: 'The queue, or the position in it, is lost: register a new one.',
  interfaces: [ServiceError],
  fields: (t) => ({
    queueId: t.string({ resolve: ({ data }) => data.queue_id }),
    reason: t.field({ type: QueueLossReason, resolve: ({ data }) => data.reason }),
  }),
});

for (const [type, description] of [
  [RateLimitHitError, 'A budget is used up.'],
  [RequestTimeoutError, 'The service is busy. Nothing was changed, and the request may be sent again.'],
] as const) {
  builder.objectType(type, {
    name: type.name,
    description,
    interfaces: [ServiceError],
    fields: (t) => ({ retryAfterSeconds: t.int({ resolve: ({ data }) => Math.ceil(data['retry-after']) }) }),
  });
}

/**
 * Makes a thrown value fit to be seen: an expected failure with its code and data, GraphQL's own complaint about the
 * document or its variables as it is, and any other as "Internal server error", with the cause in the log alone.
 *
 * @see src/api/README.md#rest-and-graphql
 */
export function presentError(error: unknown, log: Logger): GraphQLError {
  const place = error instanceof GraphQLError ? { nodes: error.nodes ?? null, path: error.path ?? null } : {};
  const expected = expectedError(error instanceof GraphQLError ? (error.originalError ?? error) : error);
  if (expected !== undefined) {
    const { code, data } = expected;
    return new GraphQLError(expected.message, { ...place, extensions: { code, ...data }, originalError: expected });
  }
  // A field of a row that was read, and that somebody deleted before its fields were.
  if (error instanceof GraphQLError && isGone(error.originalError)) {
    const message = 'What was asked for was deleted while it was read';
    return new GraphQLError(message, { ...place, extensions: { code: 'BAD_REQUEST' }, originalError: error });
  }
  if (error instanceof GraphQLError && isAboutDocument(error)) {
    error.extensions['code'] ??= 'BAD_REQUEST';
    return error;
  }
  log.error({ err: error instanceof GraphQLError ? error.originalError : error }, 'A resolver failed');
  return new GraphQLError('Internal server error', { ...place, extensions: { code: 'INTERNAL_SERVER_ERROR' } });
}

/** Whether the error was raised by GraphQL itself, not by what a resolver threw. */
function isAboutDocument({ originalError }: GraphQLError): boolean {
  return originalError === undefined || (originalError instanceof GraphQLError && isAboutDocument(originalError));
}
