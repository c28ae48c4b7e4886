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
  'STORAGE_FULL',
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

/** What is told back of what a client sent. */
export const beginningOf = (text: string) => (text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text);

/** Extra fields of an error's body, named as on the wire. */
type ErrorData = Readonly<Record<string, string | number | boolean | readonly object[]>>;

/**
 * A failure the client caused, or can do something about, and may read.
 *
 * Services throw subclasses, one per code, made by `defineError`, which stand with the feature they are of; nothing else
 * in the tree knows HTTP or GraphQL shapes. `api/rest/router.ts` renders one as `{result: "error", msg, code, ...data}`
 * with `status`; `api/graphql/errors.ts` as a typed error of a mutation, or `{message, extensions: {code, ...data}}`. Any
 * other thrown value is a bug: both log it and answer with no detail.
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
  readonly data: ErrorData = {};
  /** Which parameter it is about, as over REST, and which part of it: `drafts[0]["content"]`. undefined: not one alone. */
  readonly parameter: string | undefined;
}

/** What an error says: `message` for people, `data` for programs, `parameter` where it is about one. */
interface Said<Data extends ErrorData> {
  readonly message: string;
  readonly data?: Data;
  readonly parameter?: string | undefined;
}

/**
 * The class of the errors of one code, to be extended.
 *
 * @param say Makes the message and the data of what the constructor is given.
 * @param status HTTP status over REST.
 * @example class DrySpellError extends defineError('DRY_SPELL', (days: number) => ({ message: 'No rain', data: { days } })) {}
 */
export function defineError<
  const Code extends ErrorCode,
  Args extends readonly unknown[],
  Data extends ErrorData = ErrorData,
>(code: Code, say: (...args: Args) => Said<Data>, { status = 400 } = {}) {
  return class extends ChatError {
    readonly code = code;
    override readonly status: number = status;
    override readonly data: Data;
    override readonly parameter: string | undefined;

    constructor(...args: Args) {
      const { message, data, parameter } = say(...args);
      super(message);
      this.name = new.target.name;
      this.parameter = parameter;
      // What says nothing of its data has none that `Data` could name.
      this.data = data ?? ({} as Data);
    }
  };
}

/** The general refusal: a value the service does not take, or an act the viewer may not do. */
export class BadRequestError extends defineError('BAD_REQUEST', (text: string, parameter?: string) => ({
  message: text,
  parameter,
})) {}

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
export class RequestVariableMissingError extends defineError('REQUEST_VARIABLE_MISSING', (parameter: string) => ({
  message: `Missing '${parameter}' argument`,
  data: { var_name: parameter },
  parameter,
})) {}

/** A parameter was sent under two of its names. */
export class RequestConfusingVarError extends defineError('REQUEST_CONFUSING_VAR', (name: string, alias: string) => ({
  message: `Can't decide between '${name}' and '${alias}' arguments`,
  data: { var_name1: name, var_name2: alias },
})) {}

/** The act takes a role the viewer does not have: `needed`, a noun with its article, "an organization administrator". */
export class UnauthorizedPrincipalError extends defineError('UNAUTHORIZED_PRINCIPAL', (needed: string) => ({
  message: `Must be ${needed}`,
})) {}

/** A changed value was not what the client said it was. */
export class ExpectationMismatchError extends defineError('EXPECTATION_MISMATCH', (fieldName: string) => ({
  message: `'${fieldName}' value does not match the expected value.`,
  data: { field_name: fieldName },
  parameter: fieldName,
})) {}

/** The Host header names no organisation of this server. */
export class NonexistentSubdomainError extends defineError(
  'NONEXISTENT_SUBDOMAIN',
  /** @param foreign The name in Host, where it is none of this server's. */
  (foreign?: string) => ({
    message:
      foreign === undefined
        ? 'There is no organization at this address'
        : `This server does not go by the name "${foreign}": its operator sets EXTERNAL_HOST to the name at which people ` +
          'reach it, and has a proxy pass on the Host that they asked for',
  }),
  { status: 404 },
) {}

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
export class RequestTimeoutError extends defineError<
  'REQUEST_TIMEOUT' | 'STORAGE_FULL',
  [text?: string],
  { 'retry-after': number }
>(
  'REQUEST_TIMEOUT',
  (text) => ({
    message: text ?? 'The service is busy; nothing was changed, please try again',
    data: { 'retry-after': 1 },
  }),
  { status: 503 },
) {}

/**
 * The disk that the database is on is full. As when it is busy, the same request can be sent again, and who waits for that
 * waits for this: but longer, and under a code of its own. No proxy should ask the next node, which has the same disk: so it
 * is not 503.
 */
export class StorageFullError extends RequestTimeoutError {
  override readonly code = 'STORAGE_FULL';
  override readonly status = 507;
  override readonly data = { 'retry-after': 30 };

  constructor(text = 'The service has no room left to store anything; nothing was changed, please try again later') {
    super(text);
  }
}

/** Nobody waits for the answer any more: what had not begun is left. */
export class AbandonedError extends RequestTimeoutError {
  constructor() {
    super('The client has gone; nothing was changed');
  }
}
