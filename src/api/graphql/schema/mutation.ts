import type { InputFieldMap, InputShapeFromFields, ShapeFromTypeParam, TypeParam } from '@pothos/core';
import { type GraphQLField, type GraphQLResolveInfo, responsePathAsArray as responsePath } from 'graphql';
import { type Ctx, type RequestCtx, signedIn } from '../../../access/context.ts';
import { observingChanges } from '../../../events/act.ts';
import { AbandonedError, BadRequestError, ChatError, RequestTimeoutError } from '../../../platform/errors.ts';
import { observeRefusal } from '../../../platform/metrics.ts';
import { builder, type Types } from './builder.ts';
import { noteInputPath } from './input-path.ts';
import { notePosition } from './positions.ts';
import { isOutOfReach, noteUnread } from './read-back.ts';
import { refersTo } from './refs.ts';

type ErrorClass = abstract new (...args: never[]) => ChatError;

interface PayloadField {
  readonly type: TypeParam<Types>;
  /** Whether `resolve` can return null. */
  readonly nullable?: boolean;
  /** True if the value is available even if the database fails after the change, so that the field is non-null. */
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

/** Returns a payload value, which is read now if necessary. */
const resolved = <V>(value: V | ReadBack<V>): V | Promise<V> => (value instanceof ReadBack ? value.read() : value);

interface MutationOptions<C, I extends InputFieldMap, P extends Record<string, PayloadField>> {
  readonly description: string;
  /**
   * Returns the fields of the input object, which are required unless declared otherwise. Absent if the mutation has no input.
   */
  readonly input?: (t: PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>) => I;
  /**
   * Returns the fields of the payload. `resolve` returns a property for each of them. This is a function, so that features can
   * refer to types of each other.
   */
  readonly payload: () => P;
  /**
   * Classes of the errors that clients should handle, in addition to those of every mutation. Subclasses are distinguished from
   * their parents.
   */
  readonly errors?: readonly ErrorClass[];
  /**
   * True for mutations that ignore idempotency keys. Their effect is short-lived, or they take long, call another service or
   * return an API key. A stored response would be useless, or too sensitive to store.
   */
  readonly ignoresIdempotencyKey?: true;
  /** True for mutations that check credentials, such as a password. An operation can contain at most one such mutation. */
  readonly provesIdentity?: true;
  /**
   * True for mutations that make a single change, and whose payload, except for objects, is rendered from the facts of the
   * change and the input alone. `resolve` must use `app.keyedChange` if it is set.
   */
  readonly rendersFacts?: true;
  /**
   * True if the payload has the field `query`, which exposes the whole state that the viewer can read. An operation that
   * selects it is executed on one read-only database snapshot (`app.snapshot`). Changes must be deferred until the snapshot has
   * ended.
   */
  readonly answersWithState?: true;
  readonly resolve: (ctx: C, input: InputShapeFromFields<I>) => Promise<PayloadShape<P>>;
}

/** The error classes of every mutation: for an invalid value, and for an unavailable database. */
const ERRORS_OF_ALL = [BadRequestError, RequestTimeoutError];

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
  addMutation(name, options, signedIn);
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
    ignoresIdempotencyKey,
    provesIdentity,
    rendersFacts,
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
      errors: {
        types: [...errors, ...ERRORS_OF_ALL] as (new () => ChatError)[],
        union: { description: `Result of \`${name}\`: its payload or one of the errors that clients should handle.` },
      },
      args: Input === undefined ? {} : { input: t.arg({ type: Input, description: `Input of \`${name}\`.` }) },
      extensions: { ignoresIdempotencyKey, provesIdentity, rendersFacts, answersWithState },
      resolve: (async (
        _root: unknown,
        { input = {} }: { input?: unknown },
        ctx: RequestCtx,
        { path, parentType, fieldName }: GraphQLResolveInfo,
      ) => {
        const outcome = await observingChanges(async () => {
          // The mutations of an operation run one after another. If the client has disconnected, the next mutation is not
          // started.
          if (ctx.caller?.isGone === true) throw new AbandonedError();
          return resolve(contextOf(ctx), input as InputShapeFromFields<I>);
        });
        const { position } = outcome;
        // If the payload contains its own position, it replaces that of the change.
        if ('value' in outcome) return { position, ...outcome.value };
        // The change was committed, but its payload could not be read. So only the position is returned. A sign-in throws
        // instead, because its client needs the key in the payload.
        if (outcome.isMade && provesIdentity !== true && isOutOfReach(outcome.error)) {
          noteUnread(ctx, [path.key]);
          return { position };
        }
        failed.add(ctx);
        // With `keyedChange`, a failed mutation is executed a second time, and fails again. Only the second failure is counted
        // in the metrics.
        if (ctx.app.keyedChange === undefined && outcome.error instanceof ChatError) {
          observeRefusal('graphql', outcome.error.code, outcome.error);
        }
        noteInputPath(outcome.error, parentType.getFields()[fieldName]?.args ?? []);
        throw outcome.error;
      }) as never,
    }),
  );
}

/** Defines the field `position` of every payload: the log position of the change. */
const positionField = (t: PothosSchemaTypes.ObjectFieldBuilder<Types, { readonly position: number | null }>) => ({
  position: t.field({
    type: 'LongId',
    nullable: true,
    description:
      'Log position of the last event of the change. After an event or heartbeat with this or a higher position, the client ' +
      'has every event of the change that it can receive, and can discard optimistic updates. If the last event is only for ' +
      'other users, a heartbeat reaches the position. Null if nothing was changed, or if no event of the change has ' +
      'recipients.',
    resolve: ({ position }, _args, ctx, { path }) => {
      // In the transaction of an idempotency key, the position is known only at the end. It is written to the recorded path
      // later.
      if (ctx.app.transaction !== undefined) notePosition(ctx, responsePath(path));
      return position;
    },
  }),
});

/** Defines the field `query` of a payload: the whole state that the viewer can read, at the position of the payload. */
const stateField = (t: PothosSchemaTypes.ObjectFieldBuilder<Types, object>) => ({
  query: t.field({
    type: 'Query' as never,
    description:
      'Root of all queries, at `position`: the state includes all events up to that position, and none after it. All of it ' +
      'is read from one database snapshot. The mutation must then be the only field of its operation. `events` is refused ' +
      'here.',
    // `query` itself costs nothing. The fields below it have the cost that they have at the root of an operation.
    complexity: 0,
    resolve: (_payload, _args, { app }) => {
      if (app.snapshot === undefined) throw new Error('The operation is executed outside of a snapshot');
      return {} as never;
    },
  }),
});

const PAYLOAD =
  'Result of the change. If the database became unavailable after the change was committed, fields that could not be ' +
  'read are null, and `extensions.notReadBack` of the response lists their paths. Do not send the change again.';

/**
 * Contexts of the operations in which a mutation failed. The result alone does not show it, because typed errors are part of
 * its data.
 */
const failed = new WeakSet<RequestCtx>();

/** Whether a mutation of the operation with this context ended in an error, typed or not. */
export const hasFailed = (ctx: RequestCtx): boolean => failed.has(ctx);

/** Whether a mutation ignores idempotency keys. */
export const ignoresIdempotencyKey = ({ extensions }: GraphQLField<unknown, unknown>): boolean =>
  extensions['ignoresIdempotencyKey'] === true;

/** Whether the payload of a mutation, except for objects, is rendered from the facts of the change. */
export const rendersFacts = ({ extensions }: GraphQLField<unknown, unknown>): boolean =>
  extensions['rendersFacts'] === true;

/** Whether the payload of a mutation has the field `query`. */
export const answersWithState = ({ extensions }: GraphQLField<unknown, unknown>): boolean =>
  extensions['answersWithState'] === true;

/** Whether a mutation checks credentials. */
export const provesIdentity = ({ extensions }: GraphQLField<unknown, unknown>): boolean =>
  extensions['provesIdentity'] === true;

/** Returns the fields that are neither undefined nor null. Used for inputs in which a null field is treated as absent. */
export function given<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}
