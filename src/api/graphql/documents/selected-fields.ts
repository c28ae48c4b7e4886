import { type DocumentNode, type FieldNode, Kind, type SelectionSetNode } from 'graphql';
import { isLeftOut } from './cost.ts';

/** Selected fields by response name. The nodes of one name are executed as one field, whose selections are merged. */
export type SelectedFields = ReadonlyMap<string, readonly FieldNode[]>;

/**
 * Returns the fields of selections as they are executed, by response name. Fields in fragments are included, whatever the type
 * condition of the fragment. Fields that `@skip` or `@include` omits are excluded.
 *
 * @param variables Coerced values.
 */
export function selectedFields(
  document: DocumentNode,
  variables: Readonly<Record<string, unknown>>,
  sets: readonly SelectionSetNode[],
): SelectedFields {
  const fields = new Map<string, FieldNode[]>();
  for (const set of sets) collect({ document, variables, seen: new Set(), fields }, set);
  return fields;
}

interface Collection {
  readonly document: DocumentNode;
  readonly variables: Readonly<Record<string, unknown>>;
  /** Names of the fragments whose fields were already collected. Each fragment is collected once. */
  readonly seen: Set<string>;
  readonly fields: Map<string, FieldNode[]>;
}

function collect(collection: Collection, { selections }: SelectionSetNode): void {
  const { document, variables, seen, fields } = collection;
  for (const selection of selections) {
    if (isLeftOut(selection, variables)) continue;
    if (selection.kind === Kind.FIELD) {
      const name = (selection.alias ?? selection.name).value;
      fields.set(name, [...(fields.get(name) ?? []), selection]);
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
