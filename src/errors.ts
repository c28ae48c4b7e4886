/**
 * Every code an error can carry, the same word over REST (`code`) and GraphQL (`extensions.code`, `ErrorCode`).
 *
 * @see interface document 7
 */
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
  'RATE_LIMIT_HIT',
  'BAD_EVENT_QUEUE_ID',
  'EXPECTATION_MISMATCH',
  'REQUEST_TIMEOUT',
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
  readonly data: Readonly<Record<string, string | number | boolean>> = {};
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

/** A budget is used up; `retry-after` says in how many seconds there is some again. */
export class RateLimitHitError extends ChatError {
  override name = 'RateLimitHitError';
  readonly code = 'RATE_LIMIT_HIT';
  override readonly status = 429;
  override readonly data: { 'retry-after': number };

  constructor(retryAfterSeconds: number) {
    super(`API usage exceeded rate limit; try again in ${retryAfterSeconds} seconds`);
    this.data = { 'retry-after': retryAfterSeconds };
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
