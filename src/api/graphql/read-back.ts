import type { ExecutionResult, GraphQLError } from 'graphql';
import { expectedError, isGone } from '../../platform/db/errors.ts';
import { RequestTimeoutError } from '../../platform/errors.ts';

type Path = readonly (string | number)[];

/** Paths that could not be read after the changes of an operation were made, by its context. */
const unread = new WeakMap<object, Path[]>();

/** Marks a mutation that was committed but whose payload could not be read. */
export function noteUnread(ctx: object, path: Path): void {
  unread.set(ctx, [...(unread.get(ctx) ?? []), path]);
}

/** Whether a read failed because the database is unavailable or the row was deleted. */
export const isOutOfReach = (error: unknown): boolean =>
  isGone(error) || expectedError(error) instanceof RequestTimeoutError;

/**
 * Returns the result of committed mutations without the errors of failed reads below a payload. These fields are null, and
 * `notReadBack` in the extensions lists their paths. Clients would take errors for a refusal and send the change again.
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
