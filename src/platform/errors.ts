import type { Budget } from './budget.ts';
import { type KeyScope, missingScopes, type RequiredScopes, type ScopedCredential } from './key-scopes.ts';
import { ADMINISTRATOR, MEMBER, OWNER } from './roles.ts';

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
  'PASSWORD_AUTH_DISABLED',
  'SECOND_FACTOR_REQUIRED',
  'USER_DEACTIVATED',
  'REALM_DEACTIVATED',
  'NONEXISTENT_SUBDOMAIN',
  'CSRF_FAILED',
  'INVITATION_FAILED',
  'INVALID_VIDEO_CALL_PROVIDER_TOKEN',
  'PUSH_SERVICE_NOT_CONFIGURED',
  'PUSH_SERVICE_REFUSED',
  'NO_ACTIVE_PUSH_DEVICE',
  'RATE_LIMIT_HIT',
  'BAD_EVENT_QUEUE_ID',
  'EXPECTATION_MISMATCH',
  'SYSTEM_GROUP_REQUIRED',
  'CANNOT_DEACTIVATE_GROUP_IN_USE',
  'REQUEST_TIMEOUT',
  'STORAGE_FULL',
  'BAD_NARROW',
  'BAD_IMAGE',
  'REALM_UPLOAD_QUOTA',
  'MOVE_MESSAGES_TIME_LIMIT_EXCEEDED',
  'REACTION_ALREADY_EXISTS',
  'REACTION_DOES_NOT_EXIST',
  'CANNOT_DEACTIVATE_LAST_USER',
  'STREAM_WILDCARD_MENTION_NOT_ALLOWED',
  'TOPIC_WILDCARD_MENTION_NOT_ALLOWED',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

/**
 * Maximum length of an error message, in UTF-16 code units. No message that contains a valid name is longer. Other client input
 * in a message can be much longer.
 */
const SHOWN_LENGTH = 500;

/**
 * Shortens a text that is longer than `SHOWN_LENGTH`, and appends an ellipsis to it. Used for texts that contain client input.
 */
export const beginningOf = (text: string) => (text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text);

/** Additional fields of an error's body, named as on the wire. */
type ErrorData = Readonly<Record<string, string | number | boolean | readonly object[]>>;

/**
 * An error that the client caused or can handle, and whose message the client may read.
 *
 * Services throw subclasses, one per code, made by `defineError` and declared beside their feature. Only the API layer contains
 * HTTP and GraphQL shapes. `api/rest/router.ts` renders an error as `{result: "error", msg, code, ...data}` with `status`;
 * `api/graphql/schema/errors.ts` renders it as a typed error of a mutation, or as `{message, extensions: {code, ...data}}`. Any
 * other thrown value is a bug: both APIs log it and respond without details.
 */
export abstract class ChatError extends Error {
  /** @param message Can contain client input; a long message is shortened. */
  constructor(message: string) {
    super(beginningOf(message));
    this.name = new.target.name;
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
  /**
   * Message with the names of the GraphQL schema. Undefined if `message` contains no name of the REST interface, other than
   * `parameter` at its beginning, which GraphQL replaces by the name of the argument.
   */
  readonly schemaMessage: string | undefined;
}

/**
 * Content of an error: `message` for people, `data` for programs, and the `parameter` that caused the error, if only one did.
 */
interface Said<Data extends ErrorData> extends ErrorDetails {
  readonly message: string;
  readonly data?: Data;
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
    override readonly schemaMessage: string | undefined;

    constructor(...args: Args) {
      const { message, data, parameter, schemaMessage } = say(...args);
      super(message);
      this.parameter = parameter;
      this.schemaMessage = schemaMessage;
      // If `say` returns no data, `Data` has no required fields.
      this.data = data ?? ({} as Data);
    }
  };
}

/** Optional parts of a `BadRequestError`. */
export interface ErrorDetails {
  /** @see ChatError.parameter */
  readonly parameter?: string | undefined;
  /** @see ChatError.schemaMessage */
  readonly schemaMessage?: string | undefined;
}

/**
 * Base class of errors about the content of a request. Features throw one of its subclasses, which GraphQL clients distinguish
 * by their types. The base class itself is thrown for requests that the service cannot read, such as malformed bodies.
 */
export class BadRequestError extends ChatError {
  readonly code: ErrorCode = 'BAD_REQUEST';
  override readonly parameter: string | undefined;
  override readonly schemaMessage: string | undefined;

  constructor(message: string, { parameter, schemaMessage }: ErrorDetails = {}) {
    super(message);
    this.parameter = parameter;
    this.schemaMessage = schemaMessage;
  }
}

/** The parts of a `ValidationError` that programs can use. */
export interface ValidationDetails extends ErrorDetails {
  /** Smallest accepted number, or minimum length of a text (in Unicode code points) or a list. */
  readonly minimum?: number | undefined;
  /** Largest accepted number, or maximum length of a text (in Unicode code points) or a list. */
  readonly maximum?: number | undefined;
  /** The refused value, if it is a short text or a number. */
  readonly value?: string | number | undefined;
}

/** Thrown if a value of the request is never acceptable, whatever the state of the organization: too long, blank, malformed. */
export class ValidationError extends BadRequestError {
  readonly minimum: number | undefined;
  readonly maximum: number | undefined;
  readonly value: string | undefined;

  constructor(message: string, details: ValidationDetails = {}) {
    super(message, details);
    this.minimum = details.minimum;
    this.maximum = details.maximum;
    this.value = details.value === undefined ? undefined : beginningOf(String(details.value));
  }
}

/** The object that a `NotFoundError` is about. */
export interface MissingObject extends ErrorDetails {
  /** GraphQL type of the object: "Channel". */
  readonly type?: string | undefined;
  /** Row id of the object, as the client sent it. GraphQL searches the arguments for an id of this object. */
  readonly id?: number | undefined;
  /** Status over REST. Default: 400. */
  readonly status?: 400 | 404;
}

/** Thrown if an object does not exist, or if the viewer cannot see it. Both have the same message. */
export class NotFoundError extends BadRequestError {
  override readonly status: number;
  readonly object: { readonly type: string; readonly id: number | undefined } | undefined;

  constructor(message: string, { type, id, status = 400, ...details }: MissingObject = {}) {
    super(message, details);
    this.status = status;
    this.object = type === undefined ? undefined : { type, id };
  }
}

/** The permission or role that a `ForbiddenError` is about. */
export interface MissingPermission extends ErrorDetails {
  /** Name of the missing permission, as over REST: `can_create_groups`. */
  readonly permission?: string | undefined;
  /** The lowest role that can perform the action. */
  readonly role?: RequiredRole | undefined;
}

/** Thrown if the viewer can see the object, but lacks a permission or role, or if a time limit for the action has passed. */
export class ForbiddenError extends BadRequestError {
  readonly permission: string | undefined;
  readonly role: RequiredRole | undefined;
  /** The scopes that the API key of the request lacks. Undefined if the key is not the cause. */
  readonly scopes: readonly KeyScope[] | undefined;

  constructor(message: string, { permission, role, ...details }: MissingPermission = {}) {
    super(message, details);
    this.permission = permission;
    this.role = role;
  }
}

/**
 * Thrown if the request is valid and permitted, but not possible in the current state: a name is in use, an object is archived
 * already, a limit on the number of objects is reached.
 */
export class ConflictError extends BadRequestError {}

/** Thrown if an action would exceed a limit of `totals.ts`. */
export class TotalReachedError extends ConflictError {
  override readonly data: { limit: string };

  /** @param limit Name of the limit for clients, such as "max_drafts". @see totals.ts */
  constructor(message: string, limit: string) {
    super(message);
    this.data = { limit };
  }
}

/** Thrown if a request combines parameters that exclude each other. `parameter` is the first of them. */
export class UnsupportedParametersError extends ValidationError {
  override readonly data: { parameters: string };

  /** @param parameters Names of the parameters that exclude each other, as over REST. */
  constructor(parameters: readonly string[]) {
    super(`Unsupported parameter combination: ${parameters.join(', ')}`, {
      parameter: parameters[0],
      schemaMessage: 'This value excludes another value of the input',
    });
    this.data = { parameters: parameters.join(', ') };
  }
}

/** Thrown if a required parameter is missing. */
export class RequestVariableMissingError extends ValidationError {
  override readonly code = 'REQUEST_VARIABLE_MISSING';
  override readonly data: { var_name: string };

  constructor(parameter: string) {
    super(`Missing '${parameter}' argument`, { parameter, schemaMessage: 'A required value is missing' });
    this.data = { var_name: parameter };
  }
}

/** Thrown if a parameter is sent twice: under its name and under its alias. */
export class RequestConfusingVarError extends defineError('REQUEST_CONFUSING_VAR', (name: string, alias: string) => ({
  message: `Can't decide between '${name}' and '${alias}' arguments`,
  data: { var_name1: name, var_name2: alias },
})) {}

/** Roles that actions require, with their names in messages. */
const ROLE_NAMES = {
  [OWNER]: 'an organization owner',
  [ADMINISTRATOR]: 'an organization administrator',
  [MEMBER]: 'an organization member',
} as const;
type RequiredRole = keyof typeof ROLE_NAMES;

/** Thrown if the viewer's role is lower than `role`, the role that the action requires. */
export class UnauthorizedPrincipalError extends ForbiddenError {
  override readonly code = 'UNAUTHORIZED_PRINCIPAL';

  constructor(role: RequiredRole) {
    super(`Must be ${ROLE_NAMES[role]}`, { role });
  }
}

/** Thrown if the API key of a request lacks a scope that the request requires. */
export class InsufficientScopeError extends ForbiddenError {
  override readonly code = 'UNAUTHORIZED_PRINCIPAL';
  override readonly status = 403;
  override readonly data: { required_scopes: string };
  override readonly scopes: readonly KeyScope[];

  /** @param scopes The scopes that the key lacks. */
  constructor(scopes: readonly KeyScope[]) {
    super(`The API key lacks the ${scopes.length === 1 ? 'scope' : 'scopes'} ${scopes.join(', ')}.`);
    this.scopes = scopes;
    this.data = { required_scopes: scopes.join(', ') };
  }
}

/**
 * Checks that the credentials of a viewer have all required scopes. Sessions and unlimited API keys have all.
 *
 * @throws InsufficientScopeError if they lack some.
 */
export function requireScopes(
  viewer: { readonly credential: ScopedCredential | null } | null | undefined,
  required: RequiredScopes,
): void {
  const missing = missingScopes(viewer?.credential, required);
  if (missing.length > 0) throw new InsufficientScopeError(missing);
}

/** Thrown if the current value differs from the value that the client expects to replace. */
export class ExpectationMismatchError extends defineError('EXPECTATION_MISMATCH', (fieldName: string) => ({
  message: `'${fieldName}' value does not match the expected value.`,
  data: { field_name: fieldName },
  parameter: fieldName,
  schemaMessage: 'The current value is not the expected one',
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
  readonly code = 'RATE_LIMIT_HIT';
  override readonly status = 429;
  override readonly data: { 'retry-after': number };
  /**
   * State of the rate limit, for the response headers. Undefined for limits that apply to single actions only, such as signing
   * in.
   */
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
 * Thrown if the database could not process the request in time. The client can send the request again. The default message says
 * that nothing was changed.
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
 * Thrown if the disk of the database is full. Clients can retry the request after 30 seconds. The status is not 503, because a
 * proxy would then try the next node, which uses the same disk.
 */
export class StorageFullError extends RequestTimeoutError {
  override readonly code = 'STORAGE_FULL';
  override readonly status = 507;
  override readonly data = { 'retry-after': 30 };

  constructor(text = 'The service has no disk space left; nothing was changed, please try again later') {
    super(text);
  }
}

/**
 * Thrown if a request arrives here although the organization has moved to another cell, with another database. Clients repeat
 * the request until the proxy forwards it to the other cell.
 */
export class OrganizationMovedError extends RequestTimeoutError {
  constructor() {
    super(
      'The organization has moved to another server, and the proxy does not send its requests there yet; nothing was changed, ' +
        'please try again',
    );
  }
}

/** Thrown if the client disconnected before the work for its request was started. */
export class AbandonedError extends RequestTimeoutError {
  constructor() {
    super('The client disconnected; nothing was changed');
  }
}
