import type { ExecutionResult, GraphQLError } from 'graphql';
import { expectedError, isGone } from '../../../platform/db/errors.ts';
import { RequestTimeoutError } from '../../../platform/errors.ts';

type Path = readonly (string | number)[];

/** Paths of the result fields that could not be read after a change was committed, by context of the operation. */
const unread = new WeakMap<object, Path[]>();

/** Records that a mutation was committed, but its payload could not be read. @param path Path of the mutation in the result. */
export function noteUnread(ctx: object, path: Path): void {
  unread.set(ctx, [...(unread.get(ctx) ?? []), path]);
}

/** Returns whether an error means that data could not be read: the database is unavailable, or the row was deleted. */
export const isOutOfReach = (error: unknown): boolean =>
  isGone(error) || expectedError(error) instanceof RequestTimeoutError;

/**
 * Returns the result of mutations without the errors of reads that failed after the change was committed. The fields of these
 * reads are null, and `notReadBack` in the extensions lists their paths. If clients received the errors, they would assume that
 * the change was refused, and send it again.
 */
export function acknowledged(result: ExecutionResult, ctx: object): ExecutionResult {
  const { data, errors = [] } = result;
  const isReadBack = ({ path = [], originalError }: GraphQLError) =>
    path.length > 1 && data?.[path[0] as string] != null && isOutOfReach(originalError);
  const notReadBack = [...(unread.get(ctx) ?? []), ...errors.filter(isReadBack).map(({ path = [] }) => path)];
  if (notReadBack.length === 0) return result;
  const { errors: _, ...rest } = result;
  const others = errors.filter((error) => !isReadBack(error));
  return { ...rest, ...(others.length > 0 && { errors: others }), extensions: { ...result.extensions, notReadBack } };
}
