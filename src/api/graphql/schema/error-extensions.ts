import {
  type ChatError,
  ConflictError,
  ForbiddenError,
  NotFoundError,
  ValidationError,
} from '../../../platform/errors.ts';

/** Kinds of errors in `extensions.kind`, with the classes of these errors. @see src/api/README.md#rest-and-graphql */
const KINDS = [
  ['NOT_FOUND', NotFoundError],
  ['FORBIDDEN', ForbiddenError],
  ['INVALID', ValidationError],
  ['CONFLICT', ConflictError],
] as const;

/**
 * Returns the extensions of an error in the `errors` of a GraphQL response: its code, its kind if it has one, and its data,
 * named as over REST. If the client can retry, `retryAfterSeconds` is the time to wait in whole seconds, as in
 * `RateLimitHitError` of the schema.
 */
export function extensionsOf(error: ChatError): Record<string, unknown> {
  const { code } = error;
  const kind = KINDS.find(([, type]) => error instanceof type)?.[0];
  const { 'retry-after': wait, ...data } = error.data;
  return {
    code,
    ...(kind !== undefined && { kind }),
    ...data,
    ...(typeof wait === 'number' && { retryAfterSeconds: Math.ceil(wait) }),
  };
}
