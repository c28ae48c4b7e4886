import type { FieldMap } from '@pothos/core';
import { GraphQLError } from 'graphql';
import type { Logger } from 'pino';
import {
  InvalidApiKeyError,
  RealmDeactivatedError,
  UnauthorizedError,
  UserDeactivatedError,
} from '../../../access/errors.ts';
import { SystemGroupRequiredError } from '../../../access/permission-errors.ts';
import { expectedError, isGone } from '../../../platform/db/errors.ts';
import {
  BadRequestError,
  type ChatError,
  type ErrorCode as Code,
  ExpectationMismatchError,
  NonexistentSubdomainError,
  RateLimitHitError,
  RequestTimeoutError,
  RequestVariableMissingError,
  UnauthorizedPrincipalError,
} from '../../../platform/errors.ts';
import { BadImageError } from '../../../platform/images/errors.ts';
import { isRefusalObserved, observeRefusal } from '../../../platform/metrics.ts';
import { currentRequest } from '../../../platform/request-note.ts';
import { builder, type Types } from './builder.ts';
import { inputPathOf } from './input-path.ts';

/** The error codes, with their descriptions in the schema. */
const CODES: Readonly<Record<Code, { readonly description: string }>> = {
  BAD_REQUEST: {
    description: 'A value is invalid, an object does not exist, or the viewer cannot perform the action.',
  },
  REQUEST_VARIABLE_MISSING: { description: 'A required value is missing.' },
  REQUEST_CONFUSING_VAR: { description: 'A value was sent twice, under two of its names.' },
  INVALID_JSON: { description: 'The request body is not valid JSON.' },
  STREAM_DOES_NOT_EXIST: { description: 'The channel does not exist, or the viewer cannot see it.' },
  CHANNEL_ALREADY_EXISTS: { description: 'A channel with this name already exists. Case is ignored.' },
  UNAUTHORIZED_PRINCIPAL: { description: 'The viewer lacks the role or permission that the action requires.' },
  UNAUTHORIZED: { description: 'The request has no credentials, or they cannot be parsed.' },
  INVALID_API_KEY: { description: 'The credentials match no account.' },
  PASSWORD_REQUIRED: { description: 'A viewer with a session must send the current password or sign in again.' },
  AUTHENTICATION_FAILED: { description: 'The email address and password, or the token, match no account.' },
  USER_DEACTIVATED: { description: 'The account is deactivated.' },
  REALM_DEACTIVATED: { description: 'The organization is deactivated.' },
  NONEXISTENT_SUBDOMAIN: { description: 'There is no organization at this address.' },
  CSRF_FAILED: { description: 'The request comes from a page of another site.' },
  INVALID_VIDEO_CALL_PROVIDER_TOKEN: {
    description: 'The viewer must first connect an account of the video call provider.',
  },
  RATE_LIMIT_HIT: { description: 'A rate limit of requests or actions is reached.' },
  BAD_EVENT_QUEUE_ID: {
    description: 'The event queue, or its position in the log, is lost. The client must register a new queue.',
  },
  EXPECTATION_MISMATCH: { description: 'The current value is not the one that the client expected.' },
  SYSTEM_GROUP_REQUIRED: { description: 'Only a role group can hold the permission.' },
  CANNOT_DEACTIVATE_GROUP_IN_USE: {
    description: 'The group still holds permissions, or is a subgroup of another group.',
  },
  REQUEST_TIMEOUT: { description: 'The service is temporarily unavailable. The client can send the request again.' },
  STORAGE_FULL: { description: 'The disk of the database is full. The client can send the request again later.' },
  BAD_NARROW: {
    description: 'A narrow names an object that does not exist, or has a value that no message can match.',
  },
  BAD_IMAGE: { description: 'The file is not a readable image.' },
  MOVE_MESSAGES_TIME_LIMIT_EXCEEDED: { description: 'Some messages of the topic are too old to be moved.' },
  REACTION_ALREADY_EXISTS: { description: 'The viewer has already added this emoji to the message.' },
  REACTION_DOES_NOT_EXIST: { description: 'The viewer has not added this emoji to the message.' },
  CANNOT_DEACTIVATE_LAST_USER: { description: 'The organization would have no user, or no owner, left.' },
  STREAM_WILDCARD_MENTION_NOT_ALLOWED: {
    description: 'Mentioning all subscribers of a channel of this size requires a permission.',
  },
  TOPIC_WILDCARD_MENTION_NOT_ALLOWED: {
    description: 'Mentioning all participants of a topic of this size requires a permission.',
  },
};

const ErrorCode = builder.enumType('ErrorCode', {
  description: 'Code of an error, equal to `code` over REST.',
  values: CODES,
});

const ServiceError = builder.interfaceRef<ChatError>('ServiceError').implement({
  description: 'An error that the client caused or can handle.',
  fields: (t) => ({
    code: t.expose('code', { type: ErrorCode, description: 'Error code, for programs.' }),
    message: t.exposeString('message', {
      description: 'Message for people. Programs use `code` and the fields of the type.',
    }),
    path: t.stringList({
      nullable: true,
      description:
        'Path of the argument that caused the error, outermost name first: `["input", "name"]`. List indexes are written ' +
        'as digits, from 0. Null if no single argument caused the error, or if the argument is unknown.',
      resolve: (error) => inputPathOf(error) as string[] | null,
    }),
  }),
});

/**
 * Adds the GraphQL type of an error class. The type has the name of the class.
 *
 * @param fields Returns the fields for the data of the error. Default: only the fields of `ServiceError`.
 */
export function errorType<E extends ChatError>(
  type: new (...args: never[]) => E,
  description: string,
  fields: (t: PothosSchemaTypes.ObjectFieldBuilder<Types, E>) => FieldMap = () => ({}),
): void {
  // The cast is safe. Pothos would derive the parent type of the fields from the class, whose type parameter is not known here.
  // It is `E`.
  const shape = { name: type.name, description, interfaces: [ServiceError], fields: fields as never };
  builder.objectType(type as new () => ChatError, shape);
}

errorType(BadRequestError, 'A value is invalid, an object does not exist, or the viewer cannot perform the action.');
errorType(RequestVariableMissingError, 'A required value is missing.');
errorType(UnauthorizedPrincipalError, 'The viewer lacks the role that the action requires.');
errorType(UnauthorizedError, 'The request has no credentials, or they cannot be parsed.');
errorType(InvalidApiKeyError, 'The credentials match no account.');
errorType(UserDeactivatedError, 'The credentials are valid, but the account is deactivated.');
errorType(RealmDeactivatedError, 'The credentials are valid, but the organization is deactivated.');
errorType(NonexistentSubdomainError, 'There is no organization at this address.');
errorType(BadImageError, 'The file is not a readable image.');
errorType(ExpectationMismatchError, 'The current value is not the one that the client expected.', (t) => ({
  fieldName: t.string({
    description: 'Name of the value in the REST API.',
    resolve: ({ data }) => data.field_name,
  }),
}));
errorType(SystemGroupRequiredError, 'Only a role group can hold the permission.', (t) => ({
  settingName: t.string({
    description: 'Name of the permission in the REST API.',
    resolve: ({ data }) => data.setting_name,
  }),
}));

for (const [type, description] of [
  [RateLimitHitError, 'A rate limit is reached.'],
  [
    RequestTimeoutError,
    'The service is temporarily unavailable, or has no disk space left (`STORAGE_FULL`). Nothing was changed, unless ' +
      '`message` says otherwise. The client can send the request again.',
  ],
] as const) {
  errorType<RateLimitHitError | RequestTimeoutError>(type, description, (t) => ({
    retryAfterSeconds: t.int({
      description: 'Number of seconds to wait before sending the request again.',
      resolve: ({ data }) => Math.ceil(data['retry-after']),
    }),
  }));
}

/**
 * Converts a thrown value to an error for clients. An expected error keeps its code and data. GraphQL's own errors about the
 * document or its variables are unchanged. Any other error becomes "Internal server error", and its cause is logged with the
 * request id. The error contains this id, because a WebSocket has no response header for it.
 *
 * @see src/api/README.md#rest-and-graphql
 */
export function presentError(error: unknown, log: Logger): GraphQLError {
  const place = error instanceof GraphQLError ? { nodes: error.nodes ?? null, path: error.path ?? null } : {};
  const expected = expectedError(error instanceof GraphQLError ? (error.originalError ?? error) : error);
  if (expected !== undefined) {
    const { code, data } = expected;
    observeRefusal('graphql', code, expected);
    return new GraphQLError(expected.message, { ...place, extensions: { code, ...data }, originalError: expected });
  }
  // The row was deleted after it was read and before its fields were resolved.
  if (error instanceof GraphQLError && isGone(error.originalError)) {
    const message = 'The requested object was deleted while it was read';
    observeRefusal('graphql', 'BAD_REQUEST', error);
    return new GraphQLError(message, { ...place, extensions: { code: 'BAD_REQUEST' }, originalError: error });
  }
  if (error instanceof GraphQLError && isAboutDocument(error)) {
    error.extensions['code'] ??= 'BAD_REQUEST';
    // The error object is not marked as counted: it belongs to a cached document, and must be counted again for the next
    // request.
    if (!isRefusalObserved(error)) observeRefusal('graphql', error.extensions['code']);
    return error;
  }
  log.error({ err: error instanceof GraphQLError ? error.originalError : error }, 'resolver failed');
  observeRefusal('graphql', 'INTERNAL_SERVER_ERROR');
  const requestId = currentRequest()?.id;
  const extensions = { code: 'INTERNAL_SERVER_ERROR', ...(requestId !== undefined && { requestId }) };
  return new GraphQLError('Internal server error', { ...place, extensions });
}

/** Whether GraphQL itself raised the error, rather than a resolver. */
function isAboutDocument({ originalError }: GraphQLError): boolean {
  return originalError === undefined || (originalError instanceof GraphQLError && isAboutDocument(originalError));
}
