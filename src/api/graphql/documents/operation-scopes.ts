import {
  type DocumentNode,
  type GraphQLSchema,
  getOperationAST,
  OperationTypeNode,
  separateOperations,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import type { KeyScope, RequiredScopes } from '../../../platform/key-scopes.ts';

/** Cached results, by document and name of the operation. */
const known = new WeakMap<DocumentNode, Map<string, ReadonlySet<KeyScope>>>();

/**
 * Returns the scopes that an API key needs for an operation. Fields that `@skip` or `@include` omit count as well.
 *
 * A root field of a query needs `read`, and the field `events` of a subscription `events`, unless they declare other scopes.
 * Objects in events and in the payloads of mutations lead to everything that the viewer can see, so they need `read`. Root fields
 * of mutations are not included: they check their scopes themselves, and report them as typed errors.
 */
export function scopesOfOperation(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
): ReadonlySet<KeyScope> {
  const operation = getOperationAST(document, operationName);
  if (operation == null) return new Set();
  const name = operation.name?.value ?? '';
  const ofDocument = known.get(document) ?? new Map<string, ReadonlySet<KeyScope>>();
  known.set(document, ofDocument);
  const kept = ofDocument.get(name);
  if (kept !== undefined) return kept;
  const scopes = measured(schema, separateOperations(document)[name] ?? document, operation.operation);
  ofDocument.set(name, scopes);
  return scopes;
}

function measured(schema: GraphQLSchema, document: DocumentNode, kind: OperationTypeNode): ReadonlySet<KeyScope> {
  const scopes = new Set<KeyScope>();
  const root = schema.getRootType(kind);
  const info = new TypeInfo(schema);
  visit(
    document,
    visitWithTypeInfo(info, {
      Field({ selectionSet }) {
        const declared = info.getFieldDef()?.extensions['scope'] as RequiredScopes | undefined;
        if (info.getParentType() === root) {
          if (kind === OperationTypeNode.MUTATION) return;
          const usual = kind === OperationTypeNode.QUERY ? 'read' : 'events';
          for (const scope of [declared ?? usual].flat()) scopes.add(scope);
          return;
        }
        for (const scope of [declared ?? []].flat()) scopes.add(scope);
        if (selectionSet !== undefined) scopes.add('read');
      },
    }),
  );
  return scopes;
}
