import type { ExecutionResult, GraphQLError } from 'graphql';
import { expectedError, isGone } from '../../platform/db/errors.ts';
import { RequestTimeoutError } from '../../platform/errors.ts';

type Path = readonly (string | number)[];

/** Of each operation, by its context: what of its changes could not be read after they were made. */
const unread = new WeakMap<object, Path[]>();

/** Notes that a mutation has made its change, and that nothing could be read of what it came to. */
export function noteUnread(ctx: object, path: Path): void {
  unread.set(ctx, [...(unread.get(ctx) ?? []), path]);
}

/** Whether something could not be read because the database could not be asked, or because it was deleted meanwhile. */
export const isOutOfReach = (error: unknown): boolean =>
  isGone(error) || expectedError(error) instanceof RequestTimeoutError;

/**
 * The result of mutations whose changes are committed, as one that says so: what failed below a payload failed after the
 * change. It is null, and `notReadBack` in the extensions names it; as an error of the operation it would be taken for a
 * refusal, and the change sent again.
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
