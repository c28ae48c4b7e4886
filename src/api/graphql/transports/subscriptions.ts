import {
  type DocumentNode,
  type GraphQLError,
  type GraphQLSchema,
  getArgumentValues,
  getOperationAST,
  getVariableValues,
  Kind,
  print,
  visit,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { type Ctx, chargedAccountOf, type RequestCtx, type Runtime, signedIn } from '../../../access/context.ts';
import { readerAccess } from '../../../access/sign-in.ts';
import { requireLive } from '../../../events/context.ts';
import { checkPosition } from '../../../events/queue.ts';
import { EventStream, type StreamSink } from '../../../events/stream.ts';
import { BadRequestError } from '../../../platform/errors.ts';
import { shareOfHeap } from '../../../platform/memory.ts';
import { bytesOf } from '../documents/documents.ts';
import { EventOperation, type Run } from '../execution/event-operation.ts';
import { rootField } from '../schema/root-field.ts';

/** A subscription that is about to start: its event queue, its start position in the event log, and its operation. */
export interface Subscription {
  readonly queueId: string;
  readonly after: number | undefined;
  readonly operation: EventOperation;
}

/**
 * Maximum number of cached operations that subscriptions share. Beyond it, the operation used least recently is dropped from
 * the cache. A front end has a few dozen documents. Only clients that write ids into documents, instead of variables, need
 * more.
 */
const MAX_SHARED = 1_000;
/**
 * Maximum memory use of the cached operations that subscriptions share, in bytes. Beyond it, the operation used least recently
 * is dropped from the cache. The maximum is lower for a process with a heap of less than a gigabyte.
 */
const MAX_SHARED_BYTES = shareOfHeap(1 / 32, 32 * 1024 * 1024);
/**
 * Upper bound of the memory use of variables, in bytes per character of the cache key. One character of the key can stand for a
 * whole value in memory, such as an item in a list of short texts.
 */
const VARIABLE_BYTES = 16;
const shared = new WeakMap<GraphQLSchema, LRUCache<string, EventOperation>>();

/**
 * Returns the queue, position and operation of a validated subscription document.
 *
 * @returns The subscription, or the errors in its variables.
 * @throws BadRequestError if the operation is not a subscription to events.
 */
export function prepareSubscription(
  schema: GraphQLSchema,
  document: DocumentNode,
  { operationName, variables, log }: Run,
): Subscription | { readonly errors: readonly GraphQLError[] } {
  const operation = getOperationAST(document, operationName);
  const definition = schema.getSubscriptionType()?.getFields()['events'];
  if (operation?.operation !== 'subscription' || definition === undefined)
    throw new BadRequestError('Not a subscription');
  const coerced = getVariableValues(schema, operation.variableDefinitions ?? [], variables);
  if (coerced.errors !== undefined) return { errors: coerced.errors };
  const field = rootField(document, operation);
  const { queueId, after } = getArgumentValues(definition, field, coerced.coerced);
  const own = new Set(
    (field.arguments ?? []).flatMap(({ value }) => (value.kind === Kind.VARIABLE ? [value.name.value] : [])),
  );
  const names = new Set(operation.variableDefinitions?.map(({ variable }) => variable.name.value));
  const declared = Object.fromEntries(Object.entries(variables).filter(([name]) => names.has(name)));
  return {
    queueId: queueId as string,
    after: (after as number | null | undefined) ?? undefined,
    operation: sharedOperation(schema, document, { operationName, variables: declared, log, own }),
  };
}

/**
 * Returns the operation that all subscriptions with this document and these variables share. The variables `own` contain the
 * queue and position of one client. If such a variable is used nowhere else, no field below the root can read it. It is then
 * not compared, and a constant replaces it in the shared operation.
 */
function sharedOperation(
  schema: GraphQLSchema,
  document: DocumentNode,
  { operationName, variables, log, own }: Run & { readonly own: ReadonlySet<string> },
): EventOperation {
  const uses = usesOf(document);
  const readerVariables = [...own].filter((name) => uses.get(name) === 1);
  const commonVariables = Object.fromEntries(
    Object.entries(variables).filter(([name]) => !readerVariables.includes(name)),
  );
  const key = JSON.stringify([print(document), operationName ?? null, Object.entries(commonVariables).sort()]);
  let operations = shared.get(schema);
  if (operations === undefined) {
    operations = new LRUCache({ max: MAX_SHARED, maxSize: MAX_SHARED_BYTES });
    shared.set(schema, operations);
  }
  let operation = operations.get(key);
  if (operation === undefined) {
    // `String!` accepts any text and `LongId` any number, and neither affects the fields of the event.
    const constants = Object.fromEntries(
      readerVariables.map((name) => [name, typeof variables[name] === 'number' ? 0 : '']),
    );
    const givenConstants = Object.fromEntries(Object.entries(constants).filter(([name]) => variables[name] != null));
    operation = new EventOperation(schema, document, {
      operationName,
      variables: { ...commonVariables, ...givenConstants },
      log,
    });
    operations.set(key, operation, { size: bytesOf(document) + VARIABLE_BYTES * key.length });
  }
  return operation;
}

/** Returns the number of uses of each variable, without its definition. */
function usesOf(document: DocumentNode): Map<string, number> {
  const uses = new Map<string, number>();
  visit(document, {
    VariableDefinition: () => false,
    Variable({ name }) {
      uses.set(name.value, (uses.get(name.value) ?? 0) + 1);
    },
  });
  return uses;
}

/**
 * Maximum outbound backlog of a stream, in bytes. If the backlog is larger, the client is disconnected, and later resumes at
 * its position.
 */
export const MAX_UNREAD_BYTES = 8 * 1024 * 1024;
/**
 * Maximum outbound backlog of a stream, in bytes, while the total backlog of all the user's clients is too large. If the
 * backlog is larger, the client is disconnected, and later resumes at its position.
 */
const FAIR_UNREAD_BYTES = 512 * 1024;

/** Returns whether a stream with this outbound backlog must be disconnected. */
export const isTooMuch = (unreadBytes: number, userIsOver: () => boolean): boolean =>
  unreadBytes > MAX_UNREAD_BYTES || (unreadBytes > FAIR_UNREAD_BYTES && userIsOver());

/** Returns whether the total outbound backlog of all the viewer's clients is too large. */
export const isOver = (app: Runtime, { viewer }: RequestCtx): boolean =>
  viewer !== null && app.outboundBacklog.isOver(chargedAccountOf(viewer));

/**
 * Opens the queue of a subscription, and creates its event stream. The stream begins after the greatest of three positions: the
 * last acknowledged position of the queue, `after` of the subscription, and `lastReceived`. When clients reconnect, they repeat
 * the subscription with an outdated `after`, but send a new `lastReceived`.
 *
 * @param lastReceived Position that the client sent outside the document, as Last-Event-ID or in `connection_init`.
 * @throws BadEventQueueIdError if the queue does not exist or has ended, or if the log has not reached the position.
 * @throws UnauthorizedError if the request is not authenticated.
 */
export async function openSubscription(
  request: RequestCtx,
  { queueId, after }: Pick<Subscription, 'queueId' | 'after'>,
  { lastReceived, sink }: { readonly lastReceived: number | undefined; readonly sink: StreamSink },
): Promise<EventStream> {
  const ctx: Ctx = signedIn(request);
  const { app } = requireLive(ctx.work);
  const queue = await app.queues.open(ctx, queueId, { claim: true });
  const known = [after, lastReceived].filter((position) => position !== undefined);
  if (known.length > 0) queue.acknowledge(await checkPosition(app, queue, Math.max(...known)));
  return new EventStream(app, queue, { known: queue.acked, sink, access: readerAccess(ctx) });
}
