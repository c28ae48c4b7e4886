import type { InputFieldMap, InputShapeFromFields, ShapeFromTypeParam, TypeParam } from '@pothos/core';
import { type GraphQLField, type GraphQLResolveInfo, responsePathAsArray as responsePath } from 'graphql';
import { type Ctx, type RequestCtx, signedIn } from '../../../access/context.ts';
import { observingChanges } from '../../../events/act.ts';
import {
  AbandonedError,
  ChatError,
  ConflictError,
  ForbiddenError,
  NotFoundError,
  requireScopes,
  ValidationError,
} from '../../../platform/errors.ts';
import type { RequiredScopes } from '../../../platform/key-scopes.ts';
import { observeRefusal } from '../../../platform/metrics.ts';
import { builder, type Types } from './builder.ts';
import { noteInputPath } from './input-path.ts';
import { notePosition } from './positions.ts';
import { isOutOfReach, noteUnread } from './read-back.ts';
import { refersTo } from './refs.ts';

type ErrorClass = abstract new (...args: never[]) => ChatError;

interface PayloadField {
  readonly type: TypeParam<Types>;
  /** Whether the value of the payload field can be null. */
  readonly nullable?: boolean;
  /**
   * True if the value can be returned even if the database fails after the change was committed. The field is then non-null.
   */
  readonly isAlwaysThere?: true;
  readonly description?: string;
  /** For fields of type ID: the type of the objects that the ids name. `resolve` returns row ids. */
  readonly refersTo?: string;
}

type PayloadShape<P extends Record<string, PayloadField>> = {
  [K in keyof P]: ValueOf<P[K]> | ReadBack<ValueOf<P[K]>>;
};
type ValueOf<F extends PayloadField> = ShapeFromTypeParam<Types, F['type'], F['nullable'] extends true ? true : false>;

/** A payload value that is read from the database after the change, and only if it is selected. */
class ReadBack<V> {
  readonly read: () => Promise<V>;

  constructor(read: () => Promise<V>) {
    this.read = read;
  }
}

/** Returns a payload value that is read from the database only if it is selected. */
export const whenAsked = <V>(read: () => Promise<V>): ReadBack<V> => new ReadBack(read);

/** Returns the value of a payload field. If it is a `ReadBack`, the value is read from the database now. */
const resolved = <V>(value: V | ReadBack<V>): V | Promise<V> => (value instanceof ReadBack ? value.read() : value);

interface MutationOptions<C, I extends InputFieldMap, P extends Record<string, PayloadField>> {
  readonly description: string;
  /**
   * Returns the fields of the input object, which are required unless declared otherwise. Absent if the mutation has no input.
   */
  readonly input?: (t: PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>) => I;
  /**
   * Returns the definitions of the payload's fields. `resolve` of the mutation returns a property for each field. The fields
   * are returned by a function, so that features can refer to each other's types.
   */
  readonly payload: () => P;
  /**
   * Classes of the errors that clients should handle, in addition to `ERRORS_OF_ALL`. Subclasses are distinguished from their
   * parents.
   */
  readonly errors?: readonly ErrorClass[];
  /**
   * Scopes that the API key of a request needs. Default: `write`, or none for public mutations. Changes that the audit log records
   * also need `administration`, even if the mutation does not always make one.
   */
  readonly scope?: RequiredScopes;
  /**
   * True for mutations that ignore idempotency keys: their effect is short-lived, they take long, they call another service, or
   * they return an API key. A stored response would be useless, or too sensitive to store.
   */
  readonly ignoresIdempotencyKey?: true;
  /** True for mutations that check credentials, such as a password. An operation can contain at most one such mutation. */
  readonly provesIdentity?: true;
  /**
   * True for mutations that make a single change, and whose payload needs no further read, except for objects. The payload is
   * rendered only from the input and from the data that the change stores with the idempotency key. If `work.keyedChange` is
   * set, `resolve` must use it to make the change.
   */
  readonly rendersStoredData?: true;
  /**
   * True if the payload has the field `query`, which exposes the whole state that the viewer can read. An operation that
   * selects `query` is executed on one read-only database snapshot (`work.snapshot`). Changes must be deferred until the
   * snapshot has ended.
   */
  readonly answersWithState?: true;
  readonly resolve: (ctx: C, input: InputShapeFromFields<I>) => Promise<PayloadShape<P>>;
}

/**
 * Classes of the errors that every mutation can return. Errors about the transport or an unavailable database are not among
 * them: they are in the top-level `errors`.
 */
const ERRORS_OF_ALL = [ValidationError, NotFoundError, ForbiddenError, ConflictError];

/**
 * Adds a mutation for authenticated viewers: `createDrafts(input: CreateDraftsInput!): CreateDraftsResult!`. The result is
 * `CreateDraftsPayload`, or one of the errors in `errors`. Any other error appears in the top-level `errors` of the response.
 *
 * @see src/api/README.md#rest-and-graphql
 */
export function mutation<I extends InputFieldMap, P extends Record<string, PayloadField>>(
  name: string,
  options: MutationOptions<Ctx, I, P>,
): void {
  addMutation(name, { scope: 'write', ...options }, signedIn);
}

/** Adds a mutation for all clients, authenticated or not. */
export function publicMutation<I extends InputFieldMap, P extends Record<string, PayloadField>>(
  name: string,
  options: MutationOptions<RequestCtx, I, P>,
): void {
  addMutation(name, options, (ctx) => ctx);
}

function addMutation<C, I extends InputFieldMap, P extends Record<string, PayloadField>>(
  name: string,
  {
    description,
    input,
    payload,
    errors = [],
    scope = [],
    ignoresIdempotencyKey,
    provesIdentity,
    rendersStoredData,
    answersWithState,
    resolve,
  }: MutationOptions<C, I, P>,
  contextOf: (ctx: RequestCtx) => C,
): void {
  const typeName = `${name[0]?.toUpperCase()}${name.slice(1)}`;
  const Input =
    input &&
    builder.inputType(`${typeName}Input`, { description: `Input of \`${name}\`. ${description}`, fields: input });
  const Payload = builder.objectRef<PayloadShape<P>>(`${typeName}Payload`);
  Payload.implement({
    description: PAYLOAD,
    fields: (t) => ({
      ...positionField(t as never),
      ...Object.fromEntries(
        Object.entries(payload()).map(([field, { refersTo: typename, isAlwaysThere, ...options }]) => {
          const named = typename === undefined ? {} : refersTo(typename);
          const resolve = (payload: Record<string, unknown>) => resolved(payload[field]);
          return [field, t.field({ ...options, ...named, nullable: isAlwaysThere !== true, resolve } as never)];
        }),
      ),
      ...(answersWithState && stateField(t as never)),
    }),
  });
  builder.mutationField(name, (t) =>
    t.field({
      type: Payload,
      description,
      // A mutation that fails with a top-level error must not remove the results of the mutations before it.
      nullable: true,
      errors: {
        types: [...errors, ...ERRORS_OF_ALL] as (new () => ChatError)[],
        union: { description: `Result of \`${name}\`: its payload or one of the errors that clients should handle.` },
      },
      args: Input === undefined ? {} : { input: t.arg({ type: Input, description: `Input of \`${name}\`.` }) },
      extensions: { scope, ignoresIdempotencyKey, provesIdentity, rendersStoredData, answersWithState },
      resolve: (async (
        _root: unknown,
        args: { input?: unknown },
        ctx: RequestCtx,
        { path, parentType, fieldName }: GraphQLResolveInfo,
      ) => {
        const outcome = await observingChanges(async () => {
          // The mutations of an operation run one after another. If the client has disconnected, the next mutation is not
          // started.
          if (ctx.caller?.isGone === true) throw new AbandonedError();
          requireScopes(ctx.viewer, scope);
          return resolve(contextOf(ctx), (args.input ?? {}) as InputShapeFromFields<I>);
        });
        const { position } = outcome;
        // If the mutation's own payload has a `position`, that value is returned.
        if ('value' in outcome) return { position, ...outcome.value };
        // The change was committed, but its payload could not be read. Only the position is returned. A sign-in throws the
        // error instead, because the client needs the API key in the payload.
        if (outcome.isMade && provesIdentity !== true && isOutOfReach(outcome.error)) {
          noteUnread(ctx, [path.key]);
          return { position };
        }
        failed.add(ctx);
        // With `keyedChange`, a failed mutation is executed a second time, and fails again. Only the second failure is counted
        // in the metrics.
        if (ctx.work.keyedChange === undefined && outcome.error instanceof ChatError) {
          observeRefusal('graphql', outcome.error.code, outcome.error);
        }
        noteInputPath(outcome.error, parentType.getFields()[fieldName]?.args ?? [], args);
        throw outcome.error;
      }) as never,
    }),
  );
}

/** Defines the field `position`, which every payload has: the position of the change in the event log. */
const positionField = (t: PothosSchemaTypes.ObjectFieldBuilder<Types, { readonly position: number | null }>) => ({
  position: t.field({
    type: 'LongId',
    nullable: true,
    description:
      'Log position of the last event of the change. A client that has received an event or heartbeat with this ' +
      'or a higher position has received all events of the change that it can receive, and can discard optimistic ' +
      'updates. If the last event is only for other users, the client receives a heartbeat with this or a higher ' +
      'position instead. Null if nothing was changed, or if no event of the change has recipients.',
    resolve: ({ position }, _args, ctx, { path }) => {
      // In the transaction of an idempotency key, the position is known only at the end. It is then written to the path that is
      // recorded here.
      if (ctx.work.transaction !== undefined) notePosition(ctx, responsePath(path));
      return position;
    },
  }),
});

/** Defines the field `query` of a payload: the whole state that the viewer can read, at the position of the payload. */
const stateField = (t: PothosSchemaTypes.ObjectFieldBuilder<Types, object>) => ({
  query: t.field({
    type: 'Query' as never,
    description:
      'Root of all queries, at `position`: the state includes all events up to that position, and none after it. ' +
      'All of it is read from one database snapshot. If this field is selected, the mutation must be the only ' +
      'root field of the operation. `events` is refused here.',
    // `query` itself costs nothing. The fields below it have the cost that they have at the root of an operation.
    complexity: 0,
    resolve: (_payload, _args, { work }) => {
      if (work.snapshot === undefined) throw new Error('The operation is executed outside of a snapshot');
      return {} as never;
    },
  }),
});

const PAYLOAD =
  'Result of the change. If the database became unavailable after the change was committed, fields that could not be ' +
  'read are null, and `extensions.notReadBack` of the response lists their paths. Do not send the change again.';

/**
 * Contexts of the operations in which a mutation failed. The result does not show the failure, because a typed error is part of
 * the result's data.
 */
const failed = new WeakSet<RequestCtx>();

/** Returns whether a mutation of the operation with this context failed, with a typed error or another one. */
export const hasFailed = (ctx: RequestCtx): boolean => failed.has(ctx);

/** Returns whether a mutation ignores idempotency keys. */
export const ignoresIdempotencyKey = ({ extensions }: GraphQLField<unknown, unknown>): boolean =>
  extensions['ignoresIdempotencyKey'] === true;

/** Returns whether a mutation has the option `rendersStoredData`. */
export const rendersStoredData = ({ extensions }: GraphQLField<unknown, unknown>): boolean =>
  extensions['rendersStoredData'] === true;

/** Returns whether the payload of a mutation has the field `query`. */
export const answersWithState = ({ extensions }: GraphQLField<unknown, unknown>): boolean =>
  extensions['answersWithState'] === true;

/** Returns whether a mutation checks credentials. */
export const provesIdentity = ({ extensions }: GraphQLField<unknown, unknown>): boolean =>
  extensions['provesIdentity'] === true;

/**
 * Returns the fields that are neither undefined nor null. Used for inputs in which null has the same meaning as an absent
 * field.
 */
export function given<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}
