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
import { type App, type Ctx, type RequestCtx, signedIn } from '../../access/context.ts';
import { readerAccess } from '../../access/sign-in.ts';
import { checkPosition } from '../../events/queue.ts';
import { EventStream, type StreamSink } from '../../events/stream.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { shareOfHeap } from '../../platform/memory.ts';
import { bytesOf } from './documents.ts';
import { EventOperation, type Run } from './event-operation.ts';
import { rootField } from './root-field.ts';

/** A subscription that is about to start: what it reads, and what it makes of it. */
export interface Subscription {
  readonly queueId: string;
  readonly after: number | undefined;
  readonly operation: EventOperation;
}

/** Our choice: a front end has some tens of documents; the rest is somebody inlining ids. */
const MAX_SHARED = 1_000;
/** Our choice. A process with a heap of less than a gigabyte keeps less. */
const MAX_SHARED_BYTES = shareOfHeap(1 / 32, 32 * 1024 * 1024);
/** What a character of a key takes at the most: it stands for a value of the variables, such as one of a list of short texts. */
const VARIABLE_BYTES = 16;
const shared = new WeakMap<GraphQLSchema, LRUCache<string, EventOperation>>();

/**
 * Works out what a validated subscription document reads.
 *
 * @returns The subscription, or the errors in its variables.
 * @throws BadRequestError when the operation is not a subscription to events.
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
 * The operation shared by all who sent this document. The variables that name a reader's queue and position are left
 * out of the key, as are those the document does not declare, and empty values stand in for them in the execution: nothing below the root can read them.
 */
function sharedOperation(
  schema: GraphQLSchema,
  document: DocumentNode,
  { operationName, variables, log, own }: Run & { readonly own: ReadonlySet<string> },
): EventOperation {
  const uses = usesOf(document);
  const apart = [...own].filter((name) => uses.get(name) === 1);
  const rest = Object.fromEntries(Object.entries(variables).filter(([name]) => !apart.includes(name)));
  const key = JSON.stringify([print(document), operationName ?? null, Object.entries(rest).sort()]);
  let operations = shared.get(schema);
  if (operations === undefined) {
    operations = new LRUCache({ max: MAX_SHARED, maxSize: MAX_SHARED_BYTES });
    shared.set(schema, operations);
  }
  let operation = operations.get(key);
  if (operation === undefined) {
    // `String!` takes any text; `LongId` takes any number: neither changes what the event's fields show.
    const standIns = Object.fromEntries(apart.map((name) => [name, typeof variables[name] === 'number' ? 0 : '']));
    const stood = Object.fromEntries(Object.entries(standIns).filter(([name]) => variables[name] != null));
    operation = new EventOperation(schema, document, { operationName, variables: { ...rest, ...stood }, log });
    operations.set(key, operation, { size: bytesOf(document) + VARIABLE_BYTES * key.length });
  }
  return operation;
}

/** How often each variable is read, its definition aside. */
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

/** Our choices. A client that leaves more than this unread is cut off, and resumes where it was. */
export const MAX_UNREAD_BYTES = 8 * 1024 * 1024;
/** Of a user who leaves too much unread in all, it is the streams with more than this that are cut off. */
const FAIR_UNREAD_BYTES = 512 * 1024;

/** Whether a stream with so much unread is to be cut off. */
export const isTooMuch = (unreadBytes: number, userIsOver: () => boolean): boolean =>
  unreadBytes > MAX_UNREAD_BYTES || (unreadBytes > FAIR_UNREAD_BYTES && userIsOver());

/** Whether the viewer leaves too much unread, over all their clients. */
export const isOver = (app: App, { viewer }: RequestCtx): boolean => viewer !== null && app.unread.isOver(viewer.id);

/**
 * Opens the queue a subscription names and starts to send its events: after the greatest of what was acknowledged, the
 * subscription's own `after`, and `told`. Clients send their first variables again after a break, so that `after` stays
 * where it was, and what they tell with the connection moves on.
 *
 * @param told The position the client told beside the document.
 * @throws BadEventQueueIdError when the queue or the position is lost, UnauthorizedError when nobody is signed in.
 */
export async function openSubscription(
  request: RequestCtx,
  { queueId, after }: Pick<Subscription, 'queueId' | 'after'>,
  { told, sink }: { readonly told: number | undefined; readonly sink: StreamSink },
): Promise<EventStream> {
  const ctx: Ctx = signedIn(request);
  const queue = await ctx.app.queues.open(ctx, queueId, { claim: true });
  const known = [after, told].filter((position) => position !== undefined);
  if (known.length > 0) queue.acknowledge(await checkPosition(ctx.app, queue, Math.max(...known)));
  return new EventStream(ctx.app, queue, { known: queue.acked, sink, access: readerAccess(ctx) });
}
