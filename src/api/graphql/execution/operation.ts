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
import { requireLive } from '../../../events/context.ts';
import type { Budget } from '../../../platform/budget.ts';
import type { Caller } from '../../../platform/caller.ts';
import { BadRequestError, ChatError, requireScopes, ValidationError } from '../../../platform/errors.ts';
import type { KeyScope } from '../../../platform/key-scopes.ts';
import { observeOperation } from '../../../platform/metrics.ts';
import { noteUser } from '../../../platform/request-note.ts';
import { inSpan } from '../../../platform/tracing.ts';
import { countMore, countRequest } from '../../rate-limits.ts';
import { introspects } from '../documents/introspection.ts';
import type { Cost, GraphQLContext } from '../loading/context.ts';
import { hasFailed, ignoresIdempotencyKey, rendersStoredData } from '../schema/mutation.ts';
import { awaitsPosition, reportPosition } from '../schema/positions.ts';
import { acknowledged } from '../schema/read-back.ts';
import { executorOf } from './executor.ts';
import { asksForState, executeOnSnapshot } from './on-snapshot.ts';

type Extensions = Readonly<Record<string, unknown>> | null | undefined;

/** The functions by which a transport authenticates the sender of an operation, and reports the sender's remaining budget. */
export interface Arrival {
  readonly signIn: () => Promise<RequestCtx>;
  /** The HTTP response. Absent for an operation on a WebSocket. */
  readonly answer?: ServerResponse;
  /** Called with the sender's remaining budget, even if the request is refused. */
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
 * Authenticates the sender of an operation, and counts the operation as one request. Must be called before the document is
 * parsed. So an operation whose document is refused counts as well, and the service parses no documents of a sender without
 * budget.
 *
 * @throws RateLimitHitError if no budget is left.
 * @throws UnauthorizedError, InvalidApiKeyError, OrganizationDeactivatedError, UserDeactivatedError or
 *   NonexistentSubdomainError if the sender cannot be authenticated.
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
 * Waits until the body of a request has arrived. Then calls `admitted`, which authenticates the sender and counts the request.
 * The request is counted even if the body is incomplete or too large.
 *
 * @throws The error with which `admitted` rejects, or else the error with which `arriving` rejects.
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
  /** Returns the scopes that an API key needs. Called only if the viewer's key is limited. @see Documents.scopes */
  readonly scopes: () => ReadonlySet<KeyScope>;
  readonly document: DocumentNode;
  /** The extensions that the client sent with the document. */
  readonly extensions: Extensions;
  /** The Idempotency-Key header of an HTTP request. It is used only if `extensions` contain no key. */
  readonly keyHeader?: string | string[] | undefined;
}

/**
 * Counts an operation as `cost.charged` requests. Because `admit` has counted one request, only the others are counted here. If
 * the budget is too small, the operation must not be executed.
 *
 * @returns The context for the resolvers of the operation.
 * @throws UnauthorizedError if an unauthenticated client requests the schema although introspection requires authentication.
 * @throws RateLimitHitError if the budget is too small.
 * @throws InsufficientScopeError if the viewer's API key lacks a scope.
 * @throws BadRequestError if the idempotency key is not a string.
 */
export async function beginOperation(
  app: App,
  { origin, request, budget, onBudget }: OperationSource,
  { cost, scopes, document, extensions, keyHeader }: Beginning,
): Promise<GraphQLContext> {
  await countMore(app, origin, request, { requests: cost.charged - 1, left: budget(), onBudget });
  if (request.viewer === null && !app.config.anonymousIntrospection && introspects(document)) {
    throw new UnauthorizedError('Introspection requires authentication');
  }
  if (request.viewer?.credential?.scopes !== undefined) requireScopes(request.viewer, [...scopes()]);
  const key = extensions?.['idempotencyKey'] ?? keyHeader;
  if (key !== undefined && typeof key !== 'string') throw new BadRequestError('"idempotencyKey" must be a string');
  return { ...request, cost, budget: budget(), idempotencyKey: key };
}

/**
 * Executes a query or mutation. The `extensions` of the result contain the cost of the operation and the remaining budget. A
 * mutation with an idempotency key is executed once. A repeated request with the same key gets the data of the first request.
 *
 * If spans are exported, the operation is recorded as a span.
 *
 * @see src/events/README.md#idempotency-keys
 */
export function executeOperation(args: ExecutionArgs): Promise<ExecutionResult> {
  return inSpan(
    () => spanOf(args),
    () => execute(args),
    ({ errors }) => ({ 'graphql.error.count': errors?.length ?? 0 }),
  );
}

/** Maximum length of an operation's name in a span, in characters. Longer names are cut. Clients choose the name. */
const MAX_SPAN_NAME_LENGTH = 100;

function spanOf({ document, operationName }: ExecutionArgs) {
  const { operation = 'unknown', name } = getOperationAST(document, operationName) ?? {};
  const shown = name?.value.slice(0, MAX_SPAN_NAME_LENGTH);
  return {
    name: shown === undefined ? operation : `${operation} ${shown}`,
    attributes: {
      'graphql.operation.type': operation,
      ...(shown !== undefined && { 'graphql.operation.name': shown }),
    },
  };
}

async function execute(args: ExecutionArgs): Promise<ExecutionResult> {
  const context = args.contextValue as GraphQLContext;
  const { cost, budget: rateLimit } = context;
  const extensions = { cost, ...(rateLimit !== undefined && { rateLimit }) };
  // Suggestions in error messages would reveal names of the schema to clients that cannot introspect it.
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
 * The error for an operation whose result must not be stored under its idempotency key. The changes are rolled back, and the
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
  const { app, work, viewer, idempotencyKey: key } = context;
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
    const data = await withIdempotencyKey(requireLive(work), record, (work) => execution(args, { ...context, work }), {
      rendersStoredData: rendersStoredData(field) && !selectsObjects(document),
    });
    return { data };
  } catch (error) {
    if (error instanceof NotKept) return error.result;
    throw error;
  }
}

/** Cached results of `selectsObjects`, by document. */
const selecting = new WeakMap<DocumentNode, boolean>();

/**
 * Returns whether a mutation document selects fields of objects in the payload. Such objects must be read in the transaction of
 * the change.
 */
function selectsObjects(document: DocumentNode): boolean {
  const known = selecting.get(document);
  if (known !== undefined) return known;
  let objects = 0;
  visit(document, {
    Field({ selectionSet }) {
      if (selectionSet !== undefined) objects++;
    },
  });
  // The count includes the payload itself, which is one object.
  selecting.set(document, objects > 1);
  return objects > 1;
}

/**
 * Executes a mutation that has an idempotency key, and returns its data.
 *
 * @throws NotKept if the mutation failed.
 * @throws The error of the mutation if it requires to run the mutation again from the start (`shouldRestart`), such as a
 *   serialization failure.
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
  // The transaction is rolled back, so the changes that `data` shows do not exist.
  if (data != null && errors !== undefined) throw new NotKept({ ...result, data: null });
  if (data == null || hasFailed(contextValue)) throw new NotKept(result);
  if (awaitsPosition(contextValue)) {
    contextValue.work.transaction?.whenLogged((position) => reportPosition(contextValue, data, position));
  }
  return data;
}

const isMutation = ({ document, operationName }: ExecutionArgs): boolean =>
  getOperationAST(document, operationName)?.operation === OperationTypeNode.MUTATION;

/**
 * Returns the mutation to which the idempotency key of an operation applies. Undefined if the operation is a query, or if the
 * mutation ignores keys.
 *
 * @throws ValidationError if there are several mutations. One of them could fail while another succeeds, but a key stands for a
 *   single outcome.
 */
function keyedField({ document, operationName, schema }: ExecutionArgs): GraphQLField<unknown, unknown> | undefined {
  const operation = getOperationAST(document, operationName);
  if (operation?.operation !== OperationTypeNode.MUTATION) return undefined;
  const [selection, ...others] = operation.selectionSet.selections;
  if (others.length > 0 || selection?.kind !== Kind.FIELD) {
    throw new ValidationError('An operation with an idempotency key must contain exactly one mutation');
  }
  const field = schema.getMutationType()?.getFields()[selection.name.value];
  return field === undefined || ignoresIdempotencyKey(field) ? undefined : field;
}
