import type { Budget } from './budget.ts';

/** Every code an error can carry, the same word over REST (`code`) and GraphQL (`extensions.code`, `ErrorCode`). */
export const ERROR_CODES = [
  'BAD_REQUEST',
  'REQUEST_VARIABLE_MISSING',
  'REQUEST_CONFUSING_VAR',
  'INVALID_JSON',
  'STREAM_DOES_NOT_EXIST',
  'CHANNEL_ALREADY_EXISTS',
  'UNAUTHORIZED_PRINCIPAL',
  'UNAUTHORIZED',
  'INVALID_API_KEY',
  'AUTHENTICATION_FAILED',
  'USER_DEACTIVATED',
  'REALM_DEACTIVATED',
  'NONEXISTENT_SUBDOMAIN',
  'CSRF_FAILED',
  'INVALID_VIDEO_CALL_PROVIDER_TOKEN',
  'RATE_LIMIT_HIT',
  'BAD_EVENT_QUEUE_ID',
  'EXPECTATION_MISMATCH',
  'SYSTEM_GROUP_REQUIRED',
  'CANNOT_DEACTIVATE_GROUP_IN_USE',
  'REQUEST_TIMEOUT',
  'BAD_NARROW',
  'BAD_IMAGE',
  'MOVE_MESSAGES_TIME_LIMIT_EXCEEDED',
  'REACTION_ALREADY_EXISTS',
  'REACTION_DOES_NOT_EXIST',
  'CANNOT_DEACTIVATE_LAST_USER',
  'STREAM_WILDCARD_MENTION_NOT_ALLOWED',
  'TOPIC_WILDCARD_MENTION_NOT_ALLOWED',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

/** Our choice: longer than every sentence of ours with a name in it, and nothing against a megabyte. */
const SHOWN_LENGTH = 500;

const beginningOf = (text: string) => (text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text);

/**
 * A failure the client caused, or can do something about, and may read.
 *
 * Services throw subclasses, one per code; nothing else in the tree knows HTTP or GraphQL shapes. `rest/router.ts`
 * renders one as `{result: "error", msg, code, ...data}` with `status`; `graphql/errors.ts` as a typed error of a
 * mutation, or `{message, extensions: {code, ...data}}`. Any other thrown value is a bug: both doors log it and answer
 * with no detail.
 */
export abstract class ChatError extends Error {
  /** @param message May hold what the client sent; only its beginning is told back. */
  constructor(message: string) {
    super(beginningOf(message));
  }

  abstract readonly code: ErrorCode;
  /** HTTP status over REST. */
  readonly status: number = 400;
  /** Extra fields of the error body, named as on the wire. */
  readonly data: Readonly<Record<string, string | number | boolean | readonly object[]>> = {};
}

/** The general refusal: a value the service does not take, or an act the viewer may not do. */
export class BadRequestError extends ChatError {
  override name = 'BadRequestError';
  readonly code = 'BAD_REQUEST';
}

/** "No such object" where the interface answers 404 instead of 400. */
export class NotFoundError extends BadRequestError {
  override readonly status = 404;
}

/** There is as much as there may be of what the act would add to. */
export class TotalReachedError extends BadRequestError {
  override readonly data: { limit: string };

  /** @param limit The total's name, as registration tells it. @see totals.ts */
  constructor(message: string, limit: string) {
    super(message);
    this.data = { limit };
  }
}

/** Parameters that each are fine, but not together. */
export class UnsupportedParametersError extends BadRequestError {
  override readonly data: { parameters: string };

  /** @param parameters Their names, as over REST. */
  constructor(parameters: readonly string[]) {
    super(`Unsupported parameter combination: ${parameters.join(', ')}`);
    this.data = { parameters: parameters.join(', ') };
  }
}

/** A required parameter was not sent. */
export class RequestVariableMissingError extends ChatError {
  override name = 'RequestVariableMissingError';
  readonly code = 'REQUEST_VARIABLE_MISSING';
  override readonly data: { var_name: string };

  constructor(parameter: string) {
    super(`Missing '${parameter}' argument`);
    this.data = { var_name: parameter };
  }
}

/** A parameter was sent under two of its names. */
export class RequestConfusingVarError extends ChatError {
  override name = 'RequestConfusingVarError';
  readonly code = 'REQUEST_CONFUSING_VAR';
  override readonly data: { var_name1: string; var_name2: string };

  constructor(name: string, alias: string) {
    super(`Can't decide between '${name}' and '${alias}' arguments`);
    this.data = { var_name1: name, var_name2: alias };
  }
}

/** The act takes a role the viewer does not have. */
export class UnauthorizedPrincipalError extends ChatError {
  override name = 'UnauthorizedPrincipalError';
  readonly code = 'UNAUTHORIZED_PRINCIPAL';

  /** @param needed The role as a noun with its article: "an organization administrator". */
  constructor(needed: string) {
    super(`Must be ${needed}`);
  }
}

/** A channel named by id or by name that is not there, or not for the viewer. */
export class ChannelDoesNotExistError extends ChatError {
  override name = 'ChannelDoesNotExistError';
  readonly code = 'STREAM_DOES_NOT_EXIST';
  override readonly data: { stream_id: number } | { stream: string };

  constructor(channel: number | string) {
    super(
      typeof channel === 'number'
        ? `Channel with ID '${channel}' does not exist`
        : `Channel '${channel}' does not exist`,
    );
    this.data = typeof channel === 'number' ? { stream_id: channel } : { stream: beginningOf(channel) };
  }
}

/** The channel takes only messages of the empty topic, or none of it. */
export class TopicPolicyError extends BadRequestError {
  override readonly data: { empty_topic_display_name: string };

  constructor(message: string, emptyTopicName: string) {
    super(message);
    this.data = { empty_topic_display_name: emptyTopicName };
  }
}

/** A narrow that cannot be: a term nobody knows, of something that is not there, or one that another rules out. */
export class BadNarrowError extends ChatError {
  override name = 'BadNarrowError';
  readonly code = 'BAD_NARROW';
  override readonly data: { desc: string };

  /** @param what Whether one term is wrong, or each is right, but not all together. */
  constructor(desc: string, what: 'operator' | 'operator combination' = 'operator') {
    super(`Invalid narrow ${what}: ${desc}`);
    this.data = { desc: beginningOf(desc) };
  }
}

/** An uploaded file is no image that can be read. */
export class BadImageError extends ChatError {
  override name = 'BadImageError';
  readonly code = 'BAD_IMAGE';

  constructor(message = 'Could not decode image; did you upload an image file?') {
    super(message);
  }
}

/** @everyone and the like, where so many would be told that it takes a permission. */
export class WildcardMentionNotAllowedError extends ChatError {
  override name = 'WildcardMentionNotAllowedError';
  readonly code: 'STREAM_WILDCARD_MENTION_NOT_ALLOWED' | 'TOPIC_WILDCARD_MENTION_NOT_ALLOWED';

  constructor(what: 'channel' | 'topic') {
    super(`You do not have permission to use ${what} wildcard mentions in this ${what}.`);
    this.code = what === 'channel' ? 'STREAM_WILDCARD_MENTION_NOT_ALLOWED' : 'TOPIC_WILDCARD_MENTION_NOT_ALLOWED';
  }
}

/** The viewer has this emoji on the message already. */
export class ReactionAlreadyExistsError extends ChatError {
  override name = 'ReactionAlreadyExistsError';
  readonly code = 'REACTION_ALREADY_EXISTS';

  constructor() {
    super('Reaction already exists.');
  }
}

/** The viewer has no such emoji on the message. */
export class ReactionDoesNotExistError extends ChatError {
  override name = 'ReactionDoesNotExistError';
  readonly code = 'REACTION_DOES_NOT_EXIST';

  constructor() {
    super("Reaction doesn't exist.");
  }
}

/** A new channel's name is taken, in whatever case. */
export class ChannelAlreadyExistsError extends ChatError {
  override name = 'ChannelAlreadyExistsError';
  readonly code = 'CHANNEL_ALREADY_EXISTS';
  override readonly status = 409;
  override readonly data: { channel_name: string };

  constructor(name: string) {
    super(`A channel named '${name}' already exists`);
    this.data = { channel_name: name };
  }
}

/** A changed value was not what the client said it was. */
export class ExpectationMismatchError extends ChatError {
  override name = 'ExpectationMismatchError';
  readonly code = 'EXPECTATION_MISMATCH';
  override readonly data: { field_name: string };

  constructor(fieldName: string) {
    super(`'${fieldName}' value does not match the expected value.`);
    this.data = { field_name: fieldName };
  }
}

/** A permission that only a role group may hold was to be given to somebody else. */
export class SystemGroupRequiredError extends ChatError {
  override name = 'SystemGroupRequiredError';
  readonly code = 'SYSTEM_GROUP_REQUIRED';
  override readonly data: { setting_name: string };

  constructor(settingName: string) {
    super(`'${settingName}' must be a system user group.`);
    this.data = { setting_name: settingName };
  }
}

/** Of a topic that is to be moved, some messages are too old to be moved by the viewer. */
export class MoveMessagesTimeLimitExceededError extends ChatError {
  override name = 'MoveMessagesTimeLimitExceededError';
  readonly code = 'MOVE_MESSAGES_TIME_LIMIT_EXCEEDED';
  override readonly data: {
    first_message_id_allowed_to_move: number;
    total_messages_in_topic: number;
    total_messages_allowed_to_move: number;
  };

  /** @param firstAllowedId Of the oldest message that may be moved, with all after it. */
  constructor({ firstAllowedId, total, allowed }: { firstAllowedId: number; total: number; allowed: number }) {
    super(`You only have permission to move the ${allowed}/${total} most recent messages in this topic.`);
    this.data = {
      first_message_id_allowed_to_move: firstAllowedId,
      total_messages_in_topic: total,
      total_messages_allowed_to_move: allowed,
    };
  }
}

/** What goes by a group, with the names of the permissions it holds there. */
export type GroupObjection =
  | { readonly type: 'subgroup'; readonly supergroup_ids: readonly number[] }
  | { readonly type: 'channel'; readonly channel_id: number; readonly settings: readonly string[] }
  | { readonly type: 'user_group'; readonly group_id: number; readonly settings: readonly string[] }
  | { readonly type: 'realm'; readonly settings: readonly string[] };

/** The group is within others, or holds permissions. */
export class CannotDeactivateGroupInUseError extends ChatError {
  override name = 'CannotDeactivateGroupInUseError';
  readonly code = 'CANNOT_DEACTIVATE_GROUP_IN_USE';
  override readonly data: { objections: readonly GroupObjection[] };

  constructor(objections: readonly GroupObjection[]) {
    super('Cannot deactivate user group in use.');
    this.data = { objections };
  }
}

/** Why a queue cannot go on: never heard of (or not the viewer's), over, or its position is not in the log. */
export type QueueLoss = 'unknown' | 'expired' | 'pruned' | 'from_future';

/**
 * The queue, or the position in it, is lost: the client registers anew. One code for every cause, because legacy
 * clients know that code alone; `reason` tells the cause.
 */
export class BadEventQueueIdError extends ChatError {
  override name = 'BadEventQueueIdError';
  readonly code = 'BAD_EVENT_QUEUE_ID';
  override readonly data: { queue_id: string; reason: QueueLoss };

  constructor(queueId: string, reason: QueueLoss) {
    super(`Bad event queue ID: ${queueId}`);
    this.data = { queue_id: beginningOf(queueId), reason };
  }
}

/** No credentials, or none that can be read. */
export class UnauthorizedError extends ChatError {
  override name = 'UnauthorizedError';
  readonly code = 'UNAUTHORIZED';
  override readonly status = 401;

  constructor(message = 'Not logged in: API authentication required') {
    super(message);
  }
}

/** Credentials that fit no account: one answer for an unknown address and a wrong key. */
export class InvalidApiKeyError extends ChatError {
  override name = 'InvalidApiKeyError';
  readonly code = 'INVALID_API_KEY';
  override readonly status = 401;

  constructor() {
    super('Invalid API key');
  }
}

/** User name and password fit no account. */
export class AuthenticationFailedError extends ChatError {
  override name = 'AuthenticationFailedError';
  readonly code = 'AUTHENTICATION_FAILED';
  override readonly status = 401;

  constructor() {
    super('Your username or password is incorrect');
  }
}

/** The right credentials of an account that is deactivated. */
export class UserDeactivatedError extends ChatError {
  override name = 'UserDeactivatedError';
  readonly code = 'USER_DEACTIVATED';
  override readonly status = 401;

  constructor() {
    super('Account is deactivated');
  }
}

/** The viewer cannot go: nobody would be left, or no owner. */
export class CannotDeactivateLastUserError extends ChatError {
  override name = 'CannotDeactivateLastUserError';
  readonly code = 'CANNOT_DEACTIVATE_LAST_USER';
  override readonly data: { is_last_owner: boolean; entity: string };

  /** @param entity What the viewer is the last one of. */
  constructor(entity: 'organization owner' | 'user') {
    super(`Cannot deactivate the only ${entity}.`);
    this.data = { is_last_owner: entity === 'organization owner', entity };
  }
}

/** The right credentials in an organisation that is deactivated. */
export class RealmDeactivatedError extends ChatError {
  override name = 'RealmDeactivatedError';
  readonly code = 'REALM_DEACTIVATED';
  override readonly status = 401;

  constructor() {
    super('This organization has been deactivated');
  }
}

/** The Host header names no organisation of this server. */
export class NonexistentSubdomainError extends ChatError {
  override name = 'NonexistentSubdomainError';
  readonly code = 'NONEXISTENT_SUBDOMAIN';
  override readonly status = 404;

  constructor() {
    super('There is no organization at this address');
  }
}

/** A page of another site had a browser send the request with credentials of its own accord. */
export class CsrfFailedError extends ChatError {
  override name = 'CsrfFailedError';
  readonly code = 'CSRF_FAILED';
  override readonly status = 403;
  override readonly data = { reason: 'cross-site' };

  constructor() {
    super('CSRF error: the request comes from a page of another site');
  }
}

/** The user has not allowed video calls to be made in their name, or the provider no longer takes that. */
export class InvalidVideoCallProviderTokenError extends ChatError {
  override name = 'InvalidVideoCallProviderTokenError';
  readonly code = 'INVALID_VIDEO_CALL_PROVIDER_TOKEN';

  constructor() {
    super('Invalid video provider access token');
  }
}

/** A budget is used up; `retry-after` says in how many seconds there is some again. */
export class RateLimitHitError extends ChatError {
  override name = 'RateLimitHitError';
  readonly code = 'RATE_LIMIT_HIT';
  override readonly status = 429;
  override readonly data: { 'retry-after': number };
  /** What is told in the reply's headers besides; undefined for limits of a few acts. */
  readonly budget: Budget | undefined;

  /** @param retryAfterSeconds May have a fraction. */
  constructor(
    retryAfterSeconds: number,
    budget?: Budget,
    message = `API usage exceeded rate limit; try again in ${Math.ceil(retryAfterSeconds)} seconds`,
  ) {
    super(message);
    this.data = { 'retry-after': retryAfterSeconds };
    this.budget = budget;
  }
}

/** The database could not take the request in time, and it may be sent again. Of a refused change nothing was done. */
export class RequestTimeoutError extends ChatError {
  override name = 'RequestTimeoutError';
  readonly code = 'REQUEST_TIMEOUT';
  override readonly status = 503;
  override readonly data = { 'retry-after': 1 };

  constructor(message = 'The service is busy; nothing was changed, please try again') {
    super(message);
  }
}

/** Nobody waits for the answer any more: what had not begun is left. */
export class AbandonedError extends RequestTimeoutError {
  constructor() {
    super('The client has gone; nothing was changed');
  }
}
