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

/** The field of a payload under which everything can be asked for. */
const STATE = 'query';

/**
 * Whether an operation asks a mutation for the state that its payload stands at: then all of it is read at one moment.
 *
 * @throws BadRequestError when it does anything besides.
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
    throw new BadRequestError(`An operation that asks for "${STATE}" of a mutation must be that one mutation`);
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

/** What an operation came to of which nothing is to be done afterwards. */
class Failed extends Error {
  readonly result: ExecutionResult;

  constructor(result: ExecutionResult) {
    super('Failed');
    this.result = result;
  }
}

/**
 * Executes an operation that asks for the state, all of it at one moment. A refusal is of its field alone; what else goes
 * wrong is of the whole, because the moment is over then: what is left could not be told from what is so.
 *
 * @throws RequestTimeoutError when the database could not be read in time.
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

/** Whether it is neither a refusal, nor GraphQL's own. */
const isFault = ({ originalError }: GraphQLError): boolean =>
  originalError !== undefined && !(originalError instanceof ChatError) && !(originalError instanceof GraphQLError);
