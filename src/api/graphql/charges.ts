import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  getVariableValues,
  type OperationDefinitionNode,
  OperationTypeNode,
} from 'graphql';
import { provesIdentity } from './mutation.ts';
import { selectedFields } from './selected-fields.ts';

type Variables = Readonly<Record<string, unknown>>;

/**
 * How many requests an operation counts as: one, and a mutation as many as it has root fields to execute, however they are
 * written: under aliases, in fragments, and without those that `@skip` and `@include` leave out. One request with fifty
 * mutations is fifty acts.
 *
 * @returns 1 for variables of the wrong type: execution refuses them before it resolves any field.
 * @throws GraphQLError when more than one of the fields tries credentials: nobody signs in twice at once but who guesses.
 */
export function chargeOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  inputs: Variables,
): number {
  if (operation.operation !== OperationTypeNode.MUTATION) return 1;
  const { selectionSet, variableDefinitions = [] } = operation;
  const { coerced: variables = {}, errors } = getVariableValues(schema, variableDefinitions, { ...inputs });
  if (errors !== undefined) return 1;
  // On a mutation every fragment applies, or validation would have refused it.
  const fields = selectedFields(document, variables, [selectionSet]);
  const definitions = schema.getMutationType()?.getFields() ?? {};
  const acts = [...fields.values()].flatMap(([field]) => definitions[field?.name.value ?? ''] ?? []);
  const attempts = acts.filter(provesIdentity);
  if (attempts.length > 1) throw tooManyAttempts(attempts.length);
  return Math.max(1, acts.length);
}

function tooManyAttempts(actual: number): GraphQLError {
  return new GraphQLError(`An operation may try credentials once, and this one does ${actual} times`, {
    extensions: { code: 'DOCUMENT_LIMIT_EXCEEDED', limit: 'signIns', max: 1, actual },
  });
}
