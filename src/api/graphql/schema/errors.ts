import type { FieldMap } from '@pothos/core';
import { GraphQLError } from 'graphql';
import type { Logger } from 'pino';
import {
  InvalidApiKeyError,
  OrganizationDeactivatedError,
  UnauthorizedError,
  UserDeactivatedError,
} from '../../../access/errors.ts';
import { expectedError, isGone } from '../../../platform/db/errors.ts';
import {
  type ChatError,
  type ErrorCode as Code,
  ConflictError,
  ExpectationMismatchError,
  ForbiddenError,
  NonexistentSubdomainError,
  NotFoundError,
  RateLimitHitError,
  ValidationError,
} from '../../../platform/errors.ts';
import { BadImageError } from '../../../platform/images/errors.ts';
import { isRefusalObserved, observeRefusal } from '../../../platform/metrics.ts';
import { currentRequest } from '../../../platform/request-note.ts';
import { ApiKeyScope } from './api-key-scope.ts';
import { builder, type Types } from './builder.ts';
import { extensionsOf } from './error-extensions.ts';
import { inputPathOf, schemaMessageOf } from './input-path.ts';
import { permissionFieldName } from './setting-fields.ts';
import { UserRole } from './user-role.ts';

/** The error codes, with their descriptions in the schema. */
const CODES: Readonly<Record<Code, { readonly description: string }>> = {
  BAD_REQUEST: {
    description: 'A value is invalid, an object does not exist, or the viewer cannot perform the action.',
  },
  REQUEST_VARIABLE_MISSING: { description: 'A required value is missing.' },
  REQUEST_CONFUSING_VAR: { description: 'A value was sent twice: under its current name and under an earlier name.' },
  INVALID_JSON: { description: 'The request body is not valid JSON.' },
  STREAM_DOES_NOT_EXIST: { description: 'The channel does not exist, or the viewer cannot see it.' },
  CHANNEL_ALREADY_EXISTS: { description: 'A channel with this name already exists. Case is ignored.' },
  UNAUTHORIZED_PRINCIPAL: {
    description: 'The viewer lacks the role or permission, or the API key the scope, that the action requires.',
  },
  UNAUTHORIZED: { description: 'The request has no credentials, or they cannot be parsed.' },
  INVALID_API_KEY: { description: 'The credentials match no account.' },
  PASSWORD_REQUIRED: { description: 'A viewer with a session must send the current password or sign in again.' },
  PASSWORD_AUTH_DISABLED: {
    description:
      'The account needs a second factor, so a password alone gives no API key. Clients sign in through the browser.',
  },
  SECOND_FACTOR_REQUIRED: { description: 'The password is right. The sign-in continues with the second factor.' },
  AUTHENTICATION_FAILED: { description: 'The email address and password, or the token, match no account.' },
  USER_DEACTIVATED: { description: 'The account is deactivated.' },
  REALM_DEACTIVATED: { description: 'The organization is deactivated.' },
  NONEXISTENT_SUBDOMAIN: { description: 'There is no organization at this address.' },
  CSRF_FAILED: { description: 'The request comes from a page of another site.' },
  INVITATION_FAILED: { description: 'Some or all of the invited people could not be invited.' },
  INVALID_VIDEO_CALL_PROVIDER_TOKEN: {
    description: 'The viewer must first connect an account of the video call provider.',
  },
  PUSH_SERVICE_NOT_CONFIGURED: { description: 'The operator has not configured the push service of the phone.' },
  PUSH_SERVICE_REFUSED: {
    description:
      'The push service of the phone refused the notification. Another attempt will fail until the operator acts.',
  },
  NO_ACTIVE_PUSH_DEVICE: { description: 'The viewer has no app that can receive a test notification.' },
  RATE_LIMIT_HIT: { description: 'A rate limit of requests or actions is reached.' },
  BAD_EVENT_QUEUE_ID: {
    description:
      'The event queue, or the position in the log, is no longer valid. The client must register a new queue.',
  },
  EXPECTATION_MISMATCH: { description: 'The current value is not the one that the client expected.' },
  SYSTEM_GROUP_REQUIRED: { description: 'Only a role group can hold the permission.' },
  CANNOT_DEACTIVATE_GROUP_IN_USE: {
    description: 'The group still holds permissions, or is a subgroup of another group.',
  },
  REALM_UPLOAD_QUOTA: { description: "The upload would exceed the organization's disk space for files." },
  REQUEST_TIMEOUT: { description: 'The service is temporarily unavailable. The client can send the request again.' },
  STORAGE_FULL: { description: 'The disk of the database is full. The client can send the request again later.' },
  BAD_NARROW: {
    description:
      'A narrow (message filter) names an object that does not exist, or has a value that no message can match.',
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
    message: t.string({
      description:
        'Message for people, with the names of this schema, not those of REST. Programs should use the type of the error ' +
        'and its fields.',
      resolve: schemaMessageOf,
    }),
    path: t.stringList({
      nullable: true,
      description:
        'Path of the argument that caused the error, outermost name first: `["input", "name"]`. List indexes are written ' +
        'as digits, from 0. Null if no single argument caused the error, or if the argument could not be determined.',
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
  // The cast is safe: the parent type of the fields is `E`. Pothos cannot derive it from the class, because the type parameter
  // is not known here.
  const shape = { name: type.name, description, interfaces: [ServiceError], fields: fields as never };
  builder.objectType(type as new () => ChatError, shape);
}

errorType(
  ValidationError,
  'A value is never acceptable: blank, too long, out of range, malformed, or missing. `path` is the argument.',
  (t) => ({
    minimum: t.float({
      nullable: true,
      description:
        'Smallest accepted number, or minimum length of the text (in code points) or list. Null if the error is not ' +
        'about a lower bound, or does not state it.',
      resolve: ({ minimum }) => minimum,
    }),
    maximum: t.float({
      nullable: true,
      description:
        'Largest accepted number, or maximum length of the text (in code points) or list. Null if the error is not ' +
        'about an upper bound, or does not state it.',
      resolve: ({ maximum }) => maximum,
    }),
    value: t.string({
      nullable: true,
      description: 'The refused value, if it is a number or a short text. Null otherwise.',
      resolve: ({ value }) => value,
    }),
  }),
);
errorType(
  NotFoundError,
  'An object does not exist, or the viewer cannot see it. `path` is the argument with the id or name of the ' +
    'object, or null if there is none.',
  (t) => ({
    objectType: t.string({
      nullable: true,
      description: 'GraphQL type of the object, such as `Channel`. Null if the object has no type.',
      resolve: ({ object }) => object?.type,
    }),
  }),
);
errorType(
  ForbiddenError,
  'The viewer lacks a permission or role, or the time limit of the action has passed. Other argument values ' +
    'do not help.',
  (t) => ({
    permission: t.string({
      nullable: true,
      description:
        'Name of the missing permission, as in `permissions` of `Organization`, `Channel` or `UserGroup`, such as ' +
        '`canCreateGroups`. Null if no single permission is missing.',
      resolve: ({ permission }) => (permission === undefined ? undefined : permissionFieldName(permission)),
    }),
    role: t.field({
      type: UserRole,
      nullable: true,
      description: 'The lowest role that can perform the action. Null if the action does not depend on the role.',
      resolve: ({ role }) => role,
    }),
    scopes: t.field({
      type: [ApiKeyScope],
      nullable: true,
      description: 'The scopes that the API key of the request lacks, at most 4. Null if the API key is not the cause.',
      resolve: ({ scopes }) => scopes,
    }),
  }),
);
errorType(
  ConflictError,
  'The change is valid and permitted, but not possible in the current state: a name is in use, an object is archived ' +
    'already, a limit of objects is reached.',
);
errorType(UnauthorizedError, 'The request has no credentials, or they cannot be parsed.');
errorType(InvalidApiKeyError, 'The credentials match no account.');
errorType(UserDeactivatedError, 'The credentials are valid, but the account is deactivated.');
errorType(OrganizationDeactivatedError, 'The credentials are valid, but the organization is deactivated.');
errorType(NonexistentSubdomainError, 'There is no organization at this address.');
errorType(BadImageError, 'The file is not a readable image.');
errorType(
  ExpectationMismatchError,
  'The current value is not the one that the client expected. `path` is the argument with the expected value.',
);

errorType(RateLimitHitError, 'A rate limit is reached.', (t) => ({
  retryAfterSeconds: t.int({
    description: 'Number of seconds to wait before sending the request again.',
    resolve: ({ data }) => Math.ceil(data['retry-after']),
  }),
}));

/**
 * Converts a thrown value to an error for clients. An expected error keeps its code and data, and gets its kind and the path of
 * the argument that caused it. GraphQL's own errors about the
 * document or its variables are unchanged. Any other error becomes "Internal server error" with the request id, and its cause
 * is logged under this id. A WebSocket has no response header that could contain the id.
 *
 * @see src/api/README.md#rest-and-graphql
 */
export function presentError(error: unknown, log: Logger): GraphQLError {
  const place = error instanceof GraphQLError ? { nodes: error.nodes ?? null, path: error.path ?? null } : {};
  const expected = expectedError(error instanceof GraphQLError ? (error.originalError ?? error) : error);
  if (expected !== undefined) {
    observeRefusal('graphql', expected.code, expected);
    const argument = inputPathOf(expected);
    return new GraphQLError(schemaMessageOf(expected), {
      ...place,
      extensions: { ...extensionsOf(expected), ...(argument !== null && { argument }) },
      originalError: expected,
    });
  }
  // The error means that the row was deleted after it was read and before its fields were resolved.
  if (error instanceof GraphQLError && isGone(error.originalError)) {
    const message = 'The requested object was deleted while it was read';
    observeRefusal('graphql', 'BAD_REQUEST', error);
    return new GraphQLError(message, { ...place, extensions: { code: 'BAD_REQUEST' }, originalError: error });
  }
  if (error instanceof GraphQLError && isAboutDocument(error)) {
    error.extensions['code'] ??= 'BAD_REQUEST';
    // The error object is not marked as counted. It belongs to a cached document, and must be counted again in the next
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

/** Returns whether GraphQL itself raised the error, rather than a resolver. */
function isAboutDocument({ originalError }: GraphQLError): boolean {
  return originalError === undefined || (originalError instanceof GraphQLError && isAboutDocument(originalError));
}
