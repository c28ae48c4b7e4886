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
import { ChatError, ValidationError } from '../../../platform/errors.ts';
import { selectedFields } from '../documents/selected-fields.ts';
import type { GraphQLContext } from '../loading/context.ts';
import { answersWithState } from '../schema/mutation.ts';
import { executorOf } from './executor.ts';

/** Name of the payload field that exposes the whole state that the viewer can read. */
const STATE = 'query';

/**
 * Returns whether an operation selects the field `query` in the payload of a mutation. If so, the operation must be executed
 * by `executeOnSnapshot`.
 *
 * @throws ValidationError if the operation selects `query` of a mutation and has other root fields.
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
    throw new ValidationError(`An operation that selects "${STATE}" of a mutation must contain only that mutation`);
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
 * The error for a failed operation on a snapshot. It prevents the work that the mutation deferred from running. Contains the
 * result of the operation.
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
 * field, only that field has an error. Any other error fails the whole operation: it can end the snapshot, and fields that are
 * read later would show another state.
 *
 * @throws RequestTimeoutError if the database could not be read in time.
 */
export async function executeOnSnapshot(args: ExecutionArgs, context: GraphQLContext): Promise<ExecutionResult> {
  try {
    return await answerAtOnce(signedIn(context), async ({ app, work, viewer }) => {
      const contextValue = { ...context, work, viewer, organization: viewer.organization };
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

/**
 * Returns whether an error is a bug or a failure of the database. Refusals of services and errors of GraphQL itself are not.
 */
const isFault = ({ originalError }: GraphQLError): boolean =>
  originalError !== undefined && !(originalError instanceof ChatError) && !(originalError instanceof GraphQLError);
