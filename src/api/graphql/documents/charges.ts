import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  getVariableValues,
  type OperationDefinitionNode,
  OperationTypeNode,
} from 'graphql';
import { provesIdentity } from '../schema/mutation.ts';
import { introspectionSize, introspects, MAX_INTROSPECTED_FIELDS } from './introspection.ts';
import { selectedFields } from './selected-fields.ts';

type Variables = Readonly<Record<string, unknown>>;

/**
 * Returns the number of requests that an operation counts as. A mutation counts as the number of root fields that are executed.
 * This number includes fields under aliases and in fragments, and excludes fields that `@skip` and `@include` omit. A query
 * with introspection counts by the size of the introspection result. Every other operation counts as one.
 *
 * @returns At least 1. Exactly 1 if a variable has the wrong type: execution refuses the operation before it resolves any
 *   field.
 * @throws GraphQLError if more than one field checks credentials, or the introspection is too large.
 */
export function chargeOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  inputs: Variables,
): number {
  const isMutation = operation.operation === OperationTypeNode.MUTATION;
  if (!isMutation && !introspects(document)) return 1;
  const { selectionSet, variableDefinitions = [] } = operation;
  const { coerced: variables = {}, errors } = getVariableValues(schema, variableDefinitions, { ...inputs });
  if (errors !== undefined) return 1;
  if (!isMutation) {
    const { fields, requests } = introspectionSize(schema, document, operation, variables);
    if (fields > MAX_INTROSPECTED_FIELDS) throw tooMuchIntrospection(Math.ceil(fields));
    return Math.max(1, requests);
  }
  // The types of fragments are not compared, because validation refuses fragments on other types in a mutation.
  const fields = selectedFields(document, variables, [selectionSet]);
  const definitions = schema.getMutationType()?.getFields() ?? {};
  const acts = [...fields.values()].flatMap(([field]) => definitions[field?.name.value ?? ''] ?? []);
  const attempts = acts.filter(provesIdentity);
  if (attempts.length > 1) throw tooManyAttempts(attempts.length);
  return Math.max(1, acts.length);
}

/**
 * Returns the error for an introspection whose result exceeds the limit on fields.
 *
 * @param actual Estimated number of fields. Undefined if the computation of the result ended at the limit.
 */
export function tooMuchIntrospection(actual?: number): GraphQLError {
  const max = MAX_INTROSPECTED_FIELDS;
  return new GraphQLError(`The introspection result is too large: at most ${max} fields are allowed`, {
    extensions: {
      code: 'DOCUMENT_LIMIT_EXCEEDED',
      ...{ limit: 'introspectedFields', max },
      ...(actual !== undefined && { actual }),
    },
  });
}

function tooManyAttempts(actual: number): GraphQLError {
  return new GraphQLError(`An operation can check credentials only once, and this one does so ${actual} times`, {
    extensions: { code: 'DOCUMENT_LIMIT_EXCEEDED', limit: 'signIns', max: 1, actual },
  });
}
