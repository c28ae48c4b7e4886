import {
  BREAK,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  execute,
  GraphQLError,
  getOperationAST,
  getVariableValues,
  OperationTypeNode,
  visit,
} from 'graphql';
import { signedIn } from '../../access/context.ts';
import { answerAtOnce } from '../../access/snapshot.ts';
import { expectedError } from '../../platform/db/errors.ts';
import { BadRequestError, ChatError } from '../../platform/errors.ts';
import type { GraphQLContext } from './context.ts';
import { answersWithState } from './mutation.ts';
import { selectedFields } from './selected-fields.ts';

/** The payload field that exposes the whole readable state. */
const STATE = 'query';

/**
 * Whether an operation selects the state of a mutation's payload. The state is then read from one snapshot.
 *
 * @throws BadRequestError if the operation has other root fields.
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

/** Carries the result of a failed operation, after which no deferred work may run. */
class Failed extends Error {
  readonly result: ExecutionResult;

  constructor(result: ExecutionResult) {
    super('Failed');
    this.result = result;
  }
}

/**
 * Executes an operation that selects the state, on one snapshot. A refusal affects only its field. Any other error fails the
 * whole operation: the snapshot is over then, and the rest of the data could not be distinguished from valid data.
 *
 * @throws RequestTimeoutError if the database could not be read in time.
 */
export async function executeAtOnce(args: ExecutionArgs, context: GraphQLContext): Promise<ExecutionResult> {
  try {
    return await answerAtOnce(signedIn(context), async ({ app, viewer }) => {
      const result = await execute({ ...args, contextValue: { ...context, app, viewer, realm: viewer.realm } });
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

/** Whether an error is a bug: neither a refusal of the service nor raised by GraphQL itself. */
const isFault = ({ originalError }: GraphQLError): boolean =>
  originalError !== undefined && !(originalError instanceof ChatError) && !(originalError instanceof GraphQLError);
