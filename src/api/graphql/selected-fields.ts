import { type DocumentNode, type FieldNode, Kind, type SelectionSetNode } from 'graphql';
import { isLeftOut } from './cost.ts';

/** Fields by response name. Fields with the same name are executed once, with all their selections. */
export type SelectedFields = ReadonlyMap<string, readonly FieldNode[]>;

/**
 * Returns the fields of selections as they are executed: under aliases, in fragments, and without those that `@skip` and
 * `@include` omit. Every fragment applies, whatever its type.
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
  /** Names of the fragments that were spread. */
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
