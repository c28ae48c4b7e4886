import type { InputFieldMap, InputShapeFromFields, ShapeFromTypeParam, TypeParam } from '@pothos/core';
import { type GraphQLField, type GraphQLResolveInfo, responsePathAsArray as responsePath } from 'graphql';
import { type Ctx, type RequestCtx, signedIn } from '../../access/context.ts';
import { NeedsTransaction } from '../../access/reply-first.ts';
import { observingChanges } from '../../events/act.ts';
import { AbandonedError, BadRequestError, ChatError, RequestTimeoutError } from '../../platform/errors.ts';
import { observeRefusal } from '../../platform/metrics.ts';
import { builder, type Types } from './builder.ts';
import { noteInputPath } from './input-path.ts';
import { notePosition } from './positions.ts';
import { isOutOfReach, noteUnread } from './read-back.ts';
import { refersTo } from './refs.ts';

type ErrorClass = abstract new (...args: never[]) => ChatError;

interface PayloadField {
  readonly type: TypeParam<Types>;
  /** Whether `resolve` may give null. */
  readonly nullable?: boolean;
  /** Whether it is known whatever becomes of the database: of what makes no change but a place to read from. */
  readonly isAlwaysThere?: true;
  readonly description?: string;
  /** Of type ID: the type whose objects it names. `resolve` gives the numbers of their rows. */
  readonly refersTo?: string;
}

type PayloadShape<P extends Record<string, PayloadField>> = {
  [K in keyof P]: ValueOf<P[K]> | ReadBack<ValueOf<P[K]>>;
};
type ValueOf<F extends PayloadField> = ShapeFromTypeParam<Types, F['type'], F['nullable'] extends true ? true : false>;

/** What is read after the change, only where it is asked for. */
class ReadBack<V> {
  readonly read: () => Promise<V>;

  constructor(read: () => Promise<V>) {
    this.read = read;
  }
}

/** Has a field of a payload read when somebody asks for it. */
export const whenAsked = <V>(read: () => Promise<V>): ReadBack<V> => new ReadBack(read);

/** @throws NeedsTransaction when the change is still to be made. */
function resolved<V>(value: V | ReadBack<V>, { app }: RequestCtx): V | Promise<V> {
  if (!(value instanceof ReadBack)) return value;
  if (app.replyFirst !== undefined) throw new NeedsTransaction();
  return value.read();
}

interface MutationOptions<C, I extends InputFieldMap, P extends Record<string, PayloadField>> {
  readonly description: string;
  /** The fields of the input object, required where nothing else is said. Absent: the mutation takes none. */
  readonly input?: (t: PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>) => I;
  /**
   * The fields of the payload; `resolve` returns one property for each. A function, so that features may refer to each
   * other's types.
   */
  readonly payload: () => P;
  /** What the act can end in, besides the errors every mutation can. Subclasses are told apart from their parents. */
  readonly errors?: readonly ErrorClass[];
  /**
   * True for mutations that are only of the moment, take long, call another service or answer with an API key: a stored
   * reply would be useless, or too sensitive to keep.
   */
  readonly ignoresIdempotencyKey?: true;
  /** True for what tries credentials: an operation may do so once. */
  readonly provesIdentity?: true;
  /** True for what makes one change by `app.replyFirst`, where there is such. */
  readonly repliesFirst?: true;
  /**
   * True where the payload has `query`, for all that can be asked for: an operation that does is answered from one moment,
   * `app.snapshot`, and can change nothing but what it leaves for afterwards.
   */
  readonly answersWithState?: true;
  readonly resolve: (ctx: C, input: InputShapeFromFields<I>) => Promise<PayloadShape<P>>;
}

/** A bad value, and a database that is too busy. */
const ERRORS_OF_ALL = [BadRequestError, RequestTimeoutError];

/**
 * Adds a mutation for signed-in viewers: `createDrafts(input: CreateDraftsInput!): CreateDraftsResult!`, whose result is
 * `CreateDraftsPayload` or one of the errors. An expected failure that is not listed is a top-level error.
 *
 * @see src/api/README.md#rest-and-graphql
 */
export function mutation<I extends InputFieldMap, P extends Record<string, PayloadField>>(
  name: string,
  options: MutationOptions<Ctx, I, P>,
): void {
  addMutation(name, options, signedIn);
}

/** Adds a mutation for everybody, signed in or not. */
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
    repliesFirst,
    answersWithState,
    resolve,
  }: MutationOptions<C, I, P>,
  contextOf: (ctx: RequestCtx) => C,
): void {
  const typeName = `${name[0]?.toUpperCase()}${name.slice(1)}`;
  const Input =
    input &&
    builder.inputType(`${typeName}Input`, { description: `What \`${name}\` takes. ${description}`, fields: input });
  const Payload = builder.objectRef<PayloadShape<P>>(`${typeName}Payload`);
  Payload.implement({
    description: PAYLOAD,
    fields: (t) => ({
      ...positionField(t as never),
      ...Object.fromEntries(
        Object.entries(payload()).map(([field, { refersTo: typename, isAlwaysThere, ...options }]) => {
          const named = typename === undefined ? {} : refersTo(typename);
          const resolve = (payload: Record<string, unknown>, _args: unknown, ctx: RequestCtx) =>
            resolved(payload[field], ctx);
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
        union: { description: `What \`${name}\` ends in: its payload, or an error that can be expected.` },
      },
      args: Input === undefined ? {} : { input: t.arg({ type: Input, description: 'What it goes by.' }) },
      extensions: { ignoresIdempotencyKey, provesIdentity, repliesFirst, answersWithState },
      resolve: (async (
        _root: unknown,
        { input = {} }: { input?: unknown },
        ctx: RequestCtx,
        { path, parentType, fieldName }: GraphQLResolveInfo,
      ) => {
        const outcome = await observingChanges(async () => {
          // The mutations of an operation run one after another: once the client is gone, the next one is not begun.
          if (ctx.caller?.isGone === true) throw new AbandonedError();
          return resolve(contextOf(ctx), input as InputShapeFromFields<I>);
        });
        const { position } = outcome;
        // One that says where something else stands has a position of its own.
        if ('value' in outcome) return { position, ...outcome.value };
        // Who signs in wants the key: that the first login is recorded is no answer to them.
        if (outcome.isMade && provesIdentity !== true && isOutOfReach(outcome.error)) {
          noteUnread(ctx, [path.key]);
          return { position };
        }
        failed.add(ctx);
        // What is only tried before its change is made anew, and fails again.
        if (ctx.app.replyFirst === undefined && outcome.error instanceof ChatError) {
          observeRefusal('graphql', outcome.error.code, outcome.error);
        }
        noteInputPath(outcome.error, parentType.getFields()[fieldName]?.args ?? []);
        throw outcome.error;
      }) as never,
    }),
  );
}

/** Where the change stands in the log, which every payload tells. */
const positionField = (t: PothosSchemaTypes.ObjectFieldBuilder<Types, { readonly position: number | null }>) => ({
  position: t.field({
    type: 'LongId',
    nullable: true,
    description:
      'The position of the last event that tells of the change: once an event of this position or a higher one has come, ' +
      'so has all of the change, and what was shown of it meanwhile can go. It may be an event that others hear, not the ' +
      'viewer: a heartbeat passes it at the latest. Null where nothing was changed, and where nobody is told.',
    resolve: ({ position }, _args, ctx, { path }) => {
      if (ctx.app.replyFirst !== undefined) return ctx.app.replyFirst.position;
      // Under an idempotency key nothing is logged before all else is read.
      if (ctx.app.transaction !== undefined) notePosition(ctx, responsePath(path));
      return position;
    },
  }),
});

/** All that can be asked for, as it is where the payload stands. */
const stateField = (t: PothosSchemaTypes.ObjectFieldBuilder<Types, object>) => ({
  query: t.field({
    type: 'Query' as never,
    description:
      'What can be read, as it is at `position`: what earlier events tell is in it, and nothing of later ones. All of it is ' +
      'of one moment. The mutation must be the only field of its operation then. `events` is refused here.',
    // What is below counts as it does at the root.
    complexity: 0,
    resolve: (_payload, _args, { app }) => {
      if (app.snapshot === undefined) throw new Error('The operation is executed outside of a snapshot');
      return {} as never;
    },
  }),
});

const PAYLOAD =
  'What the change came to. Where the database went away after it was made, what could not be read is null, and ' +
  '`extensions.notReadBack` of the reply has its path: the change was made all the same, and is not to be sent again.';

/** Operations with a mutation that failed, which a result of typed errors does not tell. */
const failed = new WeakSet<RequestCtx>();

/** Whether a mutation of the operation that was given `ctx` ended in an error, typed or not. */
export const hasFailed = (ctx: RequestCtx): boolean => failed.has(ctx);

/** Whether idempotency keys mean nothing to a mutation. */
export const ignoresIdempotencyKey = ({ extensions }: GraphQLField<unknown, unknown>): boolean =>
  extensions['ignoresIdempotencyKey'] === true;

/** Whether a mutation can be answered before its change is made. */
export const repliesFirst = ({ extensions }: GraphQLField<unknown, unknown>): boolean =>
  extensions['repliesFirst'] === true;

/** Whether the payload of a mutation has `query`. */
export const answersWithState = ({ extensions }: GraphQLField<unknown, unknown>): boolean =>
  extensions['answersWithState'] === true;

/** Whether a mutation tries credentials. */
export const provesIdentity = ({ extensions }: GraphQLField<unknown, unknown>): boolean =>
  extensions['provesIdentity'] === true;

/** The fields that were given: neither left out nor null. For inputs where null means nothing of its own. */
export function given<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}
