import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  execute,
  GraphQLError,
  type GraphQLField,
  getOperationAST,
  Kind,
  OperationTypeNode,
  print,
} from 'graphql';
import type { App, RequestCtx } from '../../access/context.ts';
import { UnauthorizedError } from '../../access/errors.ts';
import { idempotencyKey, shouldRestart, withIdempotencyKey } from '../../access/idempotency.ts';
import { NeedsTransaction } from '../../access/reply-first.ts';
import type { Budget } from '../../platform/budget.ts';
import type { Caller } from '../../platform/caller.ts';
import { BadRequestError, ChatError } from '../../platform/errors.ts';
import { observeOperation } from '../../platform/metrics.ts';
import { noteUser } from '../../platform/request-note.ts';
import { countMore, countRequest } from '../rate-limits.ts';
import { asksForState, executeAtOnce } from './at-once.ts';
import type { Cost, GraphQLContext } from './context.ts';
import { introspects } from './documents.ts';
import { hasFailed, ignoresIdempotencyKey, repliesFirst } from './mutation.ts';
import { executeDocument } from './plans/queries.ts';
import { awaitsPosition, tellPosition } from './positions.ts';
import { acknowledged } from './read-back.ts';

type Extensions = Readonly<Record<string, unknown>> | null | undefined;

/** How an operation arrives. */
export interface Arrival {
  readonly signIn: () => Promise<RequestCtx>;
  /** What the answer goes out by, over HTTP. */
  readonly answer?: ServerResponse;
  /** Called with what is left of the caller's budget, also when the request is refused. */
  readonly told?: (budget: Budget) => void;
}

/** Who sends an operation, of which nothing was looked at. */
export interface Sender {
  readonly origin: IncomingMessage;
  readonly request: RequestCtx & { readonly caller: Caller };
  /** What is left of their budget. */
  readonly budget: () => Budget | undefined;
  readonly told: (budget: Budget) => void;
}

/**
 * Signs in whoever sends an operation, and counts it as one request, before its document is read: so what is refused
 * there counts as well, and who has nothing left cannot have the service read on.
 *
 * @throws RateLimitHitError, and what `signIn` throws.
 */
export async function admit(
  app: App,
  origin: IncomingMessage,
  { signIn, answer, told = () => {} }: Arrival,
): Promise<Sender> {
  let budget: Budget | undefined;
  const keep = (left: Budget) => {
    budget = left;
    told(left);
  };
  const request = await countRequest(app, origin, signIn, { answer, told: keep });
  if (request.viewer !== null) noteUser(request.viewer.id);
  return { origin, request, budget: () => budget, told: keep };
}

/**
 * Waits for what a request holds, and admits its sender then: also when it breaks off or is too much, and before anything
 * looks into it.
 *
 * @throws What `admitted` throws; else what `arriving` failed with.
 */
export async function admitArrived<T>(
  arriving: Promise<T>,
  admitted: () => Promise<Sender>,
): Promise<{ readonly arrived: T; readonly sender: Sender }> {
  const [outcome] = await Promise.allSettled([arriving]);
  const sender = await admitted();
  if (outcome.status === 'rejected') throw outcome.reason;
  return { arrived: outcome.value, sender };
}

interface Beginning {
  readonly cost: Cost;
  readonly document: DocumentNode;
  /** What the client sent beside the document. */
  readonly extensions: Extensions;
  /** The idempotency key of an HTTP request, where `extensions` have none. */
  readonly keyHeader?: string | string[] | undefined;
}

/**
 * Counts all that an operation is to do: nothing is executed of what does not fit into the budget.
 *
 * @returns What its resolvers are given.
 * @throws UnauthorizedError where strangers are not told the schema, and one asks for it.
 * @throws RateLimitHitError, and BadRequestError for a key that is no text.
 */
export async function beginOperation(
  app: App,
  { origin, request, budget, told }: Sender,
  { cost, document, extensions, keyHeader }: Beginning,
): Promise<GraphQLContext> {
  await countMore(app, origin, request, { requests: cost.charged - 1, left: budget(), told });
  if (request.viewer === null && !app.config.anonymousIntrospection && introspects(document)) {
    throw new UnauthorizedError('The schema is told to those who are signed in');
  }
  const key = extensions?.['idempotencyKey'] ?? keyHeader;
  if (key !== undefined && typeof key !== 'string') throw new BadRequestError('"idempotencyKey" must be text');
  return { ...request, cost, budget: budget(), idempotencyKey: key };
}

/**
 * Executes a query or mutation, and tells in `extensions` what it cost and what is left. A mutation under an idempotency
 * key is executed once: a repetition gets the first one's data.
 *
 * @see src/events/README.md#idempotency-keys
 */
export async function executeOperation(args: ExecutionArgs): Promise<ExecutionResult> {
  const context = args.contextValue as GraphQLContext;
  const { cost, budget: rateLimit } = context;
  const extensions = { cost, ...(rateLimit !== undefined && { rateLimit }) };
  // To strangers, as the schema itself.
  const hideSuggestions = context.viewer === null && !context.app.config.anonymousIntrospection;
  const startedAt = performance.now();
  try {
    const { app, viewer } = context;
    const work = () => executeOnce({ ...args, hideSuggestions }, context);
    const result = await (viewer === null ? work() : app.shares.run(viewer.id, work));
    return { ...result, extensions: { ...extensions, ...result.extensions } };
  } catch (error) {
    if (!(error instanceof ChatError)) throw error;
    return { errors: [new GraphQLError(error.message, { originalError: error })], extensions };
  } finally {
    observe(args, context, performance.now() - startedAt);
  }
}

function observe({ document, operationName }: ExecutionArgs, { viewer }: GraphQLContext, ms: number): void {
  const operation = getOperationAST(document, operationName);
  if (operation == null) return;
  const { name, operation: type } = operation;
  observeOperation({ name: name?.value, type, isKnown: viewer !== null }, ms / 1000);
}

/** What an operation came to that is not to be kept: its changes are undone, and it may be sent again. */
class NotKept extends Error {
  readonly result: ExecutionResult;

  constructor(result: ExecutionResult) {
    super('Not kept');
    this.result = result;
  }
}

async function executeOnce(args: ExecutionArgs, context: GraphQLContext): Promise<ExecutionResult> {
  const { app, viewer, idempotencyKey: key } = context;
  if (viewer !== null && asksForState(args)) return executeAtOnce(args, context);
  const field = key === undefined ? undefined : keyedField(args);
  if (key === undefined || viewer === null || field === undefined) {
    const result = await executeDocument(args);
    return isMutation(args) ? acknowledged(result, context) : result;
  }
  const { document, operationName, variableValues } = args;
  const input = ['graphql', print(document), operationName ?? null, variableValues ?? null];
  try {
    const record = idempotencyKey({ app, viewer }, key, input);
    const data = await withIdempotencyKey(app, record, (app) => execution(args, { ...context, app }), {
      repliesFirst: repliesFirst(field) && !readingBack.has(document),
    });
    return { data };
  } catch (error) {
    if (error instanceof NotKept) return error.result;
    throw error;
  }
}

/** Documents that ask for more than is known before their change is made. */
const readingBack = new WeakSet<DocumentNode>();

/** @throws NotKept when the mutation failed; what has it begin anew. */
async function execution(
  args: ExecutionArgs,
  contextValue: GraphQLContext,
): Promise<NonNullable<ExecutionResult['data']>> {
  const result = await execute({ ...args, contextValue });
  const causes = result.errors?.map(({ originalError }) => originalError) ?? [];
  const reason = causes.find(shouldRestart);
  if (reason instanceof NeedsTransaction) readingBack.add(args.document);
  if (reason !== undefined) throw reason;
  const { data, errors } = result;
  // What else it answers with is undone, too.
  if (data != null && errors !== undefined) throw new NotKept({ ...result, data: null });
  if (data == null || hasFailed(contextValue)) throw new NotKept(result);
  if (awaitsPosition(contextValue)) {
    contextValue.app.transaction?.whenLogged((position) => tellPosition(contextValue, data, position));
  }
  return data;
}

const isMutation = ({ document, operationName }: ExecutionArgs): boolean =>
  getOperationAST(document, operationName)?.operation === OperationTypeNode.MUTATION;

/**
 * The mutation of an operation that a key applies to: of all mutations but those that ignore keys.
 *
 * @throws BadRequestError when it makes several: one may fail and another not, and then it is neither done nor undone.
 */
function keyedField({ document, operationName, schema }: ExecutionArgs): GraphQLField<unknown, unknown> | undefined {
  const operation = getOperationAST(document, operationName);
  if (operation?.operation !== OperationTypeNode.MUTATION) return undefined;
  const [selection, ...others] = operation.selectionSet.selections;
  if (others.length > 0 || selection?.kind !== Kind.FIELD) {
    throw new BadRequestError('Under an idempotency key an operation must be one mutation');
  }
  const field = schema.getMutationType()?.getFields()[selection.name.value];
  return field === undefined || ignoresIdempotencyKey(field) ? undefined : field;
}
