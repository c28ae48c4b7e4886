import type { Budget } from './budget.ts';

/** All error codes. REST (`code`) and GraphQL (`extensions.code`, `ErrorCode`) both use them. */
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
  'PASSWORD_REQUIRED',
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

/**
 * Maximum length of an error message, in UTF-16 code units. Longer than every message of the service that contains a valid
 * name, and much shorter than the client input that a message can contain.
 */
const SHOWN_LENGTH = 500;

/** Shortens a text that contains client input to `SHOWN_LENGTH` and an ellipsis. */
export const beginningOf = (text: string) => (text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text);

/** Additional fields of an error's body, named as on the wire. */
type ErrorData = Readonly<Record<string, string | number | boolean | readonly object[]>>;

/**
 * An error that the client caused or can handle, and whose message the client may read.
 *
 * Services throw subclasses, one per code, made by `defineError` and declared beside their feature. Only the API layer contains
 * HTTP and GraphQL shapes. `api/rest/router.ts` renders an error as `{result: "error", msg, code, ...data}` with `status`;
 * `api/graphql/schema/errors.ts` as a typed error of a mutation, or `{message, extensions: {code, ...data}}`. Any other thrown value is
 * a bug: both APIs log it and respond without details.
 */
export abstract class ChatError extends Error {
  /** @param message Can contain client input; a long message is shortened. */
  constructor(message: string) {
    super(beginningOf(message));
  }

  abstract readonly code: ErrorCode;
  /** HTTP status over REST. */
  readonly status: number = 400;
  /** Additional fields of the error body, named as on the wire. */
  readonly data: ErrorData = {};
  /**
   * Parameter that caused the error, named as over REST, with the path to the invalid value: `drafts[0]["content"]`. Undefined
   * if the error does not belong to a single parameter.
   */
  readonly parameter: string | undefined;
}

/**
 * Content of an error: `message` for people, `data` for programs, and the `parameter` that caused the error, if only one did.
 */
interface Said<Data extends ErrorData> {
  readonly message: string;
  readonly data?: Data;
  readonly parameter?: string | undefined;
}

/**
 * Returns a base class for the errors with one code.
 *
 * @param say Returns the message and the data for the arguments of the constructor.
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
      // If `say` returns no data, `Data` has no required fields.
      this.data = data ?? ({} as Data);
    }
  };
}

/** Thrown for a value that the service does not accept, or an action that the viewer may not perform. */
export class BadRequestError extends defineError('BAD_REQUEST', (text: string, parameter?: string) => ({
  message: text,
  parameter,
})) {}

/** Thrown if an object does not exist and the REST interface responds with 404, not the usual 400. */
export class NotFoundError extends BadRequestError {
  override readonly status = 404;
}

/** Thrown if an action would exceed a limit of `totals.ts`. */
export class TotalReachedError extends BadRequestError {
  override readonly data: { limit: string };

  /** @param limit Name of the limit, as in registrations. @see totals.ts */
  constructor(message: string, limit: string) {
    super(message);
    this.data = { limit };
  }
}

/** Thrown if a request combines parameters that are valid only without each other. */
export class UnsupportedParametersError extends BadRequestError {
  override readonly data: { parameters: string };

  /** @param parameters Names of the parameters over REST. */
  constructor(parameters: readonly string[]) {
    super(`Unsupported parameter combination: ${parameters.join(', ')}`);
    this.data = { parameters: parameters.join(', ') };
  }
}

/** Thrown if a required parameter is missing. */
export class RequestVariableMissingError extends defineError('REQUEST_VARIABLE_MISSING', (parameter: string) => ({
  message: `Missing '${parameter}' argument`,
  data: { var_name: parameter },
  parameter,
})) {}

/** Thrown if a parameter is sent under two of its names. */
export class RequestConfusingVarError extends defineError('REQUEST_CONFUSING_VAR', (name: string, alias: string) => ({
  message: `Can't decide between '${name}' and '${alias}' arguments`,
  data: { var_name1: name, var_name2: alias },
})) {}

/** Thrown if the viewer lacks a role. `needed` is a noun with its article: "an organization administrator". */
export class UnauthorizedPrincipalError extends defineError('UNAUTHORIZED_PRINCIPAL', (needed: string) => ({
  message: `Must be ${needed}`,
})) {}

/** Thrown if a client sends the value that it expects to replace, and the current value is not that value. */
export class ExpectationMismatchError extends defineError('EXPECTATION_MISMATCH', (fieldName: string) => ({
  message: `'${fieldName}' value does not match the expected value.`,
  data: { field_name: fieldName },
  parameter: fieldName,
})) {}

/** Thrown if the Host header names no organization of this server. */
export class NonexistentSubdomainError extends defineError(
  'NONEXISTENT_SUBDOMAIN',
  /** @param foreign Name in the Host header, if it does not belong to this server. */
  (foreign?: string) => ({
    message:
      foreign === undefined
        ? 'There is no organization at this address'
        : `Unknown host name "${foreign}". The operator must set EXTERNAL_HOST to the public name of the server, and a ` +
          'proxy must forward the Host header',
  }),
  { status: 404 },
) {}

/** Thrown if a rate limit is exceeded. `retry-after` is the number of seconds until requests are permitted again. */
export class RateLimitHitError extends ChatError {
  override name = 'RateLimitHitError';
  readonly code = 'RATE_LIMIT_HIT';
  override readonly status = 429;
  override readonly data: { 'retry-after': number };
  /** Rate limit for the response headers. Undefined for limits that apply to single actions only, such as signing in. */
  readonly budget: Budget | undefined;

  /** @param retryAfterSeconds Seconds until the next permitted request. Can have a fraction. */
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

/**
 * Thrown if the database could not process the request in time. A refused change had no effect. The request can be sent
 * again.
 */
export class RequestTimeoutError extends defineError<
  'REQUEST_TIMEOUT' | 'STORAGE_FULL',
  [text?: string],
  { 'retry-after': number }
>(
  'REQUEST_TIMEOUT',
  (text) => ({
    message: text ?? 'The service is unavailable; nothing was changed, please try again',
    data: { 'retry-after': 1 },
  }),
  { status: 503 },
) {}

/**
 * Thrown if the disk of the database is full. Like after `RequestTimeoutError`, clients can retry the request, but after a
 * longer time. It has its own code. The status is not 503: a proxy would then try the next node, which uses the same disk.
 */
export class StorageFullError extends RequestTimeoutError {
  override readonly code = 'STORAGE_FULL';
  override readonly status = 507;
  override readonly data = { 'retry-after': 30 };

  constructor(text = 'The service has no disk space left; nothing was changed, please try again later') {
    super(text);
  }
}

/** Thrown if the client disconnected before its work was started. */
export class AbandonedError extends RequestTimeoutError {
  constructor() {
    super('The client disconnected; nothing was changed');
  }
}
