import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  GraphQLError,
  type GraphQLField,
  getOperationAST,
  Kind,
  OperationTypeNode,
  print,
  visit,
} from 'graphql';
import { type App, chargedAccountOf, type RequestCtx } from '../../../access/context.ts';
import { UnauthorizedError } from '../../../access/errors.ts';
import { idempotencyKey, shouldRestart, withIdempotencyKey } from '../../../access/idempotency.ts';
import type { Budget } from '../../../platform/budget.ts';
import type { Caller } from '../../../platform/caller.ts';
import { BadRequestError, ChatError } from '../../../platform/errors.ts';
import { observeOperation } from '../../../platform/metrics.ts';
import { noteUser } from '../../../platform/request-note.ts';
import { countMore, countRequest } from '../../rate-limits.ts';
import { introspects } from '../documents/introspection.ts';
import type { Cost, GraphQLContext } from '../loading/context.ts';
import { hasFailed, ignoresIdempotencyKey, rendersFacts } from '../schema/mutation.ts';
import { awaitsPosition, reportPosition } from '../schema/positions.ts';
import { acknowledged } from '../schema/read-back.ts';
import { executorOf } from './executor.ts';
import { asksForState, executeOnSnapshot } from './on-snapshot.ts';

type Extensions = Readonly<Record<string, unknown>> | null | undefined;

/** The parts of a request that depend on the transport: how its sender is authenticated, and where the budget is reported. */
export interface Arrival {
  readonly signIn: () => Promise<RequestCtx>;
  /** The HTTP response. Absent for an operation on a WebSocket. */
  readonly answer?: ServerResponse;
  /** Called with the sender's remaining budget, also if the request is refused. */
  readonly onBudget?: (budget: Budget) => void;
}

/** The authenticated sender of an operation whose document has not been parsed yet. */
export interface OperationSource {
  readonly origin: IncomingMessage;
  readonly request: RequestCtx & { readonly caller: Caller };
  /** Returns the sender's remaining budget; undefined if requests are not limited. */
  readonly budget: () => Budget | undefined;
  readonly onBudget: (budget: Budget) => void;
}

/**
 * Authenticates the sender of an operation, and counts it as one request. Must be called before the document is parsed: a
 * refused document then counts as well, and a sender without budget cannot make the service parse more.
 *
 * @throws RateLimitHitError if no budget is left, and every error of `signIn`.
 */
export async function admit(
  app: App,
  origin: IncomingMessage,
  { signIn, answer, onBudget = () => {} }: Arrival,
): Promise<OperationSource> {
  let budget: Budget | undefined;
  const keep = (left: Budget) => {
    budget = left;
    onBudget(left);
  };
  const request = await countRequest(app, origin, signIn, { answer, onBudget: keep });
  if (request.viewer !== null) noteUser(request.viewer.id);
  return { origin, request, budget: () => budget, onBudget: keep };
}

/**
 * Waits until a request has arrived, then authenticates and counts its sender by `admitted`. The sender is counted even if the
 * body is incomplete or too large.
 *
 * @throws The error of `admitted`, or else that of `arriving`.
 */
export async function admitArrived<T>(
  arriving: Promise<T>,
  admitted: () => Promise<OperationSource>,
): Promise<{ readonly arrived: T; readonly sender: OperationSource }> {
  const [outcome] = await Promise.allSettled([arriving]);
  const sender = await admitted();
  if (outcome.status === 'rejected') throw outcome.reason;
  return { arrived: outcome.value, sender };
}

interface Beginning {
  readonly cost: Cost;
  readonly document: DocumentNode;
  /** The extensions that the client sent with the document. */
  readonly extensions: Extensions;
  /** The Idempotency-Key header of an HTTP request. It is used only if `extensions` contain no key. */
  readonly keyHeader?: string | string[] | undefined;
}

/**
 * Counts the remaining cost of an operation, whose first request `admit` has counted. If the budget is too small, the operation
 * must not be executed.
 *
 * @returns The context for the resolvers of the operation.
 * @throws UnauthorizedError if an unauthenticated client requests the schema although it is not public.
 * @throws RateLimitHitError if the budget is too small.
 * @throws BadRequestError if the idempotency key is not a string.
 */
export async function beginOperation(
  app: App,
  { origin, request, budget, onBudget }: OperationSource,
  { cost, document, extensions, keyHeader }: Beginning,
): Promise<GraphQLContext> {
  await countMore(app, origin, request, { requests: cost.charged - 1, left: budget(), onBudget });
  if (request.viewer === null && !app.config.anonymousIntrospection && introspects(document)) {
    throw new UnauthorizedError('Introspection requires authentication');
  }
  const key = extensions?.['idempotencyKey'] ?? keyHeader;
  if (key !== undefined && typeof key !== 'string') throw new BadRequestError('"idempotencyKey" must be a string');
  return { ...request, cost, budget: budget(), idempotencyKey: key };
}

/**
 * Executes a query or mutation. The `extensions` of the result contain the cost of the operation and the remaining budget. With
 * an idempotency key, a mutation is executed once; repetitions get the data of the first request.
 *
 * @see src/events/README.md#idempotency-keys
 */
export async function executeOperation(args: ExecutionArgs): Promise<ExecutionResult> {
  const context = args.contextValue as GraphQLContext;
  const { cost, budget: rateLimit } = context;
  const extensions = { cost, ...(rateLimit !== undefined && { rateLimit }) };
  // Error messages for clients that cannot introspect the schema contain no suggestions of names.
  const hideSuggestions = context.viewer === null && !context.app.config.anonymousIntrospection;
  const startedAt = performance.now();
  try {
    const { app, viewer } = context;
    const work = () => executeOnce({ ...args, hideSuggestions }, context);
    const result = await (viewer === null ? work() : app.accountLimiter.run(chargedAccountOf(viewer), work));
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

/**
 * Thrown if the result of an operation must not be stored under its idempotency key. The changes are rolled back, and the
 * client can repeat the request. Contains the result.
 */
class NotKept extends Error {
  readonly result: ExecutionResult;

  constructor(result: ExecutionResult) {
    super('The result is not stored');
    this.result = result;
  }
}

async function executeOnce(args: ExecutionArgs, context: GraphQLContext): Promise<ExecutionResult> {
  const { app, viewer, idempotencyKey: key } = context;
  if (viewer !== null && asksForState(args)) return executeOnSnapshot(args, context);
  const field = key === undefined ? undefined : keyedField(args);
  if (key === undefined || viewer === null || field === undefined) {
    const result = await executorOf(app.config)(args);
    return isMutation(args) ? acknowledged(result, context) : result;
  }
  const { document, operationName, variableValues } = args;
  const input = ['graphql', print(document), operationName ?? null, variableValues ?? null];
  try {
    const record = idempotencyKey({ app, viewer }, key, input);
    const data = await withIdempotencyKey(app, record, (app) => execution(args, { ...context, app }), {
      rendersFacts: rendersFacts(field) && !selectsObjects(document),
    });
    return { data };
  } catch (error) {
    if (error instanceof NotKept) return error.result;
    throw error;
  }
}

/** Results of `selectsObjects`. */
const selecting = new WeakMap<DocumentNode, boolean>();

/** Returns whether a document selects objects in the payload of a mutation. They must be read in the transaction of the change. */
function selectsObjects(document: DocumentNode): boolean {
  const known = selecting.get(document);
  if (known !== undefined) return known;
  let objects = 0;
  visit(document, {
    Field({ selectionSet }) {
      if (selectionSet !== undefined) objects++;
    },
  });
  // The payload itself is one.
  selecting.set(document, objects > 1);
  return objects > 1;
}

/**
 * Executes a mutation that has an idempotency key, and returns its data.
 *
 * @throws NotKept if the mutation failed. Also throws the errors for which `shouldRestart` is true: the mutation must then run
 *   again from the start.
 */
async function execution(
  args: ExecutionArgs,
  contextValue: GraphQLContext,
): Promise<NonNullable<ExecutionResult['data']>> {
  const result = await executorOf(contextValue.app.config)({ ...args, contextValue });
  const causes = result.errors?.map(({ originalError }) => originalError) ?? [];
  const reason = causes.find(shouldRestart);
  if (reason !== undefined) throw reason;
  const { data, errors } = result;
  // `data` is dropped, because the transaction is rolled back, and with it the changes that `data` shows.
  if (data != null && errors !== undefined) throw new NotKept({ ...result, data: null });
  if (data == null || hasFailed(contextValue)) throw new NotKept(result);
  if (awaitsPosition(contextValue)) {
    contextValue.app.transaction?.whenLogged((position) => reportPosition(contextValue, data, position));
  }
  return data;
}

const isMutation = ({ document, operationName }: ExecutionArgs): boolean =>
  getOperationAST(document, operationName)?.operation === OperationTypeNode.MUTATION;

/**
 * Returns the mutation to which the idempotency key of an operation applies. Undefined if the operation is a query, or if the
 * mutation ignores keys.
 *
 * @throws BadRequestError if there are several mutations: if only one of them failed, the key could stand for neither success
 *   nor failure.
 */
function keyedField({ document, operationName, schema }: ExecutionArgs): GraphQLField<unknown, unknown> | undefined {
  const operation = getOperationAST(document, operationName);
  if (operation?.operation !== OperationTypeNode.MUTATION) return undefined;
  const [selection, ...others] = operation.selectionSet.selections;
  if (others.length > 0 || selection?.kind !== Kind.FIELD) {
    throw new BadRequestError('An operation with an idempotency key must contain exactly one mutation');
  }
  const field = schema.getMutationType()?.getFields()[selection.name.value];
  return field === undefined || ignoresIdempotencyKey(field) ? undefined : field;
}
