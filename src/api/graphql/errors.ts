import type { FieldMap } from '@pothos/core';
import { GraphQLError } from 'graphql';
import type { Logger } from 'pino';
import {
  InvalidApiKeyError,
  RealmDeactivatedError,
  UnauthorizedError,
  UserDeactivatedError,
} from '../../access/errors.ts';
import { SystemGroupRequiredError } from '../../access/permissions/errors.ts';
import { expectedError, isGone } from '../../platform/db/errors.ts';
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
} from '../../platform/errors.ts';
import { BadImageError } from '../../platform/images/errors.ts';
import { isRefusalObserved, observeRefusal } from '../../platform/metrics.ts';
import { currentRequest } from '../../platform/request-note.ts';
import { builder, type Types } from './builder.ts';
import { inputPathOf } from './input-path.ts';

/** The codes, each with what it means. */
const CODES: Readonly<Record<Code, { readonly description: string }>> = {
  BAD_REQUEST: {
    description: 'A value the service does not take, an object that is not there, or an act the viewer may not do.',
  },
  REQUEST_VARIABLE_MISSING: { description: 'Something that is required was not given.' },
  REQUEST_CONFUSING_VAR: { description: 'Something was given twice, under two of its names.' },
  INVALID_JSON: { description: 'The body of the request is not JSON.' },
  STREAM_DOES_NOT_EXIST: { description: 'There is no such channel, or none the viewer may know of.' },
  CHANNEL_ALREADY_EXISTS: { description: "The new channel's name is taken, in whatever case." },
  UNAUTHORIZED_PRINCIPAL: { description: 'The act takes a role or a permission the viewer does not have.' },
  UNAUTHORIZED: { description: 'The request carries no credentials, or none that can be read.' },
  INVALID_API_KEY: { description: 'The credentials fit no account.' },
  AUTHENTICATION_FAILED: { description: 'The address and password, or the token, fit no account.' },
  USER_DEACTIVATED: { description: 'The account is deactivated.' },
  REALM_DEACTIVATED: { description: 'The organization is deactivated.' },
  NONEXISTENT_SUBDOMAIN: { description: 'There is no organization at this address.' },
  CSRF_FAILED: { description: 'The request comes from a page of another site.' },
  INVALID_VIDEO_CALL_PROVIDER_TOKEN: {
    description: 'The viewer must first connect an account of the provider of video calls.',
  },
  RATE_LIMIT_HIT: { description: 'A budget of requests or acts is used up for now.' },
  BAD_EVENT_QUEUE_ID: { description: 'The event queue, or the position in it, is lost: a new one must be registered.' },
  EXPECTATION_MISMATCH: { description: 'A value was not what the client said it was.' },
  SYSTEM_GROUP_REQUIRED: { description: 'Only a role group may hold the permission.' },
  CANNOT_DEACTIVATE_GROUP_IN_USE: { description: 'The group still holds permissions, or is within another group.' },
  REQUEST_TIMEOUT: { description: 'The service is busy, and the request may be sent again.' },
  STORAGE_FULL: { description: "The database's disk is full, and the request may be sent again, but later." },
  BAD_NARROW: { description: 'A narrow names what is not there, or what no message can be.' },
  BAD_IMAGE: { description: 'The file is no image that can be read.' },
  MOVE_MESSAGES_TIME_LIMIT_EXCEEDED: { description: 'Some messages of the topic are too old to be moved.' },
  REACTION_ALREADY_EXISTS: { description: 'The viewer has this emoji on the message already.' },
  REACTION_DOES_NOT_EXIST: { description: 'The viewer has no such emoji on the message.' },
  CANNOT_DEACTIVATE_LAST_USER: { description: 'Nobody, or no owner, would be left in the organization.' },
  STREAM_WILDCARD_MENTION_NOT_ALLOWED: {
    description: 'To mention everybody in a channel as large takes a permission.',
  },
  TOPIC_WILDCARD_MENTION_NOT_ALLOWED: { description: 'To mention everybody in a topic as large takes a permission.' },
};

const ErrorCode = builder.enumType('ErrorCode', {
  description: 'What went wrong, in one word: the same as `code` over REST.',
  values: CODES,
});

const ServiceError = builder.interfaceRef<ChatError>('ServiceError').implement({
  description: 'A failure the client caused, or can do something about.',
  fields: (t) => ({
    code: t.expose('code', { type: ErrorCode, description: 'What went wrong. Programs go by it.' }),
    message: t.exposeString('message', {
      description: 'For people. Programs go by `code` and the fields of the type.',
    }),
    path: t.stringList({
      nullable: true,
      description:
        'The part of the arguments it is about, from the outermost name inwards: `["input", "name"]`. Places in lists ' +
        'are their digits, from 0. Null when it is about no single part, or none that is known.',
      resolve: (error) => inputPathOf(error) as string[] | null,
    }),
  }),
});

/**
 * Adds the GraphQL type of a class of errors, under its name.
 *
 * @param fields Of its data. None: the type says no more than the code.
 */
export function errorType<E extends ChatError>(
  type: new (...args: never[]) => E,
  description: string,
  fields: (t: PothosSchemaTypes.ObjectFieldBuilder<Types, E>) => FieldMap = () => ({}),
): void {
  // Pothos works the fields' parent out of the class, which is not known here: `E` says the same.
  const shape = { name: type.name, description, interfaces: [ServiceError], fields: fields as never };
  builder.objectType(type as new () => ChatError, shape);
}

errorType(
  BadRequestError,
  'A value the service does not take, an object that is not there, or an act the viewer may not do.',
);
errorType(RequestVariableMissingError, 'Something that is required was not given.');
errorType(UnauthorizedPrincipalError, 'The act takes a role the viewer does not have.');
errorType(UnauthorizedError, 'The request carries no credentials, or none that can be read.');
errorType(InvalidApiKeyError, 'The credentials fit no account.');
errorType(UserDeactivatedError, 'The right credentials of an account that is deactivated.');
errorType(RealmDeactivatedError, 'The right credentials in an organization that is deactivated.');
errorType(NonexistentSubdomainError, 'There is no organization at this address.');
errorType(BadImageError, 'The file is no image that can be read.');
errorType(ExpectationMismatchError, 'The value was not what the client said it was.', (t) => ({
  fieldName: t.string({
    description: 'The name that the REST API has for the value.',
    resolve: ({ data }) => data.field_name,
  }),
}));
errorType(SystemGroupRequiredError, 'Only a role group may hold the permission.', (t) => ({
  settingName: t.string({
    description: 'The name that the REST API has for the permission.',
    resolve: ({ data }) => data.setting_name,
  }),
}));

for (const [type, description] of [
  [RateLimitHitError, 'A budget is used up.'],
  [
    RequestTimeoutError,
    'The service is busy, or has no room left (`STORAGE_FULL`). Nothing was changed, and the request may be sent again.',
  ],
] as const) {
  errorType<RateLimitHitError | RequestTimeoutError>(type, description, (t) => ({
    retryAfterSeconds: t.int({
      description: 'How long to wait, in seconds, before the request is sent again.',
      resolve: ({ data }) => Math.ceil(data['retry-after']),
    }),
  }));
}

/**
 * Makes a thrown value fit to be seen: an expected failure with its code and data, GraphQL's own complaint about the
 * document or its variables as it is, and any other as "Internal server error", with the cause in the log alone, under the
 * request's id, which it tells: over a socket no header does.
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
  // A field of a row that was read, and that somebody deleted before its fields were.
  if (error instanceof GraphQLError && isGone(error.originalError)) {
    const message = 'What was asked for was deleted while it was read';
    observeRefusal('graphql', 'BAD_REQUEST', error);
    return new GraphQLError(message, { ...place, extensions: { code: 'BAD_REQUEST' }, originalError: error });
  }
  if (error instanceof GraphQLError && isAboutDocument(error)) {
    error.extensions['code'] ??= 'BAD_REQUEST';
    // Those of a document that is known are the same each time.
    if (!isRefusalObserved(error)) observeRefusal('graphql', error.extensions['code']);
    return error;
  }
  log.error({ err: error instanceof GraphQLError ? error.originalError : error }, 'A resolver failed');
  observeRefusal('graphql', 'INTERNAL_SERVER_ERROR');
  const requestId = currentRequest()?.id;
  const extensions = { code: 'INTERNAL_SERVER_ERROR', ...(requestId !== undefined && { requestId }) };
  return new GraphQLError('Internal server error', { ...place, extensions });
}

/** Whether the error was raised by GraphQL itself, not by what a resolver threw. */
function isAboutDocument({ originalError }: GraphQLError): boolean {
  return originalError === undefined || (originalError instanceof GraphQLError && isAboutDocument(originalError));
}
