import {
  BREAK,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  GraphQLError,
  getOperationAST,
  getVariableValues,
  OperationTypeNode,
  visit,
} from 'graphql';
import { signedIn } from '../../../access/context.ts';
import { answerAtOnce } from '../../../access/snapshot.ts';
import { expectedError } from '../../../platform/db/errors.ts';
import { BadRequestError, ChatError } from '../../../platform/errors.ts';
import { selectedFields } from '../documents/selected-fields.ts';
import type { GraphQLContext } from '../loading/context.ts';
import { answersWithState } from '../schema/mutation.ts';
import { executorOf } from './executor.ts';

/** The payload field that exposes the whole state that the viewer can read. */
const STATE = 'query';

/**
 * Whether an operation selects the field `query` in the payload of a mutation. The operation must then be executed by
 * `executeOnSnapshot`.
 *
 * @throws BadRequestError if it does, and has other root fields.
 */
export function asksForState({ schema, document, operationName, variableValues }: ExecutionArgs): boolean {
  if (!mentionsState(document)) return false;
  const operation = getOperationAST(document, operationName);
  if (operation?.operation !== OperationTypeNode.MUTATION) return false;
  const { selectionSet, variableDefinitions = [] } = operation;
  const { coerced } = getVariableValues(schema, variableDefinitions, { ...variableValues });
  // Execution refuses variables of the wrong type before it resolves any field.
  if (coerced === undefined) return false;
  const definitions = schema.getMutationType()?.getFields() ?? {};
  const acts = [...selectedFields(document, coerced, [selectionSet]).values()];
  const asking = acts.filter((nodes) => {
    const definition = definitions[nodes[0]?.name.value ?? ''];
    if (definition === undefined || !answersWithState(definition)) return false;
    const sets = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
    return [...selectedFields(document, coerced, sets).values()].some(([field]) => field?.name.value === STATE);
  });
  if (asking.length > 0 && acts.length > 1) {
    throw new BadRequestError(`An operation that selects "${STATE}" of a mutation must contain only that mutation`);
  }
  return asking.length > 0;
}

const mentioning = new WeakMap<DocumentNode, boolean>();

function mentionsState(document: DocumentNode): boolean {
  const known = mentioning.get(document);
  if (known !== undefined) return known;
  let found = false;
  visit(document, {
    Field({ name: { value } }) {
      if (value !== STATE) return undefined;
      found = true;
      return BREAK;
    },
  });
  mentioning.set(document, found);
  return found;
}

/**
 * Thrown to end the snapshot of an operation that failed, so that no deferred work runs. Contains the result of the operation.
 */
class Failed extends Error {
  readonly result: ExecutionResult;

  constructor(result: ExecutionResult) {
    super('Failed');
    this.result = result;
  }
}

/**
 * Executes an operation that selects `query` in the payload of a mutation, on one database snapshot. If a service refuses a
 * field, only that field has an error. Any other error fails the whole operation, because it can end the snapshot. Fields that
 * were read later could then not be distinguished from valid ones.
 *
 * @throws RequestTimeoutError if the database could not be read in time.
 */
export async function executeOnSnapshot(args: ExecutionArgs, context: GraphQLContext): Promise<ExecutionResult> {
  try {
    return await answerAtOnce(signedIn(context), async ({ app, viewer }) => {
      const contextValue = { ...context, app, viewer, realm: viewer.realm };
      const result = await executorOf(app.config)({ ...args, contextValue });
      const faults = result.errors?.filter(isFault) ?? [];
      const expected = faults.map(({ originalError }) => expectedError(originalError)).find((known) => known);
      if (expected !== undefined) throw expected;
      if (faults.length > 0) throw new Failed({ data: null, errors: faults });
      if (result.data == null) throw new Failed(result);
      return result;
    });
  } catch (error) {
    if (error instanceof Failed) return error.result;
    throw expectedError(error) ?? error;
  }
}

/** Whether an error was thrown neither by a service as a refusal nor by GraphQL itself: a bug, or a failure of the database. */
const isFault = ({ originalError }: GraphQLError): boolean =>
  originalError !== undefined && !(originalError instanceof ChatError) && !(originalError instanceof GraphQLError);
