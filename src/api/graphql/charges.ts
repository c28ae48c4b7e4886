import {
  type DocumentNode,
  type FieldNode,
  GraphQLError,
  type GraphQLSchema,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionSetNode,
} from 'graphql';
import { isLeftOut } from './cost.ts';
import { provesIdentity } from './mutation.ts';

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
  const fields = new Map<string, FieldNode>();
  collect({ document, variables, seen: new Set(), fields }, selectionSet);
  const definitions = schema.getMutationType()?.getFields() ?? {};
  const acts = [...fields.values()].flatMap(({ name }) => definitions[name.value] ?? []);
  const attempts = acts.filter(provesIdentity);
  if (attempts.length > 1) throw tooManyAttempts(attempts.length);
  return Math.max(1, acts.length);
}

interface Collection {
  readonly document: DocumentNode;
  readonly variables: Variables;
  /** Names of the fragments that were spread. */
  readonly seen: Set<string>;
  /** By the name in the response: what has one name is executed once. */
  readonly fields: Map<string, FieldNode>;
}

/** As execution does it; on a mutation every fragment applies, or validation would have refused it. */
function collect(collection: Collection, { selections }: SelectionSetNode): void {
  const { document, variables, seen, fields } = collection;
  for (const selection of selections) {
    if (isLeftOut(selection, variables)) continue;
    if (selection.kind === Kind.FIELD) {
      fields.set((selection.alias ?? selection.name).value, selection);
    } else if (selection.kind === Kind.INLINE_FRAGMENT) {
      collect(collection, selection.selectionSet);
    } else {
      const name = selection.name.value;
      if (seen.has(name)) continue;
      seen.add(name);
      const fragment = document.definitions.find((d) => d.kind === Kind.FRAGMENT_DEFINITION && d.name.value === name);
      if (fragment?.kind === Kind.FRAGMENT_DEFINITION) collect(collection, fragment.selectionSet);
    }
  }
}

function tooManyAttempts(actual: number): GraphQLError {
  return new GraphQLError(`An operation may try credentials once, and this one does ${actual} times`, {
    extensions: { code: 'DOCUMENT_LIMIT_EXCEEDED', limit: 'signIns', max: 1, actual },
  });
}
