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
  ERROR_CODES,
  ExpectationMismatchError,
  NonexistentSubdomainError,
  RateLimitHitError,
  RequestTimeoutError,
  UnauthorizedPrincipalError,
} from '../../platform/errors.ts';
import { BadImageError } from '../../platform/images/errors.ts';
import { builder, type Types } from './builder.ts';

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
errorType(UnauthorizedPrincipalError, 'The act takes a role the viewer does not have.');
errorType(UnauthorizedError, 'The request carries no credentials, or none that can be read.');
errorType(InvalidApiKeyError, 'The credentials fit no account.');
errorType(UserDeactivatedError, 'The right credentials of an account that is deactivated.');
errorType(RealmDeactivatedError, 'The right credentials in an organization that is deactivated.');
errorType(NonexistentSubdomainError, 'There is no organization at this address.');
errorType(BadImageError, 'The file is no image that can be read.');
errorType(ExpectationMismatchError, 'The value was not what the client said it was.', (t) => ({
  fieldName: t.string({ resolve: ({ data }) => data.field_name }),
}));
errorType(SystemGroupRequiredError, 'Only a role group may hold the permission.', (t) => ({
  settingName: t.string({ resolve: ({ data }) => data.setting_name }),
}));

for (const [type, description] of [
  [RateLimitHitError, 'A budget is used up.'],
  [RequestTimeoutError, 'The service is busy. Nothing was changed, and the request may be sent again.'],
] as const) {
  errorType<RateLimitHitError | RequestTimeoutError>(type, description, (t) => ({
    retryAfterSeconds: t.int({ resolve: ({ data }) => Math.ceil(data['retry-after']) }),
  }));
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
